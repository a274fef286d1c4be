import { callFailed } from './exceptions.js';
import { attempt, type Maybe } from './host.js';

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
