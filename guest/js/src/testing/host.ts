import { AsyncLocalStorage } from 'node:async_hooks';
import { failure, httpOf, UncaughtException } from '../exceptions.js';
import { headerProblem } from '../header.js';
import { setHost, type Level, type Property, type RawContext, type RawDelivery, type RawFailure, type RawHeader, type RawInstant, type RawPayload, type RawReader, type RawReply, type RawThrown, type RawWriter } from '../host.js';
import { liftPayload, lowerPayload } from '../payload.js';
import { reportLine } from '../report.js';

/** An event that the code under test called, emitted or handed its context over to. */
export interface Sent {
  how: 'call' | 'emit' | 'hand-over';
  event: string;
  payload: unknown;
}

/** A line of the log. */
export interface LogLine {
  level: Level;
  message: string;
  fields: Record<string, string>;
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type TestListener = (payload: any) => unknown;

/** What a request, an event and the calls within them share. */
export class TestWorld {
  readonly sent: Sent[] = [];
  readonly lines: LogLine[] = [];
  /** What ended a call, and no code of the module caught. */
  readonly exceptions: unknown[] = [];
  readonly listeners: ReadonlyMap<string, TestListener>;
  readonly variables: Property[];

  constructor(listeners: ReadonlyMap<string, TestListener>, variables: Readonly<Record<string, string>>) {
    this.listeners = listeners;
    this.variables = Object.entries(variables).map(([name, value]) => ({ name, value }));
  }

  async call(event: string, payload: RawPayload): Promise<RawPayload> {
    this.sent.push({ how: 'call', event, payload: liftPayload(payload) });
    const listener = this.listeners.get(event);
    if (!listener) throw failed('unknown-event', 500, `nobody listens to \`${event}\`, expected \`app.on('${event}', …)\` in the test`);
    let result: unknown;
    try {
      result = await listener(liftPayload(payload));
    } catch (error) {
      const failed = httpOf(error);
      if (failed instanceof UncaughtException) this.raised(error);
      throw Object.assign(new Error(failed.message), { payload: failure(failed) });
    }
    return lowerPayload(result, 'the result of', event);
  }

  send(how: Sent['how'], event: string, payload: RawPayload): void {
    this.sent.push({ how, event, payload: liftPayload(payload) });
  }

  /** Keeps an exception for the test, and prints it, as a host writes it to its log. */
  raised(error: unknown): void {
    this.exceptions.push(error);
    console.error(`an exception ended a call: ${reportLine(error)}`);
  }
}

/** A failure as the host's functions throw it. */
export function failed(code: string, status: number, message: string): Error {
  const payload: RawFailure = { code, status, headers: [], message, details: null };
  return Object.assign(new Error(message), { payload });
}

const worlds = new AsyncLocalStorage<TestWorld>();

export function inWorld<T>(world: TestWorld, run: () => T): T {
  return worlds.run(world, run);
}

function instant(): RawInstant {
  const now = Date.now();
  return { seconds: Math.floor(now / 1000), nanoseconds: (now % 1000) * 1e6 };
}

class TestReader implements RawReader {
  readonly isReader = true;
  #rest: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#rest = bytes;
  }

  read(max: number): Uint8Array | null {
    if (this.#rest.length === 0) return null;
    const chunk = this.#rest.subarray(0, max);
    this.#rest = this.#rest.subarray(max);
    return chunk;
  }
}

class TestWriter implements RawWriter {
  readonly isWriter = true;
  readonly chunks: Uint8Array[] = [];
  isFinished = false;
}

/** What a request is made of. */
export interface TestRequestParts {
  method: string;
  path: string;
  query: string | null;
  headers: RawHeader[];
  body: Uint8Array;
  route: string;
  params: Property[];
  cancelled: boolean;
}

/** The host's side of a request, whose replies it keeps. */
export class TestContext implements RawContext {
  readonly world: TestWorld;
  readonly #parts: TestRequestParts;
  readonly extensions = new Map<string, string>();
  reply: RawReply | undefined;
  thrown: RawThrown | undefined;
  writer: TestWriter | undefined;
  #isBodyTaken = false;

  constructor(world: TestWorld, parts: TestRequestParts) {
    this.world = world;
    this.#parts = parts;
  }

  get isOpen(): boolean {
    return this.reply === undefined && this.thrown === undefined;
  }

  method = (): string => this.#parts.method;
  path = (): string => this.#parts.path;
  query = (): string | null => this.#parts.query;
  scheme = (): string => 'http';
  authority = (): string | null => this.header('host');
  httpVersion = (): string => '1.1';
  remoteAddress = (): string | null => '127.0.0.1:50000';
  receivedAt = (): RawInstant => instant();
  deadline = (): RawInstant | null => null;
  cancelled = (): boolean => this.#parts.cancelled;
  requestId = (): string => 'test-request';
  route = (): string => this.#parts.route;
  params = (): Property[] => this.#parts.params;
  headers = (): RawHeader[] => this.#parts.headers;

  param(name: string): string | null {
    return this.#parts.params.find((param) => param.name === name)?.value ?? null;
  }

  header(name: string): string | null {
    const found = this.#parts.headers.find((header) => header.name === name.toLowerCase());
    return found ? new TextDecoder().decode(found.value) : null;
  }

  extension(key: string): string | null {
    return this.extensions.get(key) ?? null;
  }

  setExtension(key: string, value: string): void {
    this.extensions.set(key, value);
  }

  take(): Uint8Array {
    if (this.#isBodyTaken) throw failed('gone', 500, 'the body was taken before');
    this.#isBodyTaken = true;
    return this.#parts.body;
  }

  openBody(): RawReader {
    return new TestReader(this.take());
  }

  emit(event: string, payload: RawPayload): void {
    this.world.send('emit', event, payload);
  }

  #first(): void {
    if (!this.isOpen) throw failed('already-replied', 500, 'the request has a reply already');
  }

  send(reply: RawReply): void {
    this.#first();
    checkReply(reply.status, reply.headers);
    this.reply = reply;
  }

  throw(error: RawThrown): void {
    this.#first();
    this.thrown = error;
  }

  openReply(status: number, headers: RawHeader[]): RawWriter {
    this.#first();
    checkReply(status, headers);
    this.writer = new TestWriter();
    this.reply = { status, headers, body: { tag: 'empty' } };
    return this.writer;
  }
}

/** Refuses what a host refuses. */
function checkReply(status: number, headers: RawHeader[]): void {
  const problem =
    Number.isInteger(status) && status >= 200 && status <= 599
      ? headers.map(({ name, value }) => headerProblem(name, new TextDecoder().decode(value))).find((problem) => problem !== undefined)
      : `the status is ${status}, expected 200 to 599`;
  if (problem !== undefined) throw failed('invalid-reply', 500, problem);
}

/** The host's side of the delivery of an event. */
export class TestDelivery implements RawDelivery {
  readonly world: TestWorld;
  readonly #event: string;
  readonly #attempt: number;
  #context: TestContext | null;

  constructor(world: TestWorld, event: string, attempt: number, context: TestContext | null) {
    this.world = world;
    this.#event = event;
    this.#attempt = attempt;
    this.#context = context;
  }

  id = (): string => 'test-event';
  attempt = (): number => this.#attempt;
  event = (): string => this.#event;
  requestId = (): string | null => (this.#context ? 'test-request' : null);
  deadline = (): RawInstant | null => null;
  cancelled = (): boolean => false;

  takeContext(): RawContext | null {
    const context = this.#context;
    this.#context = null;
    return context;
  }

  emit(event: string, payload: RawPayload): void {
    this.world.send('emit', event, payload);
  }
}

/** Makes the functions of the host those of tests, for the whole process. */
export function installTestHost(): void {
  setHost({
    body: (context) => (context as TestContext).take(),
    text(context) {
      try {
        return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode((context as TestContext).take());
      } catch (error) {
        if (error instanceof TypeError) throw failed('bad-payload', 400, 'the body is not UTF-8');
        throw error;
      }
    },
    call: (context, event, payload) => (context as TestContext).world.call(event, payload),
    read: (reader, max) => (reader as TestReader).read(max),
    write(writer, chunk) {
      (writer as TestWriter).chunks.push(chunk.slice());
    },
    finish(writer) {
      (writer as TestWriter).isFinished = true;
    },
    handOver: (event, context, payload) => (context as TestContext).world.send('hand-over', event, payload),
    callFrom: (delivery, event, payload) => (delivery as TestDelivery).world.call(event, payload),
    now: instant,
    monotonic: instant,
    random: () => Math.floor(Math.random() * 2 ** 32),
    variables: () => worlds.getStore()?.variables ?? [],
    log(level, _target, message, fields) {
      const line = { level, message, fields: Object.fromEntries(fields.map(({ name, value }) => [name, value])) };
      worlds.getStore()?.lines.push(line);
    },
    panicked: () => undefined,
    raised: (error) => worlds.getStore()?.raised(error),
  });
}

