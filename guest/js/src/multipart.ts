import { BadRequestException, PayloadTooLargeException, UnsupportedMediaTypeException } from './exceptions.js';
import { expectCharset, expectName, withoutMark } from './fields.js';
import { essence, parameters } from './header.js';
import { fromUtf8, utf8, binaryText } from './platform/utf8.js';

/** The longest boundary, as RFC 2046 says. */
const LONGEST_BOUNDARY = 70;

/** The most bytes from the end of the previous part, or from the beginning of the body, to the end of a head. So a preamble counts. */
const LONGEST_HEAD = 64 * 1024;

/** The most parts of a body: a part may have no more than its head, which takes far longer to read than to send. */
const MOST_PARTS = 1_000;

/** The most headers of a part. */
const MOST_HEADERS = 100;

/**
 * A text that is searched in bytes, by the algorithm of Horspool: the byte at the end of the window tells how far the next window is, which is the
 * length of the text for most bytes. Clients choose the boundary and the content. The search reads no byte more than three times, because each line break
 * of a delimiter is at its beginning: where a part of the delimiter fits, no other one begins. `Uint8Array.indexOf` would be called for each `\r`, which takes longer.
 */
export class Needle {
  readonly length: number;
  readonly #bytes: Uint8Array;
  readonly #shifts: Uint8Array;

  constructor(text: string) {
    this.#bytes = utf8(text);
    this.length = this.#bytes.length;
    this.#shifts = new Uint8Array(256).fill(this.length);
    for (let at = 0; at < this.length - 1; at += 1) this.#shifts[this.#bytes[at] ?? 0] = this.length - 1 - at;
  }

  /** The place of the text in bytes, `-1` if there is none. */
  indexIn(bytes: ArrayLike<number>, from = 0): number {
    const [wanted, shifts, end] = [this.#bytes, this.#shifts, this.length - 1];
    const [first, last] = [wanted[0], wanted[end]];
    const most = bytes.length - end;
    let at = from;
    while (at < most) {
      const byte = bytes[at + end] as number;
      if (byte === last && bytes[at] === first) {
        let by = 1;
        while (by < end && bytes[at + by] === wanted[by]) by += 1;
        if (by >= end) return at;
      }
      at += shifts[byte] as number;
    }
    return -1;
  }
}

const CRLF2 = new Needle('\r\n\r\n');

/** `isDone` once its end was read. */
interface Content extends AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array> {
  isDone(): boolean;
}

/** One part of a body of the type `multipart/form-data`. */
export class Part implements AsyncIterable<Uint8Array> {
  readonly name: string;
  /** The name of the file on the client's machine; `undefined` if the part is no file. It is the client's text: it may be a path. */
  readonly fileName: string | undefined;
  readonly contentType: string | undefined;
  readonly headers: ReadonlyMap<string, string>;
  readonly #chunks: Content;

  constructor(headers: ReadonlyMap<string, string>, chunks: Content) {
    const disposition = headers.get('content-disposition');
    const name = field(disposition, 'name');
    if (name === undefined) {
      const problem = disposition === undefined ? 'has no header `content-disposition`' : 'has no name';
      throw new BadRequestException(`body: a part ${problem}, expected \`content-disposition: form-data; name="…"\` in UTF-8`);
    }
    expectName(name, 'body');
    this.name = name;
    this.fileName = field(disposition, 'filename');
    this.contentType = headers.get('content-type');
    this.headers = headers;
    this.#chunks = chunks;
  }

  /** The chunks of the content, as they arrive. They are there once, and before the next part. */
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    this.#expectRest();
    return this.#chunks[Symbol.asyncIterator]();
  }

  #expectRest(): void {
    if (this.#chunks.isDone()) throw new TypeError(`the part \`${this.name}\` is over: its content is there once, and before the next part`);
  }

  /** The whole content, 413 if it has more than `most` bytes. */
  async bytes(most = Infinity): Promise<Uint8Array> {
    this.#expectRest();
    const chunks: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of this) {
      length += chunk.length;
      if (length > most) throw new PayloadTooLargeException(`body: part \`${this.name}\` is too large, expected ${most} bytes at most`);
      chunks.push(chunk);
    }
    return joined(chunks, length);
  }

  /** The whole content as text without a byte order mark: 400 if it is not UTF-8, 415 for another charset. */
  async text(most = Infinity): Promise<string> {
    this.#expectRest();
    if (this.contentType !== undefined) expectCharset(this.contentType, `body: part \`${this.name}\``);
    const text = fromUtf8(await this.bytes(most));
    if (text === undefined) throw new BadRequestException(`body: part \`${this.name}\` is not UTF-8`);
    return withoutMark(text);
  }
}

export function joined(chunks: readonly Uint8Array[], length: number): Uint8Array {
  if (chunks.length === 1 && chunks[0]) return chunks[0];
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

export function boundaryOf(contentType: string): string {
  if (essence(contentType) !== 'multipart/form-data') {
    throw new UnsupportedMediaTypeException(`body: expected \`content-type: multipart/form-data\`, got \`${contentType}\``);
  }
  const boundary = parameter(contentType, 'boundary') ?? '';
  if (boundary.length < 1 || boundary.length > LONGEST_BOUNDARY) {
    throw new BadRequestException(`body: expected a boundary of 1 to ${LONGEST_BOUNDARY} characters in \`content-type: ${contentType}\``);
  }
  return boundary;
}

/** A parameter of `content-disposition`. Browsers write `"` in a name as `%22`. */
function field(disposition: string | undefined, name: string): string | undefined {
  return parameter(disposition ?? '', name)?.replace(/%(22|0D|0A)/g, decodeURIComponent);
}

function parameter(header: string, name: string): string | undefined {
  return parameters(header).find(([found]) => found === name)?.[1];
}

/** Reads the parts one after the other, as they arrive. What is left of a part is skipped. */
export async function* readParts(chunks: AsyncIterable<Uint8Array>, boundary: string): AsyncGenerator<Part> {
  const source = new Source(chunks[Symbol.asyncIterator]());
  const delimiter = new Needle(`\r\n--${boundary}`);
  await skipPreamble(source, delimiter);
  let previousEnd = 0;
  for (let count = 1; await begins(source); count += 1) {
    if (count > MOST_PARTS) throw new PayloadTooLargeException(`body: there are too many parts, expected ${MOST_PARTS} at most`);
    const headers = await readHead(source, previousEnd + LONGEST_HEAD);
    const content = readContent(source, delimiter);
    yield new Part(headers, content);
    for await (const _ of content) {
      // The handler did not want it.
    }
    previousEnd = source.position;
  }
}

/** A preamble is for readers that do not know the format. */
async function skipPreamble(source: Source, delimiter: Needle): Promise<void> {
  for await (const _ of readContent(source, delimiter)) if (source.position > LONGEST_HEAD) throw endlessHead();
}

/** Whether another part follows a delimiter: `--` ends the body, padding and a line break begin a part. */
async function begins(source: Source): Promise<boolean> {
  for (;;) {
    const text = binaryText(source.buffer.subarray(0, LONGEST_BOUNDARY + 3));
    if (text.startsWith('--')) return false;
    const end = text.indexOf('\n');
    if (end >= 0 && /^[ \t]*\r$/.test(text.slice(0, end))) {
      await source.take(end + 1);
      return true;
    }
    if (end >= 0 || text.length > LONGEST_BOUNDARY + 2) throw malformed('a line break after the boundary');
    await source.more();
  }
}

/** Reads a head whose end is expected within `limit` bytes of the body. */
async function readHead(source: Source, limit: number): Promise<Map<string, string>> {
  const most = Math.max(0, limit - source.position);
  let end: number;
  // A head may arrive byte by byte: what was searched is not searched again.
  let from = 0;
  while ((end = CRLF2.indexIn(source.buffer.subarray(0, most), from)) < 0) {
    if (source.buffer.length >= most) throw endlessHead();
    from = Math.max(0, source.buffer.length - CRLF2.length + 1);
    await source.more();
  }
  const text = fromUtf8(await source.take(end + CRLF2.length));
  if (text === undefined) throw malformed('a head of a part in UTF-8');
  const headers = new Map<string, string>();
  const lines = text.trimEnd().split('\r\n');
  if (lines.length > MOST_HEADERS) throw new BadRequestException(`body: a part has more than ${MOST_HEADERS} headers`);
  for (const line of lines) {
    const at = line.indexOf(':');
    if (at < 1) throw malformed('`name: value` in the head of a part');
    headers.set(line.slice(0, at).trim().toLowerCase(), line.slice(at + 1).trim());
  }
  return headers;
}

/** The bytes up to the delimiter, which is taken too. It can be read once; a second time goes on. */
function readContent(source: Source, delimiter: Needle): Content {
  let isDone = false;
  return {
    isDone: () => isDone,
    async next(): Promise<IteratorResult<Uint8Array>> {
      while (!isDone) {
        const end = delimiter.indexIn(source.buffer);
        if (end >= 0) {
          isDone = true;
          const rest = await source.take(end + delimiter.length);
          if (end > 0) return { done: false, value: rest.subarray(0, end) };
          break;
        }
        const safe = source.buffer.length - delimiter.length;
        if (safe > 0) return { done: false, value: await source.take(safe) };
        await source.more();
      }
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

class Source {
  /** What was read and not taken. The first delimiter may begin the body without its line break, which precedes the body here. */
  buffer: Uint8Array = utf8('\r\n');
  /** The offset of `buffer` in the body. */
  position = -2;
  /** Has room for more than `buffer`, which is a part of it, so that not every chunk copies the ones before. */
  #store: Uint8Array = new Uint8Array(0);
  readonly #chunks: AsyncIterator<Uint8Array>;

  constructor(chunks: AsyncIterator<Uint8Array>) {
    this.#chunks = chunks;
  }

  async more(): Promise<void> {
    const { done, value } = await this.#chunks.next();
    if (done) throw new BadRequestException('body: it ends before its last boundary');
    const { length } = this.buffer;
    if (length === 0) {
      this.buffer = value;
      return;
    }
    let start = this.buffer.byteOffset;
    if (this.buffer.buffer !== this.#store.buffer || start + length + value.length > this.#store.length) {
      this.#store = new Uint8Array(length * 2 + value.length);
      this.#store.set(this.buffer);
      start = 0;
    }
    // The room behind the buffer was never taken, so nobody has a view of it.
    this.#store.set(value, start + length);
    this.buffer = this.#store.subarray(start, start + length + value.length);
  }

  async take(count: number): Promise<Uint8Array> {
    while (this.buffer.length < count) await this.more();
    const taken = this.buffer.subarray(0, count);
    this.buffer = this.buffer.subarray(count);
    this.position += count;
    return taken;
  }
}

function endlessHead(): BadRequestException {
  return new BadRequestException(`body: a part has no end of its head within ${LONGEST_HEAD} bytes`);
}

function malformed(expected: string): BadRequestException {
  return new BadRequestException(`body: expected ${expected}`);
}
