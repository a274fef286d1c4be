/** Unit tests of controllers and channels in Node, without a host. */

export { testApp, TestApp, type TestOptions, type TestRequest } from './app.js';
export { TestResponse } from './response.js';
export type { LogLine, Sent, TestListener } from './host.js';
