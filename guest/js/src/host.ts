/** The contract of `wit/` as JavaScript sees it, and the host that the SDK runs on: the real one in a component, or that of a test. */

export interface RawHeader {
  name: string;
  value: Uint8Array;
}

export interface Property {
  name: string;
  value: string;
}

export type RawPayload = { tag: 'json'; val: string } | { tag: 'bytes'; val: { contentType: string; data: Uint8Array } };

export type RawBody = { tag: 'empty' } | { tag: 'text' | 'json'; val: string } | { tag: 'bytes'; val: Uint8Array };

export interface RawReply {
  status: number;
  headers: RawHeader[];
  body: RawBody;
}

export interface RawThrown {
  status: number;
  headers: RawHeader[];
  message: string;
  details: string | null;
}

export interface RawFailure extends RawThrown {
  code: string;
}

export type RawOutcome = { tag: 'reply'; val: RawReply } | { tag: 'thrown'; val: RawThrown } | { tag: 'deferred' };

export interface RawInstant {
  seconds: number;
  nanoseconds: number;
}

interface Owned {
  /** @internal */
  [Symbol.dispose]?(): void;
}

export interface RawReader extends Owned {
  readonly isReader?: true;
}

export interface RawWriter extends Owned {
  readonly isWriter?: true;
}

export interface RawContext extends Owned {
  method(): string;
  path(): string;
  query(): string | null;
  scheme(): string;
  authority(): string | null;
  httpVersion(): string;
  remoteAddress(): string | null;
  receivedAt(): RawInstant;
  deadline(): RawInstant | null;
  cancelled(): boolean;
  requestId(): string;
  route(): string;
  param(name: string): string | null;
  params(): Property[];
  header(name: string): string | null;
  headers(): RawHeader[];
  extension(key: string): string | null;
  setExtension(key: string, value: string): void;
  openBody(): RawReader;
  emit(event: string, payload: RawPayload): void;
  send(reply: RawReply): void;
  throw(error: RawThrown): void;
  openReply(status: number, headers: RawHeader[]): RawWriter;
}

export interface RawDelivery extends Owned {
  id(): string;
  attempt(): number;
  event(): string;
  requestId(): string | null;
  deadline(): RawInstant | null;
  cancelled(): boolean;
  takeContext(): RawContext | null;
  emit(event: string, payload: RawPayload): void;
}

export type Level = 'trace' | 'debug' | 'info' | 'warn' | 'error';

export interface Frame {
  function: string;
  file: string;
  line: number;
}

export interface RawReport {
  message: string;
  exception: string | null;
  stack: Frame[];
}

/** A value now, or later. In a component the host answers at once; a test may answer later. */
export type Maybe<T> = T | PromiseLike<T>;

/** A function that fails throws an object whose `payload` is a {@link RawFailure}. */
export interface Host {
  body(context: RawContext): Maybe<Uint8Array>;
  text(context: RawContext): Maybe<string>;
  call(context: RawContext, event: string, payload: RawPayload): Maybe<RawPayload>;
  read(reader: RawReader, max: number): Maybe<Uint8Array | null>;
  write(writer: RawWriter, chunk: Uint8Array): Maybe<void>;
  finish(writer: RawWriter): Maybe<void>;
  handOver(event: string, context: RawContext, payload: RawPayload): void;
  callFrom(delivery: RawDelivery, event: string, payload: RawPayload): Maybe<RawPayload>;
  now(): RawInstant;
  monotonic(): RawInstant;
  random(): number;
  variables(): Property[];
  log(level: Level, target: string, message: string, fields: Property[]): void;
  /** Reports the error of the engine that traps the instance at once. */
  panicked(error: unknown): void;
  /** Reports an exception that ends the running call. */
  raised(error: unknown): void;
}

/** Before the first call of a component, and in a program without a host, nothing answers. */
function missing(): never {
  throw new Error('there is no host: this function works in a component, or in a test of `@pointwork/guest/testing`');
}

export let host: Host = {
  body: missing,
  text: missing,
  call: missing,
  read: missing,
  write: missing,
  finish: missing,
  handOver: missing,
  callFrom: missing,
  now: missing,
  monotonic: missing,
  random: missing,
  variables: () => [],
  log(level, _target, message) {
    const print = level === 'trace' ? 'debug' : level;
    console[print](message);
  },
  panicked: missing,
  raised: missing,
};

export function setHost(next: Host): void {
  host = next;
}

/** A text for the host. The runtime traps without a message for another value, and for half of a surrogate pair. */
export function hostText(value: unknown, what: string): string {
  if (typeof value === 'string' && value.isWellFormed()) return value;
  throw new TypeError(`${what} is ${typeof value === 'string' ? JSON.stringify(value) : `a value of the type ${typeof value}`}, expected a text of whole characters`);
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return false;
  return typeof (value as { then?: unknown }).then === 'function';
}

/** A promise of a value that is there later. The `then` of others may return nothing, and call its functions more than once. */
export function promiseOf<T>(value: PromiseLike<T>): Promise<T> {
  return value instanceof Promise ? value : Promise.resolve(value);
}

/** `next` of a value that is there now or later. A promise for each value that is there would double the time of a call. */
export function chain<T, R>(value: Maybe<T>, next: (value: T) => Maybe<R>): Maybe<R> {
  return isThenable(value) ? promiseOf(value).then(next) : next(value);
}

/** As {@link chain}, for what may fail, now or later. */
export function attempt<T, R>(make: () => Maybe<T>, next: (value: T) => Maybe<R>, failed: (error: unknown) => Maybe<R>): Maybe<R> {
  let value: Maybe<T>;
  try {
    value = make();
    if (!isThenable(value)) return next(value);
  } catch (error) {
    return failed(error);
  }
  return promiseOf(value).then(next).then(undefined, failed);
}

export function date(instant: RawInstant): Date {
  return new Date(instant.seconds * 1000 + Math.floor(instant.nanoseconds / 1e6));
}
