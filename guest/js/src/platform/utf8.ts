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
  return fromBinary(binaryText(bytes));
}

/** The same for bytes as {@link binaryText} gives them. */
export function fromBinary(binary: string): string | undefined {
  if (!NOT_ASCII.test(binary)) return binary;
  try {
    return decodeURIComponent(escape(binary));
  } catch {
    return undefined;
  }
}

/** The bytes of a text with percent-escapes, one character for each. A `%` that begins no escape stays a `%`, as in browsers. */
export function percentDecoded(text: string): string {
  const bytes = NOT_ASCII.test(text) ? unescape(encodeURIComponent(text.toWellFormed())) : text;
  // `unescape` takes `%u0041` for an escape too.
  return unescape(bytes.replaceAll('%u', '%25u'));
}

const SEQUENCES = [
  '[\\x00-\\x7f]',
  '[\\xc2-\\xdf][\\x80-\\xbf]',
  '(?:\\xe0[\\xa0-\\xbf]|[\\xe1-\\xec\\xee\\xef][\\x80-\\xbf]|\\xed[\\x80-\\x9f])[\\x80-\\xbf]',
  '(?:\\xf0[\\x90-\\xbf]|[\\xf1-\\xf3][\\x80-\\xbf]|\\xf4[\\x80-\\x8f])[\\x80-\\xbf]{2}',
].join('|');
const CUT_OFF = [
  '\\xe0[\\xa0-\\xbf]|[\\xe1-\\xec\\xee\\xef][\\x80-\\xbf]|\\xed[\\x80-\\x9f]',
  '(?:\\xf0[\\x90-\\xbf]|[\\xf1-\\xf3][\\x80-\\xbf]|\\xf4[\\x80-\\x8f])[\\x80-\\xbf]?',
].join('|');
const WRONG = '[\\x80-\\xc1\\xf5-\\xff]|[\\xc2-\\xf4](?![\\x80-\\xbf])';
/** Whole characters, bytes each of which is wrong, or a character that is cut off. The engine keeps memory for each repetition. */
const WHOLE_OR_WRONG = new RegExp(`((?:${SEQUENCES}){1,512})|((?:${WRONG}){1,512})|${CUT_OFF}|[^]`, 'g');
const REPLACEMENT = '\xef\xbf\xbd';

/** The text of bytes as {@link binaryText} gives them, with U+FFFD for each maximal part of a sequence that is wrong. */
export function replacedBinary(binary: string): string {
  const text = fromBinary(binary);
  if (text !== undefined) return text;
  const replaced = binary.replace(WHOLE_OR_WRONG, (_, whole: string | undefined, wrong = ' ') => whole ?? REPLACEMENT.repeat((wrong as string).length));
  return decodeURIComponent(escape(replaced));
}

/** The bytes of a piece of a body. */
export function pieceBytes(piece: unknown): Uint8Array {
  if (typeof piece === 'string') return utf8(piece);
  if (piece instanceof Uint8Array) return piece;
  if (piece instanceof ArrayBuffer) return new Uint8Array(piece);
  throw new TypeError(`a piece of the reply is a ${piece === null ? 'null' : typeof piece}, expected a string or a \`Uint8Array\``);
}
