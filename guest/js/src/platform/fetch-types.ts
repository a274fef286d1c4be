/** `Headers`, `Blob`, `File`, `FormData` and `Response` of the platform, as far as code without a network needs them. */

import { headerProblem, pairs, type HeadersLike } from '../header.js';
import { joined } from '../multipart.js';
import { fromUtf8, utf8 } from './utf8.js';

export class Headers {
  readonly #values = new Map<string, string[]>();

  constructor(init: HeadersLike = []) {
    for (const [name, value] of pairs(init)) this.append(name, value);
  }

  append(name: string, value: string): void {
    const text = String(value).replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, '');
    const problem = headerProblem(name, text);
    if (problem !== undefined) throw new TypeError(problem);
    const key = name.toLowerCase();
    const values = this.#values.get(key);
    if (values) values.push(text);
    else this.#values.set(key, [text]);
  }

  set(name: string, value: string): void {
    this.delete(name);
    this.append(name, value);
  }

  delete(name: string): void {
    this.#values.delete(name.toLowerCase());
  }

  get(name: string): string | null {
    return this.#values.get(name.toLowerCase())?.join(', ') ?? null;
  }

  has(name: string): boolean {
    return this.#values.has(name.toLowerCase());
  }

  getSetCookie(): string[] {
    return [...(this.#values.get('set-cookie') ?? [])];
  }

  forEach(each: (value: string, name: string, all: Headers) => void, self?: unknown): void {
    for (const [name, value] of this) each.call(self, value, name, this);
  }

  *entries(): IterableIterator<[string, string]> {
    for (const name of [...this.#values.keys()].sort()) {
      const values = this.#values.get(name) ?? [];
      if (name === 'set-cookie') for (const value of values) yield [name, value];
      else yield [name, values.join(', ')];
    }
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this.entries()) yield name;
  }

  *values(): IterableIterator<string> {
    for (const [, value] of this.entries()) yield value;
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries();
  }

  get [Symbol.toStringTag](): string {
    return 'Headers';
  }
}

type BlobPart = string | ArrayBuffer | ArrayBufferView | Blob;

function bytesOf(part: BlobPart): Uint8Array {
  if (typeof part === 'string') return utf8(part);
  if (part instanceof Blob) return part.content;
  return ArrayBuffer.isView(part) ? new Uint8Array(part.buffer, part.byteOffset, part.byteLength) : new Uint8Array(part);
}

export class Blob {
  /** @internal */
  readonly content: Uint8Array;
  readonly type: string;

  constructor(parts: readonly BlobPart[] = [], options: { type?: string } = {}) {
    const all = parts.map(bytesOf);
    const length = all.reduce((sum, { length }) => sum + length, 0);
    // A copy: what becomes of the parts does not change the blob.
    this.content = joined(all, length).slice();
    this.type = (options.type ?? '').toLowerCase();
  }

  get size(): number {
    return this.content.length;
  }

  async bytes(): Promise<Uint8Array> {
    return this.content.slice();
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return this.content.slice().buffer as ArrayBuffer;
  }

  async text(): Promise<string> {
    return new TextDecoder().decode(this.content);
  }

  slice(from?: number, to?: number, type?: string): Blob {
    return new Blob([this.content.slice(from, to)], type === undefined ? {} : { type });
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

export class FormData {
  #list: [string, Entry][] = [];

  append(name: string, value: string | Blob, fileName?: string): void {
    this.#list.push([String(name), entry(value, fileName)]);
  }

  set(name: string, value: string | Blob, fileName?: string): void {
    const first = this.#list.find((pair) => pair[0] === name);
    if (!first) return this.append(name, value, fileName);
    first[1] = entry(value, fileName);
    this.#list = this.#list.filter((pair) => pair === first || pair[0] !== name);
  }

  get(name: string): Entry | null {
    return this.#list.find((pair) => pair[0] === name)?.[1] ?? null;
  }

  getAll(name: string): Entry[] {
    return this.#list.filter((pair) => pair[0] === name).map((pair) => pair[1]);
  }

  has(name: string): boolean {
    return this.#list.some((pair) => pair[0] === name);
  }

  delete(name: string): void {
    this.#list = this.#list.filter((pair) => pair[0] !== name);
  }

  forEach(each: (value: Entry, name: string, all: FormData) => void, self?: unknown): void {
    for (const [name, value] of this.#list) each.call(self, value, name, this);
  }

  *entries(): IterableIterator<[string, Entry]> {
    for (const [name, value] of this.#list) yield [name, value];
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this.#list) yield name;
  }

  *values(): IterableIterator<Entry> {
    for (const [, value] of this.#list) yield value;
  }

  [Symbol.iterator](): IterableIterator<[string, Entry]> {
    return this.entries();
  }
}

function entry(value: string | Blob, fileName: string | undefined): Entry {
  if (!(value instanceof Blob)) return String(value);
  if (value instanceof File && fileName === undefined) return value;
  return new File([value], fileName ?? 'blob', { type: value.type });
}

type BodyInit = string | ArrayBuffer | ArrayBufferView | Blob | { toString(): string } | null | undefined;

const NO_BODY = [204, 205, 304];

export class Response {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly #content: Uint8Array;

  constructor(body?: BodyInit, init: { status?: number; statusText?: string; headers?: HeadersLike } = {}) {
    const status = init.status ?? 200;
    if (!Number.isInteger(status) || status < 200 || status > 599) throw new RangeError(`the status of a \`Response\` is ${status}, expected 200 to 599`);
    const isAbsent = body === undefined || body === null;
    if (!isAbsent && NO_BODY.includes(status)) throw new TypeError(`a \`Response\` with the status ${status} has no body`);
    this.status = status;
    this.statusText = init.statusText ?? '';
    this.headers = new Headers(init.headers);
    const isBinary = body instanceof Blob || body instanceof ArrayBuffer || ArrayBuffer.isView(body);
    this.#content = isAbsent ? new Uint8Array(0) : isBinary ? bytesOf(body as BlobPart) : utf8(String(body));
    if (!isAbsent && !this.headers.has('content-type')) {
      if (typeof body === 'string') this.headers.set('content-type', 'text/plain;charset=UTF-8');
      else if (body instanceof URLSearchParams) this.headers.set('content-type', 'application/x-www-form-urlencoded;charset=UTF-8');
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

  async bytes(): Promise<Uint8Array> {
    return this.#content;
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return this.#content.slice().buffer as ArrayBuffer;
  }

  async text(): Promise<string> {
    return fromUtf8(this.#content) ?? new TextDecoder().decode(this.#content);
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }

  async blob(): Promise<Blob> {
    return new Blob([this.#content as Uint8Array<ArrayBuffer>], { type: this.headers.get('content-type') ?? '' });
  }
}
