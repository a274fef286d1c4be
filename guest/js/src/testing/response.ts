import type { RawHeader } from '../host.js';
import { joined } from '../multipart.js';
import type { LogLine, TestContext } from './host.js';

/** The reply to a request of a test, and what the handler did beside it. */
export class TestResponse {
  readonly #context: TestContext;

  constructor(context: TestContext) {
    this.#context = context;
  }

  #head(): { status: number; headers: RawHeader[] } {
    const { reply, thrown } = this.#context;
    const head = reply ?? thrown;
    if (!head) throw new Error('there is no reply: the handler handed the request over, or neither sent nor returned a reply');
    return head;
  }

  /** Whether there is no reply: the handler handed the context over, or left it without one. A host answers 500 then. */
  get isOpen(): boolean {
    return this.#context.isOpen;
  }

  /** Whether the body that `openReply` or an iterable writes was finished. A host breaks one off that is not. */
  get isFinished(): boolean {
    return this.#context.writer?.isFinished ?? true;
  }

  get status(): number {
    return this.#head().status;
  }

  /** The headers that the handler set, and the `content-type` that its body has by default. */
  get headers(): Headers {
    const { reply } = this.#context;
    const headers = new Headers();
    for (const { name, value } of this.#head().headers) headers.append(name, new TextDecoder().decode(value));
    const types = { text: 'text/plain; charset=utf-8', json: 'application/json', bytes: 'application/octet-stream', empty: undefined };
    const type = reply ? types[reply.body.tag] : 'application/json';
    if (type !== undefined && !headers.has('content-type')) headers.set('content-type', type);
    return headers;
  }

  bytes(): Uint8Array {
    const { reply, thrown, writer } = this.#context;
    this.#head();
    if (thrown) {
      const details = thrown.details === null ? {} : (JSON.parse(thrown.details) as object);
      return new TextEncoder().encode(JSON.stringify({ message: thrown.message, ...details }));
    }
    if (writer) return joined(writer.chunks, writer.chunks.reduce((sum, { length }) => sum + length, 0));
    const body = reply?.body ?? { tag: 'empty' };
    if (body.tag === 'empty') return new Uint8Array(0);
    return body.tag === 'bytes' ? body.val : new TextEncoder().encode(body.val);
  }

  text(): string {
    return new TextDecoder('utf-8', { fatal: true }).decode(this.bytes());
  }

  // The type of the value is what the test expects of it.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  json<T = any>(): T {
    return JSON.parse(this.text()) as T;
  }

  /** The value of a cookie that the reply sets last. */
  cookie(name: string): string | undefined {
    const all = this.headers.getSetCookie().reverse();
    const found = all.find((text) => text.startsWith(`${name}=`));
    return found === undefined ? undefined : decodeURIComponent((found.split(';')[0] ?? '').slice(name.length + 1));
  }

  #payloads(how: string, event: string): unknown[] {
    const { sent } = this.#context.world;
    return sent.filter((one) => one.how === how && one.event === event).map(({ payload }) => payload);
  }

  /** The payloads with which an event was called, in order. */
  called(event: string): unknown[] {
    return this.#payloads('call', event);
  }

  /** The payloads with which an event was emitted. */
  emitted(event: string): unknown[] {
    return this.#payloads('emit', event);
  }

  /** The payloads with which the context was handed over; `null` where the context itself was the payload. */
  handedOver(event: string): unknown[] {
    return this.#payloads('hand-over', event);
  }

  /** What a handler, guard, interceptor or listener threw, and nothing caught: the client gets 500 without it. */
  get exception(): unknown {
    return this.#context.world.exceptions[0];
  }

  /** The lines of `log`. What `console` prints is printed. */
  get lines(): readonly LogLine[] {
    return this.#context.world.lines;
  }

  extension(key: string): string | undefined {
    return this.#context.extensions.get(key);
  }
}
