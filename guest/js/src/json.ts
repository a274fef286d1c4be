/** JSON, with errors that name the value that cannot be written. */

import { collisionProblem, depthFault, faultText, forbiddenIn, jsonFault, type Fault } from './json-text.js';
import { isEngineFailure } from './report.js';

/** The text of a value. `what` and `name` say in the error which value it is. */
export function jsonText(value: unknown, what: string, name?: string): string {
  let problem: string;
  try {
    if (typeof value === 'number') {
      if (Number.isFinite(value)) return String(value);
      problem = `\`${value}\` is no JSON`;
    } else {
      const text = JSON.stringify(value);
      // An object whose content is not in its fields would become an empty object.
      const lost = text?.includes('{}') || value instanceof Error ? emptied(value, '') : undefined;
      if (text !== undefined && lost === undefined) return wellFormed(text);
      problem = lost ?? `a ${typeof value} is no JSON`;
    }
  } catch (error) {
    if (isEngineFailure(error)) throw error;
    const place = unfit(value, '', []);
    problem = place ?? (error instanceof Error ? error.message : String(error));
  }
  throw new TypeError(`${what}${name === undefined ? '' : ` \`${name}\``} cannot be written as JSON: ${problem}`);
}

/** The text with U+FFFD in place of each half of a surrogate pair. `JSON.stringify` writes it as an escape, which readers refuse. */
function wellFormed(text: string): string {
  if (!text.includes('\\ud')) return text;
  return text.replace(/\\(?:ud[89a-f][\da-f]{2}|[^])/g, (escape) => (escape.length > 2 ? '\ufffd' : escape));
}

/** Finds what `JSON.stringify` refuses, since its error does not say where it is. */
function unfit(value: unknown, path: string, above: unknown[]): string | undefined {
  if (typeof value === 'bigint') return `${at(path)} is the BigInt ${value}n, expected a number or a text`;
  if (typeof value !== 'object' || value === null) return undefined;
  const { toJSON } = value as { toJSON?: unknown };
  // Its error is thrown again, with its own place.
  if (typeof toJSON === 'function') return unfit((toJSON as () => unknown).call(value), path, [...above, value]);
  if (above.includes(value)) return `${at(path)} refers to a value that contains it`;
  above.push(value);
  for (const key of Object.keys(value)) {
    const found = unfit((value as Record<string, unknown>)[key], path === '' ? key : `${path}.${key}`, above);
    if (found !== undefined) return found;
  }
  above.pop();
  return undefined;
}

/** What has its content elsewhere than in fields, and what is expected instead. */
function lostIn(value: object): string | undefined {
  // Those of the SDK have a `toJSON`, which gives an empty object.
  if (value instanceof Promise) return 'a Promise, expected its value: `await` it';
  if (value instanceof Blob) return 'a Blob, expected its content, as by `await blob.text()`';
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return undefined;
  if (value instanceof Map) return 'a Map, expected an object, as by `Object.fromEntries(map)`';
  if (value instanceof Set) return 'a Set, expected an array, as by `[...set]`';
  if (value instanceof FormData || value instanceof Headers || value instanceof URLSearchParams) {
    return `a ${Object.prototype.toString.call(value).slice(8, -1)}, expected an object, as by \`Object.fromEntries(it)\``;
  }
  if (value instanceof ArrayBuffer || value instanceof DataView) return 'bytes, expected a text or an array, as by `[...new Uint8Array(buffer)]`';
  return undefined;
}

/** Finds what `JSON.stringify` writes as an object without its content. It has no cycle. */
function emptied(value: unknown, path: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const lost = lostIn(value);
  if (lost !== undefined) return `${at(path)} is ${lost}`;
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return undefined;
  if (value instanceof Error) return `${at(path)} is the error \`${value.name}: ${value.message}\`, expected to be thrown, or its message`;
  for (const key of Object.keys(value)) {
    const found = emptied((value as Record<string, unknown>)[key], path === '' ? key : `${path}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function at(path: string): string {
  return path === '' ? 'the value' : `\`${path}\``;
}

/**
 * A value from JSON that others wrote. `fail` makes the error of a problem, such as `expected a value at line 1 column 2`, and of `name`. Keys
 * of prototypes and halves of characters are problems too.
 */
export function readJson(text: string, fail: (problem: string, name: string) => Error, name = ''): unknown {
  const refuse = (fault: Fault): Error => fail(faultText(text, fault), name);
  const deep = depthFault(text);
  if (deep) throw refuse(deep);
  const colliding = collisionProblem(text);
  if (colliding !== undefined) throw fail(colliding, name);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (isEngineFailure(error)) throw error;
    const fault = jsonFault(text, error);
    throw fault ? refuse(fault) : fail('it cannot be read as JSON', name);
  }
  const forbidden = forbiddenIn(text);
  if (forbidden) throw refuse(forbidden);
  return value;
}
