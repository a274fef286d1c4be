/** Runs the steps of a program. */

import { BodyWriter, Context, Delivery, env, HttpException, log, Reply } from '@pointwork/guest';
import { bytesOf, JSON_TYPE, payloadOf, stringOf, textOf, type Text } from './payloads.js';
import type { Pairs, Program, Step } from './program.js';

export const NONE = '(none)';

/** The number of runs in this instance. */
let count = 0;

export abstract class Run {
  protected text: Text = '';
  protected context: Context | undefined;
  private writer: BodyWriter | undefined;
  /** The message and the type of the next trap or exception. */
  private panic: { message: string; exception: string } = { message: 'a trap on purpose', exception: 'Error' };
  readonly #program: Required<Program>;

  constructor(program: Program) {
    count += 1;
    this.#program = { status: 200, headers: [], details: {}, end: ['reply', 'text'], ...program };
  }

  /** Where calls and emits go out. */
  protected abstract door(): Context | Delivery;

  protected abstract ended(program: Required<Program>): unknown;

  async run(): Promise<unknown> {
    for (const step of this.#program.steps) await this.step(step);
    switch (this.#program.end[0]) {
      case 'deferred':
        return undefined;
      case 'raise':
        throw this.named(new Error(this.panic.message));
      case 'trap':
        // The SDK traps for errors of the engine, and reports any other exception.
        throw this.named(new InternalError(this.panic.message));
      case 'loop':
        for (;;);
      case 'hog':
        for (const all: Uint8Array[] = []; ; ) all.push(new Uint8Array(65528).fill(1));
      case 'overflow':
        return overflow(1);
      default:
        return this.ended(this.#program);
    }
  }

  private named(error: Error): Error {
    error.name = this.panic.exception;
    return error;
  }

  protected get ctx(): Context {
    if (!this.context) throw new Error('a context; take it first');
    return this.context;
  }

  protected say(text: string | number | undefined): void {
    const added = String(text ?? NONE);
    this.text = typeof this.text === 'string' ? this.text + added : joined(this.text, bytesOf(added));
  }

  private sayBytes(bytes: Uint8Array): void {
    this.text = this.text.length === 0 ? bytes : joined(bytesOf(this.text), bytes);
  }

  /** The text as a string, which is empty from now on. */
  private taken(): string {
    const text = stringOf(this.text);
    this.text = '';
    return text;
  }

  /** Runs what may fail: the text becomes `failed <code>`. */
  private async tried(run: () => unknown, message = false): Promise<boolean> {
    try {
      await run();
      return true;
    } catch (error) {
      if (!(error instanceof HttpException)) throw error;
      this.text = message ? `failed ${error.code}: ${error.message}` : `failed ${error.code}`;
      return false;
    }
  }

  private async sent(run: () => unknown): Promise<void> {
    if (await this.tried(run)) this.text = 'sent';
  }

  /** Opens a reply and writes chunks. A client that has left ends no program. */
  private async stream(status: number, chunks: readonly Text[]): Promise<void> {
    await this.tried(async () => {
      const writer = (this.writer = this.ctx.openReply({ status }));
      for (const chunk of chunks) await written(writer, chunk);
    });
  }

  private async echo(): Promise<void> {
    await this.tried(async () => {
      const writer = this.ctx.openReply();
      for await (const chunk of this.ctx.body) await writer.write(chunk);
      await writer.finish();
      this.text = '';
    });
  }

  protected async step(step: Step): Promise<void> {
    switch (step[0]) {
      case 'say':
        return this.say(step[1]);
      case 'double': {
        for (let times = 0; times < step[1]; times += 1) {
          this.text = typeof this.text === 'string' ? this.text + this.text : joined(this.text, this.text);
        }
        return;
      }
      case 'each': {
        const text = this.text;
        for (const one of step[1]) {
          this.text = text;
          await this.step(one);
        }
        return;
      }
      case 'method':
        return this.say(this.ctx.method);
      case 'path':
        return this.say(this.ctx.path);
      case 'query':
        return this.say(this.ctx.search);
      case 'scheme':
        return this.say(this.ctx.scheme);
      case 'authority':
        return this.say(this.ctx.authority);
      case 'http-version':
        return this.say(this.ctx.httpVersion);
      case 'remote-address':
        return this.say(this.ctx.remoteAddress);
      case 'received-at':
        return this.say(Math.floor(this.ctx.receivedAt.getTime() / 1000));
      case 'deadline': {
        const { deadline } = this.door();
        return this.say(deadline && Math.floor(deadline.getTime() / 1000));
      }
      case 'cancelled':
        return this.door().cancelled ? this.say('cancelled') : undefined;
      case 'param':
        return this.say(step[1] in this.ctx.params ? this.ctx.param(step[1]) : undefined);
      case 'params':
        return this.sayPairs(Object.entries(this.ctx.params));
      case 'header':
        return this.say(this.ctx.header(step[1]));
      case 'headers': {
        for (const [name, value] of this.ctx.headers) {
          const values = this.ctx.headerValues(name);
          for (const one of values) {
            this.say(`${name}=`);
            // Of one value `headers` has a character for each byte.
            if (values.length === 1) this.sayBytes(latin1(value));
            else this.say(one);
            this.say('\n');
          }
        }
        return;
      }
      case 'request-id':
        return this.say(this.door().requestId);
      case 'route':
        return this.say(this.ctx.route);
      case 'extension':
        return this.say(this.ctx.extension(step[1]));
      case 'set-extension':
        return this.ctx.setExtension(step[1], this.taken());
      case 'body':
        return void (await this.tried(async () => this.sayBytes(await this.ctx.bytes())));
      case 'body-text':
        return void (await this.tried(async () => this.say(await this.ctx.text())));
      case 'count':
        return this.say(count);
      case 'call': {
        const [, event, contentType] = step;
        const call = async (): Promise<void> => {
          this.text = textOf(await this.door().call(event, payloadOf(this.text, contentType)));
        };
        return void (await this.tried(call, true));
      }
      case 'emit':
        this.door().emit(step[1], payloadOf(this.text, JSON_TYPE));
        this.text = '';
        return;
      case 'hand-over': {
        const context = this.ctx;
        this.context = undefined;
        if (await this.tried(() => context.handOver(step[1], payloadOf(this.text, JSON_TYPE)))) this.text = '';
        return;
      }
      case 'send': {
        const [, status, headers] = step;
        return this.sent(() => this.ctx.send(Reply.text(stringOf(this.text), { status, headers })));
      }
      case 'throw-now':
        return this.sent(() => this.ctx.send(new HttpException(stringOf(this.text), step[1])));
      case 'stream':
        return this.stream(step[1], step[3].map((number) => step[2][number] as string));
      case 'stream-text': {
        const { text } = this;
        this.text = '';
        return this.stream(step[1], [text]);
      }
      case 'finish': {
        const { writer } = this;
        this.writer = undefined;
        return writer && ignored(() => writer.finish());
      }
      case 'echo':
        return this.echo();
      case 'now':
        return this.sayInstant(Date.now());
      case 'monotonic':
        return this.sayInstant(performance.now());
      case 'random':
        return this.say(crypto.getRandomValues(new Uint32Array(1))[0]);
      case 'variables':
        return this.sayPairs(Object.entries(env) as Pairs);
      case 'log':
        return log.info(this.taken(), Object.fromEntries(step[1]));
      case 'panicked':
        this.panic = { message: this.taken(), exception: step[1] };
        return;
      default:
        throw new Error(`this program has no step \`${step[0]}\``);
    }
  }

  private sayPairs(pairs: Iterable<[string, string]>): void {
    for (const [name, value] of pairs) this.say(`${name}=${value}\n`);
  }

  /** A clock of milliseconds as seconds and nanoseconds. */
  private sayInstant(milliseconds: number): void {
    const seconds = Math.floor(milliseconds / 1000);
    this.say(`${seconds} ${Math.round((milliseconds - seconds * 1000) * 1e6)}`);
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}

function latin1(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

/** The program of a guest in another language does not look at the end of a write. */
async function ignored(run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!(error instanceof HttpException)) throw error;
  }
}

function written(writer: BodyWriter, chunk: Text): Promise<void> {
  return ignored(() => writer.write(chunk));
}

function overflow(depth: number): number {
  return overflow(depth + 1) + 1;
}
