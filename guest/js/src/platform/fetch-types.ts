/** `Blob`, `File`, `FormData` and `Response` of the platform, as far as code without a network needs them. */

import type { HeadersLike } from '../header.js';
import { joined } from '../multipart.js';
import { Headers } from './headers.js';
import { PairList } from './pair-list.js';
import { fromUtf8, pieceBytes, utf8 } from './utf8.js';

type BlobPart = string | ArrayBuffer | ArrayBufferView | Blob;

function bytesOf(part: BlobPart): Uint8Array {
  if (typeof part === 'string') return utf8(part);
  if (part instanceof Blob) return contentOfBlob(part);
  return ArrayBuffer.isView(part) ? new Uint8Array(part.buffer, part.byteOffset, part.byteLength) : new Uint8Array(part);
}

let contentOfBlob: (blob: Blob) => Uint8Array;

export class Blob {
  readonly #content: Uint8Array;
  readonly type: string;

  static {
    contentOfBlob = (blob) => blob.#content;
  }

  constructor(parts: readonly BlobPart[] = [], options: { type?: string } = {}) {
    const all = parts.map(bytesOf);
    const length = all.reduce((sum, { length }) => sum + length, 0);
    // A copy: what becomes of the parts does not change the blob.
    this.#content = joined(all, length).slice();
    this.type = (options.type ?? '').toLowerCase();
  }

  get size(): number {
    return this.#content.length;
  }

  /** @internal As without fields, which a blob of a browser has none of. */
  toJSON(): object {
    return {};
  }

  async bytes(): Promise<Uint8Array> {
    return this.#content.slice();
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return this.#content.slice().buffer as ArrayBuffer;
  }

  async text(): Promise<string> {
    return new TextDecoder().decode(this.#content);
  }

  slice(from?: number, to?: number, type?: string): Blob {
    return new Blob([this.#content.slice(from, to)], type === undefined ? {} : { type });
  }
}

export class File extends Blob {
  readonly name: string;
  readonly lastModified: number;

  constructor(parts: readonly BlobPart[], name: string, options: { type?: string; lastModified?: number } = {}) {
    super(parts, options);
    this.name = name;
    this.lastModified = options.lastModified ?? Date.now();
  }
}

type Entry = string | File;

export class FormData extends PairList<Entry> {
  override append(name: string, value: string | Blob, fileName?: string): void {
    super.append(String(name).toWellFormed(), entry(value, fileName));
  }

  override set(name: string, value: string | Blob, fileName?: string): void {
    super.set(String(name).toWellFormed(), entry(value, fileName));
  }

  get [Symbol.toStringTag](): string {
    return 'FormData';
  }
}

function entry(value: string | Blob, fileName: string | undefined): Entry {
  if (!(value instanceof Blob)) return String(value).toWellFormed();
  if (value instanceof File && fileName === undefined) return value;
  return new File([value], fileName ?? 'blob', { type: value.type });
}

type Chunks = AsyncIterable<Uint8Array | string>;
type BodyInit = string | ArrayBuffer | ArrayBufferView | Blob | FormData | Chunks | { toString(): string } | null | undefined;

function contentOf(body: BodyInit): Uint8Array | Chunks {
  if (body instanceof Blob || body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return bytesOf(body);
  if (typeof body === 'object' && body !== null && Symbol.asyncIterator in body) return body;
  return utf8(String(body));
}

async function* once(bytes: Uint8Array): Chunks {
  yield bytes;
}

/** A form as the body of a reply. */
function multipart(form: FormData): { content: Uint8Array; type: string } {
  const boundary = `form-${crypto.randomUUID()}`;
  const quoted = (text: string): string => text.replace(/["\r\n]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);
  const parts: Uint8Array[] = [];
  for (const [name, value] of form) {
    const isText = typeof value === 'string';
    const file = isText ? '' : `; filename="${quoted(value.name)}"\r\ncontent-type: ${value.type || 'application/octet-stream'}`;
    const head = `--${boundary}\r\ncontent-disposition: form-data; name="${quoted(name)}"${file}\r\n\r\n`;
    parts.push(utf8(head), isText ? utf8(value.replace(/\r\n|\r|\n/g, '\r\n')) : contentOfBlob(value), utf8('\r\n'));
  }
  parts.push(utf8(`--${boundary}--\r\n`));
  return { content: joined(parts, parts.reduce((sum, { length }) => sum + length, 0)), type: `multipart/form-data; boundary=${boundary}` };
}

const NO_BODY = [204, 205, 304];

export class Response {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly #content: Uint8Array | Chunks;
  #isUsed = false;

  constructor(body?: BodyInit, init: { status?: number; statusText?: string; headers?: HeadersLike } = {}) {
    const status = init.status ?? 200;
    if (!Number.isInteger(status) || status < 200 || status > 599) throw new RangeError(`the status of a \`Response\` is ${status}, expected 200 to 599`);
    const isAbsent = body === undefined || body === null;
    if (!isAbsent && NO_BODY.includes(status)) throw new TypeError(`a \`Response\` with the status ${status} has no body`);
    this.status = status;
    this.statusText = init.statusText ?? '';
    this.headers = new Headers(init.headers);
    const form = body instanceof FormData ? multipart(body) : undefined;
    this.#content = isAbsent ? new Uint8Array(0) : (form?.content ?? contentOf(body));
    if (!isAbsent && !this.headers.has('content-type')) {
      if (typeof body === 'string') this.headers.set('content-type', 'text/plain;charset=UTF-8');
      else if (body instanceof URLSearchParams) this.headers.set('content-type', 'application/x-www-form-urlencoded;charset=UTF-8');
      else if (form) this.headers.set('content-type', form.type);
      else if (body instanceof Blob && body.type !== '') this.headers.set('content-type', body.type);
    }
  }

  static json(value: unknown, init: { status?: number; headers?: HeadersLike } = {}): Response {
    const headers = new Headers(init.headers);
    if (!headers.has('content-type')) headers.set('content-type', 'application/json');
    return new Response(JSON.stringify(value), { ...init, headers });
  }

  static redirect(url: string, status = 302): Response {
    return new Response(null, { status, headers: { location: String(url) } });
  }

  get ok(): boolean {
    return this.status < 300;
  }

  /** The body, chunk by chunk. A whole one is no `ReadableStream`, which only programs that name it have. */
  get body(): Chunks | null {
    if (!(this.#content instanceof Uint8Array)) return this.#content;
    return this.#content.length === 0 ? null : once(this.#content);
  }

  /** @internal The body, unless it is there as a whole. */
  get pieces(): Chunks | undefined {
    return this.#content instanceof Uint8Array ? undefined : this.#content;
  }

  async bytes(): Promise<Uint8Array> {
    if (this.#content instanceof Uint8Array) return this.#content;
    if (this.#isUsed) throw new TypeError('the body of a `Response` is a stream, which was read before');
    this.#isUsed = true;
    const chunks: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of this.#content) {
      const bytes = pieceBytes(chunk);
      chunks.push(bytes);
      length += bytes.length;
    }
    return joined(chunks, length);
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return (await this.bytes()).slice().buffer as ArrayBuffer;
  }

  async text(): Promise<string> {
    const bytes = await this.bytes();
    return fromUtf8(bytes) ?? new TextDecoder().decode(bytes);
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }

  async blob(): Promise<Blob> {
    return new Blob([(await this.bytes()) as Uint8Array<ArrayBuffer>], { type: this.headers.get('content-type') ?? '' });
  }
}

/** Packages ask whether a value is one. */
export class Request {
  constructor() {
    throw new TypeError('`Request`: a module sends no requests; call an event');
  }
}
