import { callEvent, direct, emitted, promised } from './calls.js';
import { Conditions } from './conditions.js';
import { Cookies } from './cookies.js';
import type { AnyEvents, EventName, IOEventName, PayloadArguments, PayloadOf, ResultOf } from './events.js';
import { BadRequestException, HttpException, thrown, UnauthorizedException, UnsupportedMediaTypeException, type ErrorBody } from './exceptions.js';
import { expectCharset, expectNames, fieldObject, readFields, searchParams, withoutMark } from './fields.js';
import type { Guard, GuardValue } from './guards.js';
import { essence } from './header.js';
import { chain, date, host, hostText, type Maybe, type RawContext, type RawPayload } from './host.js';
import { readJson } from './json.js';
import { BodyWriter, chunksOf } from './body.js';
import { boundaryOf, Part, readParts } from './multipart.js';
import { binaryText, fromUtf8 } from './platform/utf8.js';
import { DEFERRED, isStreamed, rawHeaders, Reply, toReply, type ReplyInit } from './reply.js';
import { env } from './variables.js';
import { expectSchema, piped, validated, type Pipe, type StandardSchema } from './validation.js';

const EXTENSION = 'the key of an extension';
const FORM = 'application/x-www-form-urlencoded';

/** A request and its reply. A controller reaches everything outside itself through it. `Events` is the event map. */
export class Context<Events = AnyEvents> {
  // Plain properties that exist when they are first set: QuickJS makes private ones several times as slowly.
  /** @internal */
  declare raw: RawContext | undefined;
  private declare _name: string | undefined;
  private declare _query: URLSearchParams | undefined;
  private declare _params: Record<string, string> | undefined;
  private declare _guarded: Map<Guard, unknown> | undefined;
  private declare _writers: BodyWriter[] | undefined;
  private declare _replied: boolean | undefined;
  /** @internal The number of schemas that run; `Infinity` after one that ran out of memory. */
  declare schemas: number | undefined;
  /** Whether a write found that the client has left: the host tells it of requests without a reply only. */
  private declare _hasLeft: boolean | undefined;

  /** @internal */
  constructor(raw: RawContext) {
    this.raw = raw;
  }

  private get open(): RawContext {
    const raw = this.raw;
    if (raw) return raw;
    throw new Error('the context is closed: its handler has ended, or handed it over');
  }

  /** @internal A context that a handler returns leaves the reply to a channel. */
  get [DEFERRED](): true {
    return true;
  }

  /** The method as the client sent it. */
  get method(): string {
    return this.open.method();
  }

  /** The path as the client sent it, with percent-escapes and a global prefix, without the query. */
  get path(): string {
    return this.open.path();
  }

  get scheme(): string {
    return this.open.scheme();
  }

  /** The authority that the client addressed. */
  get authority(): string | undefined {
    return this.open.authority() ?? undefined;
  }

  /** `1.0`, `1.1` or `2`. */
  get httpVersion(): string {
    return this.open.httpVersion();
  }

  /** The client as `address:port`. */
  get remoteAddress(): string | undefined {
    return this.open.remoteAddress() ?? undefined;
  }

  /** When the host read the head of the request. */
  get receivedAt(): Date {
    return date(this.open.receivedAt());
  }

  /** When the host ends the request. */
  get deadline(): Date | undefined {
    const deadline = this.open.deadline();
    return deadline ? date(deadline) : undefined;
  }

  /** Whether the client has gone, or the request has ended. Once a reply has begun, the next write finds it. */
  get cancelled(): boolean {
    return this._hasLeft || this.open.cancelled();
  }

  /** The id that every line of the log about the request has. */
  get requestId(): string {
    return this.open.requestId();
  }

  /** The full pattern of the route, `/products/:id`. */
  get route(): string {
    return this.open.route();
  }

  /** The variables of the module. */
  get variables(): Readonly<Record<string, string | undefined>> {
    return env;
  }

  /** A path parameter, percent-decoded; with a pipe such as `int`, or a schema, as its value, or 400. */
  param(name: string): string;
  param<T>(name: string, pipe: Pipe<T>): T;
  param<T>(name: string, pipe?: Pipe<T>): string | T {
    // Without the getter, a call that each request would make.
    const text = (this.raw ?? this.open).param(hostText(name, 'the name of a path parameter'));
    if (text === null) throw new TypeError(`the route \`${this.route}\` has no parameter \`${name}\``);
    return pipe ? piped(pipe, text, 'path parameter', name) : text;
  }

  /** All path parameters. */
  get params(): Readonly<Record<string, string>> {
    return (this._params ??= Object.fromEntries(this.open.params().map(({ name, value }) => [name, value])));
  }

  /** The query. One with more than 100,000 fields is 413, and the name `__proto__` is 400. */
  get query(): URLSearchParams {
    return (this._query ??= searchParams(this.open.query() ?? ''));
  }

  /**
   * The query as the client sent it, without the `?`; `undefined` if there was no `?`. `new URLSearchParams` of this text would remove a
   * second `?`, which belongs to the first name: `query` has the fields.
   */
  get search(): string | undefined {
    return this.open.query() ?? undefined;
  }

  /** The query by a schema, 422 if it does not fit. A name that occurs more than once has an array. */
  async readQuery<T>(schema: StandardSchema<unknown, T>): Promise<T> {
    return validated(schema, fieldObject(readFields(this.open.query() ?? '', 'query')), this);
  }

  /** The path parameters by a schema. */
  async readParams<T>(schema: StandardSchema<unknown, T>): Promise<T> {
    return validated(schema, this.params, this);
  }

  /** The first header of that name, in any case. */
  header(name: string): string | undefined {
    return this.open.header(hostText(name, 'the name of a header')) ?? undefined;
  }

  /** All headers. A value that is not ASCII has one character for each byte. */
  get headers(): Headers {
    const headers = new Headers();
    const all = this.open.headers();
    expectNames(all.map(({ name }) => name), 'headers');
    for (const { name, value } of all) headers.append(name, binaryText(value));
    return headers;
  }

  /** All values of a header that may be sent more than once. */
  headerValues(name: string): string[] {
    const wanted = name.toLowerCase();
    const found = this.open.headers().filter((header) => header.name === wanted);
    return found.map(({ value }) => fromUtf8(value) ?? binaryText(value));
  }

  get cookies(): Cookies {
    return new Cookies(this.headerValues('cookie'));
  }

  /** The token of `authorization: Bearer …`, 401 without one. Several such headers, or a malformed token, are 401 too. */
  bearer(): string {
    const headers = this.headerValues('authorization');
    const found = /^bearer +([A-Za-z0-9\-._~+/]+=*) *$/i.exec(headers[0] ?? '');
    if (headers.length !== 1 || !found?.[1]) {
      throw new UnauthorizedException('header `authorization`: expected a bearer token', { headers: { 'www-authenticate': 'Bearer' } });
    }
    return found[1];
  }

  /** `if-match`, `if-none-match`, `if-modified-since` and `if-unmodified-since`. */
  get conditions(): Conditions {
    const list = (name: string): string | undefined => {
      const values = this.headerValues(name);
      return values.length === 0 ? undefined : values.join(', ');
    };
    return new Conditions({
      method: this.method,
      ifMatch: list('if-match'),
      ifNoneMatch: list('if-none-match'),
      ifModifiedSince: this.header('if-modified-since'),
      ifUnmodifiedSince: this.header('if-unmodified-since'),
    });
  }

  /** The value of a guard that let the request pass. */
  guarded<G extends Guard>(guard: G): GuardValue<G> {
    if (!this._guarded?.has(guard)) throw new TypeError(`the guard \`${guard.name}\` did not run for \`${this.route}\``);
    return this._guarded.get(guard) as GuardValue<G>;
  }

  /** @internal */
  hasPassed(guard: Guard): boolean {
    return this._guarded?.has(guard) ?? false;
  }

  /** @internal */
  pass(guard: Guard, value: unknown): void {
    (this._guarded ??= new Map()).set(guard, value);
  }

  /** The whole body as text without a byte order mark: 400 if it is not UTF-8, 415 for another charset. The body can be taken once. */
  text(): Promise<string> {
    return promised('text', () => this._text());
  }

  /** The whole body. */
  bytes(): Promise<Uint8Array> {
    return promised('bytes', () => host.body(this.open));
  }

  /**
   * The whole body from JSON: 400 if it is none, 415 for another content type, 422 if it does not fit the schema. The key `__proto__`,
   * the key `prototype` in an object behind the key `constructor`, and half of a surrogate pair are 400 at any depth.
   */
  json<T = unknown>(): Promise<T>;
  json<T>(schema: StandardSchema<unknown, T>): Promise<T>;
  json<T>(...given: [schema?: StandardSchema<unknown, T>]): Promise<T> {
    const [schema] = given;
    if (given.length > 0) expectSchema(schema);
    return promised('text', () => {
      this._expect(isJson, 'application/json');
      return chain(this._text(), (text): Maybe<T> => {
        const value = parseJson(text);
        return schema ? validated(schema, value, this, text) : (value as T);
      });
    });
  }

  /** The whole body from a form, 413 for more than 100,000 fields. With a schema, an object of its fields, as in `readQuery`. */
  form(): Promise<URLSearchParams>;
  form<T>(schema: StandardSchema<unknown, T>): Promise<T>;
  form<T>(...given: [schema?: StandardSchema<unknown, T>]): Promise<URLSearchParams | T> {
    const [schema] = given;
    if (given.length > 0) expectSchema(schema);
    return promised<URLSearchParams | T>('text', () => {
      this._expect((type) => type === FORM, FORM);
      return chain(this._text(), (text): Maybe<URLSearchParams | T> => {
        const all = readFields(text, 'body');
        return schema ? validated(schema, fieldObject(all), this) : new URLSearchParams(all);
      });
    });
  }

  /** The whole body from JSON or from a form, by its content type. */
  jsonOrForm<T>(schema: StandardSchema<unknown, T>): Promise<T> {
    return essence(this.header('content-type') ?? '') === FORM ? this.form(schema) : this.json(schema);
  }

  /** The parts of a body of the type `multipart/form-data`, as they arrive, 413 for more than 1,000. Each is read before the next one. */
  parts(): AsyncIterable<Part> {
    const boundary = boundaryOf(this.header('content-type') ?? '');
    return readParts(this.body, boundary);
  }

  /** A form, with or without files, all at once. */
  async formData(): Promise<FormData> {
    const data = new FormData();
    if (essence(this.header('content-type') ?? '') === FORM) {
      for (const [name, value] of await this.form()) data.append(name, value);
      return data;
    }
    for await (const part of this.parts()) {
      if (part.fileName === undefined) {
        data.append(part.name, await part.text());
      } else {
        const type = part.contentType ?? 'application/octet-stream';
        data.append(part.name, new File([(await part.bytes()) as Uint8Array<ArrayBuffer>], part.fileName, { type }));
      }
    }
    return data;
  }

  /** The body chunk by chunk. On a route with `body: 'stream'` the handler runs before the body has arrived. */
  get body(): AsyncIterable<Uint8Array> {
    return chunksOf(() => direct('body', () => this.open.openBody()));
  }

  private _text(): Maybe<string> {
    const found = this.open.header('content-type');
    if (found !== null) expectCharset(found, 'body');
    return chain(host.text(this.open), withoutMark);
  }

  private _expect(isRight: (essence: string) => boolean, expected: string): void {
    const found = this.open.header('content-type');
    if (found === null || isRight(essence(found))) return;
    throw new UnsupportedMediaTypeException(`body: expected \`content-type: ${expected}\`, got \`${found}\``);
  }

  /** Calls an event and waits for the result of its listener. Two calls of a `Promise.all` run one after the other. */
  call<Name extends IOEventName<Events>>(event: Name, ...payload: PayloadArguments<PayloadOf<Events, Name>>): Promise<ResultOf<Events, Name>>;
  call(event: string, payload?: unknown): Promise<unknown> {
    return callEvent(host.call, this.raw ?? this.open, event, payload);
  }

  /**
   * Queues an event for its listener and returns the context at once. Failures are in the log of the host.
   *
   * With the context itself as the payload, the listener replies instead of the handler: `return ctx.emit('response:send', ctx)`.
   */
  emit<Name extends EventName<Events>>(event: Name, ...payload: PayloadArguments<PayloadOf<Events, Name>> | [this]): this;
  emit(event: string, payload?: unknown): this {
    if (payload === this) return this._handOver(event, emitted(undefined, event));
    this.open.emit(event, emitted(payload, event));
    return this;
  }

  /** Hands the request over to the listener of an event, which replies instead of the handler. */
  handOver<Name extends EventName<Events>>(event: Name, ...payload: PayloadArguments<PayloadOf<Events, Name>>): this;
  handOver(event: string, payload?: unknown): this {
    return this._handOver(event, emitted(payload, event));
  }

  private _handOver(event: string, payload: RawPayload): this {
    const raw = this.open;
    this.raw = undefined;
    direct(event, () => host.handOver(event, raw, payload));
    this._replied = true;
    return this;
  }

  /** Replies now; the handler goes on, and returns the context or nothing. */
  send(body?: unknown, status?: number): this {
    if (body instanceof HttpException) {
      direct('send', () => this.open.throw(thrown(body)));
      this._replied = true;
      return this;
    }
    const reply = body === undefined ? Reply.empty() : toReply(body, 'the reply');
    if (status !== undefined) reply.status = status;
    const wrong = reply.problem();
    if (wrong) throw wrong;
    const content = reply.body;
    if (isStreamed(content)) throw new TypeError('`send` takes a whole reply: return the pieces from the handler, or write them by `openReply`');
    direct('send', () => this.open.send({ status: reply.status, headers: rawHeaders(reply), body: content }));
    this._replied = true;
    return this;
  }

  /** Ends the request with an error: `return ctx.throw(HttpStatus.NOT_FOUND, { message: 'no such product' })`. */
  throw(status: number, body: string | ErrorBody = {}): never {
    throw new HttpException(body, status);
  }

  /** Sends the head of the reply now. The body is written by the result, until `finish`. */
  openReply(init: ReplyInit = {}): BodyWriter {
    const head = Reply.empty(init.status, init);
    const wrong = head.problem();
    if (wrong) throw wrong;
    const raw = direct('openReply', () => this.open.openReply(head.status, rawHeaders(head)));
    const writer = new BodyWriter(raw, () => (this._hasLeft = true));
    (this._writers ??= []).push(writer);
    return writer;
  }

  /** A value that the host adds to the log lines of the request. */
  extension(key: string): string | undefined {
    return this.open.extension(hostText(key, EXTENSION)) ?? undefined;
  }

  setExtension(key: string, value: string): void {
    this.open.setExtension(hostText(key, EXTENSION), String(value).toWellFormed());
  }

  /** @internal The name of the guard, interceptor or handler that runs, for messages. A context that a listener took has the route instead. */
  get name(): string {
    return this._name ?? this.route;
  }

  set name(name: string) {
    this._name = name;
  }

  /** @internal */
  get isClosed(): boolean {
    return this.raw === undefined;
  }

  /** @internal Whether a reply was sent or has begun, or the context was handed over: an error can no longer be the reply. */
  get hasReplied(): boolean {
    return this._replied === true || this._writers !== undefined;
  }

  /** @internal What its handler, which left the reply to others, seems to have forgotten. */
  forgotten(): string | undefined {
    if (this._writers) return !this._hasLeft && this._writers.some((writer) => writer.isOpen) ? 'ended before `finish`: the reply that `openReply` began is broken off' : undefined;
    return this._replied ? undefined : 'returned no reply, sent none, and did not hand the context over: look for a missing `return`';
  }

  /** @internal Breaks off a reply that the handler did not finish. */
  close(): void {
    if (this._writers) for (const writer of this._writers) writer.close();
    const raw = this.raw;
    this.raw = undefined;
    raw?.[Symbol.dispose]?.();
  }
}

function isJson(type: string): boolean {
  return type === 'application/json' || type.endsWith('+json');
}

function parseJson(text: string): unknown {
  return readJson(text, (problem) => new BadRequestException(`body: ${problem}`));
}
