import { random } from './random-constant.js';

Math.random = random;
