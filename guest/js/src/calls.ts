import { badResult, callFailed } from './exceptions.js';
import { attempt, hostText, isThenable, type Maybe, type RawPayload } from './host.js';
import { liftPayload, lowerPayload } from './payload.js';

/** Runs functions of the host as a promise. `called` names them in the error. */
export function promised<T>(called: string, make: () => Maybe<T>): Promise<T> {
  return Promise.resolve(
    attempt(
      make,
      (value) => value,
      (error) => Promise.reject(callFailed(error, called)),
    ),
  );
}

/** Runs a function of the host that answers at once. */
export function direct<T>(called: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw callFailed(error, called);
  }
}

const PAYLOAD = 'the payload of';
const NAME = 'the name of an event';

/** Calls an event: `call` is the function of the host for what the call is made with. */
export function callEvent<From>(
  call: (from: From, event: string, payload: RawPayload) => Maybe<RawPayload>,
  from: From,
  event: string,
  payload: unknown,
): Promise<unknown> {
  try {
    const result = call(from, hostText(event, NAME), lowerPayload(payload, PAYLOAD, event));
    return isThenable(result) ? liftedLater(result, event) : Promise.resolve(liftPayload(result, badResult, event));
  } catch (error) {
    return Promise.reject(callFailed(error, event) as Error);
  }
}

function liftedLater(result: PromiseLike<RawPayload>, event: string): Promise<unknown> {
  const failed = (error: unknown): never => {
    throw callFailed(error, event);
  };
  return Promise.resolve(result.then((result) => liftPayload(result, badResult, event)).then(undefined, failed));
}

/** The payload of an event that is not waited for. */
export function emitted(payload: unknown, event: string): RawPayload {
  return lowerPayload(payload, PAYLOAD, hostText(event, NAME));
}
