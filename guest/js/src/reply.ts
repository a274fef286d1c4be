import type { SetCookie } from './cookies.js';
import { cookieHeader } from './cookies.js';
import { HttpException, ReplyException } from './exceptions.js';
import { headerProblem, pairs, rawHeader, type HeadersLike } from './header.js';
import { type Maybe, type RawBody, type RawHeader, type RawOutcome } from './host.js';
import { jsonText } from './json.js';
import { asBytes, Payload } from './payload.js';

/** A piece of a streamed body. */
export type Piece = string | Uint8Array;

/** What gives the pieces of a body, one after the other. A text is none, though it has its characters. */
export type Pieces = (Iterable<Piece> | AsyncIterable<Piece>) & object;

/** Status and headers of a reply. */
export interface ReplyInit {
  status?: number;
  headers?: HeadersLike;
}

/** The return value of a handler whose reply was sent before, or is sent by a listener. */
export const DEFERRED: unique symbol = Symbol('deferred');

// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f]/;

/**
 * A reply: status, headers and body. Handlers that need no status and headers return a plain value.
 *
 * A wrong header makes it the error 500 `invalid-reply`, with the place in the log.
 */
export class Reply {
  status: number;
  readonly headers: [string, string][] = [];
  body: RawBody | Pieces;
  #wrong: ReplyException | undefined;

  constructor(body: RawBody | Pieces, init: ReplyInit = {}) {
    this.status = init.status ?? 200;
    this.body = body;
    if (init.headers) for (const [name, value] of pairs(init.headers)) this.header(name, value);
  }

  static text(text: string, init?: ReplyInit): Reply {
    return new Reply({ tag: 'text', val: text.toWellFormed() }, init);
  }

  static html(text: string, init?: ReplyInit): Reply {
    return Reply.text(text, init).header('content-type', 'text/html; charset=utf-8');
  }

  static json(value: unknown, init?: ReplyInit): Reply {
    return new Reply({ tag: 'json', val: jsonText(value, 'the reply') }, init);
  }

  static bytes(bytes: Uint8Array, init?: ReplyInit): Reply {
    return new Reply({ tag: 'bytes', val: asBytes(bytes, '`Reply.bytes`') }, init);
  }

  static empty(status = 200, init?: Omit<ReplyInit, 'status'>): Reply {
    return new Reply({ tag: 'empty' }, { ...init, status });
  }

  static noContent(): Reply {
    return Reply.empty(204);
  }

  /** A body that is written piece by piece after the handler returned. An error breaks it off. */
  static stream(pieces: Pieces, init?: ReplyInit): Reply {
    if (typeof pieces !== 'object' || pieces === null || !(Symbol.asyncIterator in pieces || Symbol.iterator in pieces)) {
      throw new TypeError(`\`Reply.stream\` of ${pieces === null ? 'null' : `a ${typeof pieces}`}, expected a generator or another iterable of pieces`);
    }
    return new Reply(pieces, init);
  }

  /** 201 with a location. */
  static created(location: string, value?: unknown): Reply {
    return located(value === undefined ? Reply.empty(201) : toReply(value, 'the reply'), 201, location);
  }

  /** 303, after which the client gets the location; 307 and 308 repeat the request there. */
  static redirect(location: string, status: 301 | 302 | 303 | 307 | 308 = 303): Reply {
    return located(Reply.empty(), status, location);
  }

  /** Adds a header; earlier ones of the same name stay, except for `content-type`. */
  header(name: string, value: string): this {
    const problem = headerProblem(name, value);
    if (problem !== undefined) {
      this.#wrong ??= new ReplyException(problem, new Error());
      return this;
    }
    if (name.toLowerCase() === 'content-type') {
      const at = this.headers.findIndex(([found]) => found.toLowerCase() === 'content-type');
      if (at >= 0) this.headers.splice(at, 1);
    }
    this.headers.push([name, value]);
    return this;
  }

  /** Sets a cookie. */
  cookie(name: string, value: string, options?: SetCookie): this {
    const header = cookieHeader(name, value, options);
    if (typeof header === 'string') return this.header('set-cookie', header);
    return this.wrong(header.problem);
  }

  /** Makes it the error `invalid-reply`. */
  wrong(problem: string): this {
    this.#wrong ??= new ReplyException(problem, new Error());
    return this;
  }

  /** The error that it is instead, because of a wrong header, or a status that is none: the runtime would trap without a message. */
  problem(): ReplyException | undefined {
    const { status } = this;
    if (!Number.isInteger(status) || status < 0 || status > 999) this.wrong(`the status of the reply is ${JSON.stringify(status)}, expected 200 to 599`);
    return this.#wrong;
  }
}

function located(reply: Reply, status: number, location: string): Reply {
  reply.status = status;
  // A header may have a tab, which browsers leave out: they read `/<tab>/evil.example` as `//evil.example`.
  const at = location.search(CONTROL);
  if (at >= 0) return reply.wrong(`the location has the byte ${location.charCodeAt(at)} at position ${at}, which a URL cannot have`);
  const encoded = encodeURI(location.toWellFormed()).replaceAll('%25', '%').replaceAll('%5B', '[').replaceAll('%5D', ']');
  return reply.header('location', encoded);
}

export function isPieces(value: object): value is Pieces {
  if (Symbol.asyncIterator in value) return true;
  // A generator or another iterator. Arrays, maps and sets are values.
  return Symbol.iterator in value && typeof (value as { next?: unknown }).next === 'function';
}

/** `Response` of the platform, or of a package that has the same shape. */
interface ResponseLike {
  status: number;
  headers: Headers;
  arrayBuffer(): Promise<ArrayBuffer>;
  /** In a component, a body that is a stream. */
  pieces?: Pieces;
}

export function isResponse(value: object): value is ResponseLike {
  const response = value as Partial<ResponseLike>;
  return typeof response.status === 'number' && typeof response.arrayBuffer === 'function' && typeof response.headers?.forEach === 'function';
}

async function ofResponse(response: ResponseLike): Promise<Reply> {
  const { pieces, status } = response;
  const bytes = pieces ? undefined : new Uint8Array(await response.arrayBuffer());
  const reply = new Reply(pieces ?? (bytes?.length ? { tag: 'bytes', val: bytes } : { tag: 'empty' }), { status });
  response.headers.forEach((value, name) => reply.header(name, value));
  return reply;
}

/** The reply for a value that is there. `what` names the value in errors. */
export function toReply(value: unknown, what: string): Reply {
  switch (typeof value) {
    case 'string':
      return new Reply({ tag: 'text', val: value.toWellFormed() });
    case 'object':
      if (value === null) break;
      if (value instanceof Reply) return value;
      if (value instanceof Uint8Array) return Reply.bytes(value);
      if (value instanceof ArrayBuffer) return Reply.bytes(new Uint8Array(value));
      if (value instanceof Payload) return Reply.bytes(value.data, { headers: { 'content-type': value.contentType } });
      if (isPieces(value)) return Reply.stream(value);
      if (value instanceof URLSearchParams) {
        return Reply.text(value.toString(), { headers: { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' } });
      }
      break;
    default:
  }
  return new Reply({ tag: 'json', val: jsonText(value, what) });
}

const NO_HEADERS: RawHeader[] = [];

/** The reply of a text, an object or an array, which most handlers return, without a {@link Reply} between. */
export function plainReply(value: unknown, what: string, name: string): RawOutcome | undefined {
  let body: RawBody;
  if (typeof value === 'string') {
    body = { tag: 'text', val: value.toWellFormed() };
  } else {
    if (typeof value !== 'object' || value === null) return undefined;
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== Array.prototype) return undefined;
    if (Symbol.asyncIterator in value || ('next' in value && isPieces(value)) || ('status' in value && isResponse(value))) return undefined;
    body = { tag: 'json', val: jsonText(value, what, name) };
  }
  return { tag: 'reply', val: { status: 200, headers: NO_HEADERS, body } };
}

/** What a handler returned, as an outcome; later for a `Response`, whose body is read. */
export function toOutcome(value: unknown, what: string): Maybe<Outcome> {
  if (value === undefined || value === DEFERRED) return DEFERRED;
  if (typeof value === 'object' && value !== null) {
    if (value instanceof HttpException) return value;
    if ((value as { [DEFERRED]?: true })[DEFERRED]) return DEFERRED;
    if (isResponse(value)) return ofResponse(value);
    if (value instanceof Blob || value instanceof FormData) return ofResponse(new Response(value));
  }
  return toReply(value, what);
}

/** How a handler ended. */
export type Outcome = Reply | HttpException | typeof DEFERRED;

export function rawHeaders(reply: Reply): RawHeader[] {
  return reply.headers.map(([name, value]) => rawHeader(name, value));
}

export function isStreamed(body: RawBody | Pieces): body is Pieces {
  return !('tag' in body);
}

/** The iterator of pieces, of either kind. */
export function iteratorOf(pieces: Pieces): Iterator<Piece> | AsyncIterator<Piece> {
  if (Symbol.asyncIterator in pieces) return pieces[Symbol.asyncIterator]();
  return pieces[Symbol.iterator]();
}

