import type { RawPayload } from './host.js';
import { jsonText } from './json.js';

/** Bytes with a content type: a payload or a result of an event that is not JSON. It crosses unchanged. */
export class Payload {
  readonly contentType: string;
  readonly data: Uint8Array;

  constructor(contentType: string, data: Uint8Array) {
    this.contentType = contentType;
    this.data = data;
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

export function liftPayload(payload: RawPayload): unknown {
  if (payload.tag === 'json') return JSON.parse(payload.val);
  return new Payload(payload.val.contentType, payload.val.data);
}
