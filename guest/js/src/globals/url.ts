// core-js takes a random number when it is evaluated, for a name that must differ within the program only.
import './random-constant.js';
export { URL } from './url-of-core-js.js';
import './random-again.js';
