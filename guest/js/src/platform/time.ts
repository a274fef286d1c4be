import { host } from '../host.js';
import { callNumber, inCall } from './call-state.js';
import { cancelLater, queueLater } from './promise.js';

const EngineDate = globalThis.Date;

let arrived = 0;
let arrivedIn = 0;

/** When the request or event of the call arrived, in milliseconds. Outside of a call it is 0. */
function now(): number {
  if (!inCall()) return 0;
  if (arrivedIn !== callNumber()) {
    const { seconds, nanoseconds } = host.now();
    arrived = seconds * 1000 + Math.floor(nanoseconds / 1e6);
    arrivedIn = callNumber();
  }
  return arrived;
}

/** `Date`, whose present is that of the call. The engine's would be that of the build in a snapshot. */
function makeDate(): DateConstructor {
  function CallDate(this: unknown, ...args: []): Date | string {
    if (new.target === undefined) return new EngineDate(now()).toString();
    const values: unknown[] = args.length === 0 ? [now()] : args;
    return Reflect.construct(EngineDate, values, new.target) as Date;
  }
  const statics = { name: { value: 'Date' }, length: { value: 7 }, prototype: { value: EngineDate.prototype, writable: false } };
  Object.defineProperties(CallDate, statics);
  const made = Object.assign(CallDate, { now, parse: EngineDate.parse, UTC: EngineDate.UTC });
  Object.defineProperty(EngineDate.prototype, 'constructor', { value: made, configurable: true, writable: true });
  return made as unknown as DateConstructor;
}

const performance = {
  /** Milliseconds of a clock that nobody sets. It stands still within a call. */
  now(): number {
    if (!inCall()) return 0;
    const { seconds, nanoseconds } = host.monotonic();
    return seconds * 1000 + nanoseconds / 1e6;
  },
  timeOrigin: 0,
};

function setTimeout(callback: (...args: unknown[]) => void, delay: unknown = 0, ...args: unknown[]): number {
  const wait = Number(delay);
  if (typeof callback !== 'function') throw new TypeError('the first argument of `setTimeout` is no function');
  if (!inCall()) throw new Error('`setTimeout` works only while a request or an event is handled, not when the module is built');
  // Node and browsers take 1 for 0.
  if (wait > 1) {
    throw new Error(`\`setTimeout\` of ${wait} ms: code in a module cannot wait, expected 0; call an event whose native channel waits: \`await ctx.call('clock:wait', ${wait})\``);
  }
  return queueLater(() => callback(...args));
}

function setInterval(): never {
  throw new Error('`setInterval`: a module has no time between its calls; let the host emit an event');
}

export function installTime(): void {
  Object.assign(globalThis, {
    Date: makeDate(),
    performance,
    setTimeout,
    setImmediate: (callback: (...args: unknown[]) => void, ...args: unknown[]) => setTimeout(callback, 0, ...args),
    setInterval,
    clearTimeout: cancelLater,
    clearImmediate: cancelLater,
    clearInterval: cancelLater,
  });
}
