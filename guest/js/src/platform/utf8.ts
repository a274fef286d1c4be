/** UTF-8. QuickJS has no `TextEncoder`; where there is one, it is faster. */

const native = globalThis as { TextEncoder?: typeof TextEncoder; TextDecoder?: typeof TextDecoder };
const encoder = native.TextEncoder === undefined ? undefined : new native.TextEncoder();

// Not `/^[…]*$/`, for which the engine keeps bytes of memory for each character.
const NOT_ASCII = /[\u0080-\uffff]/;
const CHUNK = 8192;

export function utf8(text: string): Uint8Array {
  if (encoder) return encoder.encode(text);
  if (!NOT_ASCII.test(text)) return latin1(text);
  const whole = (text as unknown as { toWellFormed(): string }).toWellFormed();
  // `unescape` gives one character for each byte that `encodeURIComponent` wrote.
  return latin1(unescape(encodeURIComponent(whole)));
}

function latin1(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
  return bytes;
}

/** One character for each byte. */
export function binaryText(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += CHUNK) text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return text;
}

/** The text of bytes; `undefined` if they are not UTF-8. */
export function fromUtf8(bytes: Uint8Array): string | undefined {
  const binary = binaryText(bytes);
  if (!NOT_ASCII.test(binary)) return binary;
  try {
    return decodeURIComponent(escape(binary));
  } catch {
    return undefined;
  }
}

/** The bytes of a piece of a body. */
export function pieceBytes(piece: unknown): Uint8Array {
  if (typeof piece === 'string') return utf8(piece);
  if (piece instanceof Uint8Array) return piece;
  if (piece instanceof ArrayBuffer) return new Uint8Array(piece);
  throw new TypeError(`a piece of the reply is a ${piece === null ? 'null' : typeof piece}, expected a string or a \`Uint8Array\``);
}
