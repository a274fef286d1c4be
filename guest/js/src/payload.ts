import { withoutMark } from './fields.js';
import { hostText, type RawPayload } from './host.js';
import { jsonText, readJson } from './json.js';

/** The bytes of what a program gives as such. The runtime traps without a message for another value. */
export function asBytes(data: unknown, what: string): Uint8Array {
  if (data instanceof Uint8Array) return data;
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  throw new TypeError(`${what} was given a value of the type ${data === null ? 'null' : typeof data}, expected a \`Uint8Array\``);
}

/** Bytes with a content type: a payload or a result of an event that is not JSON. It crosses unchanged. */
export class Payload {
  readonly contentType: string;
  readonly data: Uint8Array;

  constructor(contentType: string, data: Uint8Array) {
    this.contentType = hostText(contentType, 'the content type of a `Payload`');
    this.data = asBytes(data, '`Payload`');
  }
}

/** `Uint8Array` and {@link Payload} cross as bytes, any other value as JSON; `undefined` is JSON's `null`. */
export function lowerPayload(value: unknown, what: string, name: string): RawPayload {
  if (value === undefined || value === null) return { tag: 'json', val: 'null' };
  if (typeof value !== 'object') return { tag: 'json', val: jsonText(value, what, name) };
  if (value instanceof Payload) return { tag: 'bytes', val: { contentType: value.contentType, data: value.data } };
  if (value instanceof Uint8Array) return { tag: 'bytes', val: { contentType: 'application/octet-stream', data: value } };
  return { tag: 'json', val: jsonText(value, what, name) };
}

function syntaxError(problem: string): Error {
  return new SyntaxError(problem);
}

/** The value of a payload. The contract does not say that the text is JSON, or what keys it has: `fail` makes the error of one that is not, and of `name`. */
export function liftPayload(payload: RawPayload, fail: (problem: string, name: string) => Error = syntaxError, name?: string): unknown {
  if (payload.tag === 'json') return readJson(withoutMark(payload.val), fail, name);
  return new Payload(payload.val.contentType, payload.val.data);
}
