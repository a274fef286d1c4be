export { default as URL } from 'core-js-pure/actual/url/index.js';
