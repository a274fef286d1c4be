/** The clock of the host, for a module with a channel: `@pointwork/guest/clock`. A component that uses it imports `wasi:clocks`. */
import wallClock from 'wasi:clocks/wall-clock@0.2.0';
import { inCall } from '../platform/call-state.js';

/** The time of day in milliseconds, which goes on within a call. `Date.now()` is when the request or event arrived. */
export function realTime(): number {
  if (!inCall()) throw new Error('the clock is there only while a request or an event is handled, not when the module is built');
  const { seconds, nanoseconds } = wallClock.now();
  return seconds * 1000 + Math.floor(nanoseconds / 1e6);
}
