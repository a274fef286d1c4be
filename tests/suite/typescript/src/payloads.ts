/**
 * The texts of the suite's programs need not be JSON, as the contract does not ask it of a payload. The SDK reads and writes values, so
 * a text that is not the JSON of a value crosses the SDK as bytes of the type JSON.
 */

import { Payload } from '@pointwork/guest';
import type { RawPayload } from 'suite:component';

export const JSON_TYPE = 'application/json';

/** A text of a program; bytes where it need not be UTF-8. */
export type Text = string | Uint8Array;

export function bytesOf(text: Text): Uint8Array {
  return typeof text === 'string' ? new TextEncoder().encode(text) : text;
}

export function stringOf(text: Text): string {
  return typeof text === 'string' ? text : new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(text);
}

/** The value whose JSON is exactly this text. */
export function valueOf(text: string): { value: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return JSON.stringify(value) === text ? { value } : undefined;
  } catch {
    return undefined;
  }
}

/** A payload of the host, as the SDK can read it. */
export function raw(payload: RawPayload): RawPayload {
  if (payload.tag !== 'json' || valueOf(payload.val)) return payload;
  return { tag: 'bytes', val: { contentType: JSON_TYPE, data: bytesOf(payload.val) } };
}

/** The text of a payload or a result. */
export function textOf(value: unknown): Text {
  if (value instanceof Payload) {
    if (value.contentType !== JSON_TYPE) return value.data;
    return stringOf(value.data);
  }
  return JSON.stringify(value);
}

/** A payload or a result of this text: JSON, where an empty text is `null`, or bytes of another type. */
export function payloadOf(text: Text, contentType: string): unknown {
  if (contentType !== JSON_TYPE) return new Payload(contentType, bytesOf(text));
  if (text.length === 0) return null;
  const found = typeof text === 'string' ? valueOf(text) : undefined;
  return found ? found.value : new Payload(JSON_TYPE, bytesOf(text));
}
