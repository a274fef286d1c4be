import { binaryText, fromBinary, replacedBinary, utf8 } from './utf8.js';

class Encoder {
  readonly encoding = 'utf-8';

  encode(text = ''): Uint8Array {
    return utf8(String(text));
  }

  encodeInto(text: string, target: Uint8Array): { read: number; written: number } {
    let [read, written] = [0, 0];
    for (const character of text) {
      const bytes = utf8(character);
      if (written + bytes.length > target.length) break;
      target.set(bytes, written);
      written += bytes.length;
      read += character.length;
    }
    return { read, written };
  }
}

const LABELS: Record<string, 'utf-8' | 'utf-16le' | 'latin1'> = {
  'utf-8': 'utf-8',
  utf8: 'utf-8',
  'unicode-1-1-utf-8': 'utf-8',
  'utf-16': 'utf-16le',
  'utf-16le': 'utf-16le',
  'iso-8859-1': 'latin1',
  latin1: 'latin1',
  ascii: 'latin1',
  'us-ascii': 'latin1',
};

/** The length of the beginning of `bytes` that does not end within a character. */
function whole(bytes: Uint8Array): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte >= 0xc0) return (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) > back ? bytes.length - back : bytes.length;
    if (byte < 0x80) break;
  }
  return bytes.length;
}

class Decoder {
  readonly encoding: 'utf-8' | 'utf-16le' | 'latin1';
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  #rest: Uint8Array = new Uint8Array(0);
  #isBegun = false;

  constructor(label = 'utf-8', options: { fatal?: boolean; ignoreBOM?: boolean } = {}) {
    const encoding = LABELS[label.trim().toLowerCase()];
    if (!encoding) throw new RangeError(`\`TextDecoder\` has no encoding \`${label}\`, expected \`utf-8\`, \`utf-16le\` or \`latin1\``);
    this.encoding = encoding;
    this.fatal = options.fatal ?? false;
    this.ignoreBOM = options.ignoreBOM ?? false;
  }

  decode(input?: ArrayBuffer | ArrayBufferView, options: { stream?: boolean } = {}): string {
    let bytes = this.#rest;
    if (input) {
      const more = ArrayBuffer.isView(input) ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength) : new Uint8Array(input);
      bytes = bytes.length === 0 ? more : new Uint8Array([...bytes, ...more]);
    }
    const isStream = options.stream ?? false;
    const end = !isStream ? bytes.length : this.encoding === 'utf-8' ? whole(bytes) : this.encoding === 'utf-16le' ? bytes.length & ~1 : bytes.length;
    this.#rest = bytes.slice(end);
    let text = this.#text(bytes.subarray(0, end));
    if (!this.ignoreBOM && !this.#isBegun && text.startsWith('\ufeff')) text = text.slice(1);
    this.#isBegun = isStream && (this.#isBegun || text !== '');
    if (!isStream) this.#rest = new Uint8Array(0);
    return text;
  }

  #text(bytes: Uint8Array): string {
    if (this.encoding === 'latin1') return binaryText(bytes);
    if (this.encoding === 'utf-16le') {
      let text = '';
      for (let at = 0; at + 1 < bytes.length; at += 2) text += String.fromCharCode((bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8));
      return text;
    }
    const binary = binaryText(bytes);
    if (!this.fatal) return replacedBinary(binary);
    const text = fromBinary(binary);
    if (text === undefined) throw new TypeError('the bytes are not UTF-8');
    return text;
  }
}

export { Decoder as TextDecoder, Encoder as TextEncoder };
