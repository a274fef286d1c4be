import type { BodyWriter } from './body.js';
import { Context } from './context.js';
import { crashLine } from './crash.js';
import { Delivery } from './delivery.js';
import { badPayload, failure, HttpException, thrown } from './exceptions.js';
import { isGuardClass, type Guard, type Interceptor } from './guards.js';
import { attempt, chain, isThenable, promiseOf, type Maybe, type RawContext, type RawDelivery, type RawFailure, type RawOutcome, type RawPayload } from './host.js';
import { log } from './log.js';
import { aroundOf } from './manifest.js';
import type { Instances, ListenerOf, Module } from './module.js';
import { liftPayload, lowerPayload } from './payload.js';
import { pieceBytes } from './platform/utf8.js';
import { DEFERRED, isStreamed, iteratorOf, plainReply, rawHeaders, Reply, toOutcome, type Outcome, type Pieces } from './reply.js';

/** How an event ended: with a value, or with a failure for its caller. */
export type Delivered = { ok: RawPayload } | { failed: RawFailure };

/** How the handler of a number runs. `run` is for handlers with something around them; others are called at once. */
interface Runner {
  instance: Record<string, unknown>;
  method: string;
  name: string;
  run: ((ctx: Context) => Maybe<Outcome>) | undefined;
}

/** Settles a promise here and now, as a component can. A job that throws meanwhile is a crash, whatever it throws. */
type Settle = (promise: PromiseLike<unknown>, name: string) => { isRejected(): boolean; outcome(): unknown };

const RETURNED = 'what was returned by';

/** Runs the handlers and listeners of a module. */
export class Dispatcher {
  readonly #module: Module;
  readonly #instances: Instances;
  private readonly runners: (Runner | undefined)[] = [];
  private readonly listeners: Record<string, unknown>[] = [];

  private readonly settled: Settle | undefined;

  constructor(module: Module, instances: Instances, settled?: Settle) {
    this.#module = module;
    this.#instances = instances;
    this.settled = settled;
  }

  /** Answers a request. An error in the result is a crash. */
  handle(handler: number, raw: RawContext): Maybe<RawOutcome> {
    const ctx = new Context(raw);
    let value: unknown;
    let runner: Runner;
    try {
      runner = (this.runners[handler] ??= this._runner(handler));
      if (runner.run) return this._ran(runner, runner.run, ctx);
      value = (runner.instance as Record<string, (ctx: Context) => unknown>)[runner.method]?.(ctx);
      if (!isThenable(value)) return this._returned(value, runner, ctx);
    } catch (error) {
      return this._failed(error, ctx);
    }
    if (!this.settled) return this._returnedLater(value, runner, ctx);
    // Without a promise and two functions behind that of the handler.
    const promise = this.settled(value, runner.name);
    return promise.isRejected() ? this._failed(promise.outcome(), ctx) : this._returned(promise.outcome(), runner, ctx);
  }

  private _ran(runner: Runner, run: (ctx: Context) => Maybe<Outcome>, ctx: Context): Maybe<RawOutcome> {
    return chain(this._caught(() => run(ctx)), (outcome) => this._finished(outcome, ctx, runner.name));
  }

  /** An error of a handler with guards or interceptors is an outcome as well; a crash stays one. */
  private _caught(make: () => Maybe<Outcome>): Maybe<Outcome> {
    return attempt(
      make,
      (outcome) => outcome,
      (error) => {
        if (error instanceof HttpException) return error;
        throw error;
      },
    );
  }

  private _returned(value: unknown, runner: Runner, ctx: Context): Maybe<RawOutcome> {
    try {
      const plain = plainReply(value, RETURNED, runner.name);
      if (plain) {
        ctx.close();
        return plain;
      }
      const outcome = toOutcome(value, `${RETURNED} \`${runner.name}\``);
      return chain(outcome, (outcome) => this._finished(outcome, ctx, runner.name));
    } catch (error) {
      return this._failed(error, ctx);
    }
  }

  private _returnedLater(value: PromiseLike<unknown>, runner: Runner, ctx: Context): Maybe<RawOutcome> {
    return promiseOf(value).then(
      (value) => this._returned(value, runner, ctx),
      (error: unknown) => this._failed(error, ctx),
    );
  }

  private _runner(number: number): Runner {
    const handler = this.#module.handlers[number];
    if (!handler) throw new RangeError(`the module has no handler ${number}`);
    const { controller, method } = handler;
    const runner: Runner = { instance: this.#instances.get(controller.of), method: handler.name, name: `${controller.name}.${handler.name}`, run: undefined };
    const headers = [...controller.declared.headers, ...method.headers];
    const { guards, interceptors } = aroundOf(this.#module, number);
    if (headers.length + guards.length + interceptors.length === 0 && method.status === undefined) return runner;

    const call = (ctx: Context): Maybe<Outcome> => {
      const value = (runner.instance as Record<string, (ctx: Context) => unknown>)[runner.method]?.(ctx);
      return chain(value, (value) => chain(toOutcome(value, `${RETURNED} \`${runner.name}\``), dressed));
    };
    const dressed = (outcome: Outcome): Outcome => {
      if (!(outcome instanceof Reply)) return outcome;
      if (method.status !== undefined && outcome.status === 200) outcome.status = method.status;
      for (const [name, value] of headers) outcome.header(name, value);
      return outcome;
    };
    const guarded = guards.length === 0 ? call : (ctx: Context): Maybe<Outcome> => this._guarded(guards, ctx, call);
    const made = interceptors.map((of) => this.#instances.get(of) as unknown as Interceptor);
    runner.run = made.length === 0 ? guarded : (ctx) => intercepted(made, 0, ctx, guarded);
    return runner;
  }

  private _guarded(guards: readonly Guard[], ctx: Context, next: (ctx: Context) => Maybe<Outcome>): Maybe<Outcome> {
    const run = (at: number): Maybe<Outcome> => {
      const guard = guards[at];
      if (!guard) return next(ctx);
      if (ctx.hasPassed(guard)) return run(at + 1);
      const value = isGuardClass(guard)
        ? (this.#instances.get(guard) as unknown as { canActivate(ctx: Context): unknown }).canActivate(ctx)
        : guard(ctx);
      return chain(value, (value) => {
        // A guard that replied by itself returns the context, or a reply: only an error and a refusal end the request.
        if (!value) throw new HttpException('Forbidden resource', 403);
        ctx.pass(guard, value);
        return run(at + 1);
      });
    };
    return run(0);
  }

  /** The outcome for the host. Pieces of a streamed body are written before. */
  private _finished(outcome: Outcome, ctx: Context, name: string): Maybe<RawOutcome> {
    if (outcome === DEFERRED) {
      const forgotten = ctx.forgotten();
      if (forgotten !== undefined) log.error(`\`${name}\` ${forgotten}`);
      ctx.close();
      return { tag: 'deferred' };
    }
    if (outcome instanceof HttpException) return this._failed(outcome, ctx);
    const wrong = outcome.problem();
    if (wrong) return this._failed(wrong, ctx);
    const { body } = outcome;
    if (isStreamed(body)) {
      return attempt(
        () => writePieces(ctx, outcome, body, name),
        (): RawOutcome => this._closed(ctx, { tag: 'deferred' }),
        (error) => this._failed(error, ctx),
      );
    }
    return this._closed(ctx, { tag: 'reply', val: { status: outcome.status, headers: rawHeaders(outcome), body } });
  }

  private _closed(ctx: Context, outcome: RawOutcome): RawOutcome {
    ctx.close();
    return outcome;
  }

  private _failed(error: unknown, ctx: Context): Maybe<RawOutcome> {
    if (!(error instanceof HttpException)) {
      ctx.close();
      throw error;
    }
    const plain = (): RawOutcome => this._closed(ctx, { tag: 'thrown', val: thrown(error) });
    const { errors } = this.#module.options;
    if (!errors) return plain();
    const shown = error.forClient();
    const fault = (fault: unknown): RawOutcome => {
      log.error(`the function behind \`errors:\` failed: ${String(fault)}`);
      return this._closed(ctx, { tag: 'thrown', val: thrown(shown) });
    };
    const made = (outcome: Outcome): RawOutcome => {
      if (!(outcome instanceof Reply) || outcome.problem() || isStreamed(outcome.body)) {
        return fault(outcome instanceof Reply ? (outcome.problem() ?? 'it is streamed') : 'it is no reply');
      }
      for (const [name, value] of shown.headers) outcome.header(name, value);
      return this._closed(ctx, { tag: 'reply', val: { status: shown.getStatus(), headers: rawHeaders(outcome), body: outcome.body } });
    };
    return attempt(
      () => chain(errors(shown, ctx) as Maybe<unknown>, (value) => toOutcome(value, 'the body of an error')),
      made,
      fault,
    );
  }

  /** Delivers an event. An `HttpException` in the result is the failure for the caller; another error is a crash. */
  deliver(number: number, raw: RawDelivery, payload: RawPayload): Maybe<Delivered> {
    const listener = this.#module.listeners[number];
    if (!listener) throw new RangeError(`the module has no listener ${number}`);
    const delivery = new Delivery(raw);
    try {
      const instance = (this.listeners[number] ??= this.#instances.get(listener.channel.of));
      const value = liftPayload(payload, badPayload);
      // The source's form of a hand-over, `ctx.emit('send', ctx)`: the context is the payload.
      const argument = value === null ? (delivery.context ?? null) : value;
      const result = (instance as Record<string, (payload: unknown, delivery: Delivery) => unknown>)[listener.name]?.(argument, delivery);
      if (!isThenable(result)) return answered(result, listener, delivery);
      return promiseOf(result).then((result) => answered(result, listener, delivery)).then(undefined, (error: unknown) => refused(error, delivery));
    } catch (error) {
      return refused(error, delivery);
    }
  }
}

function answered(value: unknown, { channel, name }: ListenerOf, delivery: Delivery): Delivered {
  if (value instanceof HttpException) throw value;
  const isNothing = value instanceof Context || value === DEFERRED;
  const ok = lowerPayload(isNothing ? null : value, RETURNED, `${channel.declared.name}.${name}`);
  delivery.close();
  return { ok };
}

function refused(error: unknown, delivery: Delivery): Delivered {
  delivery.close();
  if (error instanceof HttpException) return { failed: failure(error) };
  throw error;
}

function intercepted(all: readonly Interceptor[], at: number, ctx: Context, inner: (ctx: Context) => Maybe<Outcome>): Maybe<Outcome> {
  const interceptor = all[at];
  if (!interceptor) return inner(ctx);
  const next = async (): Promise<Reply | undefined> => {
    const outcome = await intercepted(all, at + 1, ctx, inner);
    if (outcome instanceof HttpException) throw outcome;
    if (outcome === DEFERRED) return undefined;
    // A wrong header is an error as any other.
    const wrong = outcome.problem();
    if (wrong) throw wrong;
    return outcome;
  };
  return chain(interceptor.intercept(ctx, next) as Maybe<unknown>, (value) => toOutcome(value, 'what an interceptor returned'));
}

/**
 * Writes the pieces after the handler has returned. An error before the first piece is thrown, since nothing is sent yet; a later one
 * breaks the reply off. When the client leaves, the rest is dropped.
 */
async function writePieces(ctx: Context, reply: Reply, pieces: Pieces, name: string): Promise<void> {
  const iterator = iteratorOf(pieces);
  const next = (): Maybe<Uint8Array | undefined> =>
    chain(iterator.next(), ({ done, value }) => (done ? undefined : pieceBytes(value)));
  let writer: BodyWriter | undefined;
  let isOver = false;
  try {
    let piece = await next();
    writer = ctx.openReply({ status: reply.status, headers: reply.headers });
    while (piece) {
      await writer.write(piece);
      piece = await next();
    }
    isOver = true;
    await writer.finish();
  } catch (error) {
    writer?.close();
    const hasLeft = error instanceof HttpException && error.code === 'gone';
    if (writer && !hasLeft) log.error(`the reply of \`${name}\` is broken off: ${crashLine(error)}`);
    // A generator cleans up in its `finally`.
    if (!isOver) await iterator.return?.();
    if (!writer) throw error;
  }
}
