import type { BodyWriter } from './body.js';
import { Context } from './context.js';
import { Delivery } from './delivery.js';
import { badPayload, failure, httpOf, HttpException, thrown, uncaught, UncaughtException } from './exceptions.js';
import { isGuardClass, isPass, type CanActivate, type Guard, type Interceptor } from './guards.js';
import { attempt, chain, host, isThenable, promiseOf, type Maybe, type RawContext, type RawDelivery, type RawFailure, type RawOutcome, type RawPayload } from './host.js';
import { log } from './log.js';
import { aroundOf } from './manifest.js';
import type { Instances, ListenerOf, Module } from './module.js';
import { liftPayload, lowerPayload } from './payload.js';
import { pieceBytes } from './platform/utf8.js';
import { isEngineFailure, isOutOfMemory, reportLine } from './report.js';
import { DEFERRED, isStreamed, iteratorOf, plainReply, rawHeaders, Reply, toOutcome, type Outcome, type Pieces } from './reply.js';
import { memoryEnded } from './validation.js';

/** How an event ended: with a value, or with a failure for its caller. */
export type Delivered = { ok: RawPayload } | { failed: RawFailure };

/** How the handler of a number runs. `run` is for handlers with something around them; others are called at once. */
interface Runner {
  instance: Record<string, unknown>;
  method: string;
  name: string;
  run: ((ctx: Context) => Maybe<Outcome>) | undefined;
}

/** A guard, and what runs it. */
interface GuardCheck {
  guard: Guard;
  name: string;
  run: (ctx: Context) => unknown;
}

/** The jobs of promises and timers, which a component runs itself. A job that throws ends the call, whatever it throws. */
export interface Jobs {
  /** Runs jobs until the promise is settled. The error of a promise that never settles names what runs then. */
  settled(promise: PromiseLike<unknown>, running: { readonly name: string }): { isRejected(): boolean; outcome(): unknown };
  /** Runs the jobs that are left; `false` if there are rejections that nothing handled. */
  run(): boolean;
  /** The reasons of these rejections. */
  takeUnhandled(): unknown[];
  /** Removes the jobs that are left. */
  drop(): void;
}

const RETURNED = 'what was returned by';

/** Runs the handlers and listeners of a module. */
export class Dispatcher {
  readonly #module: Module;
  readonly #instances: Instances;
  private readonly runners: (Runner | undefined)[] = [];
  private readonly listeners: Record<string, unknown>[] = [];

  private readonly jobs: Jobs | undefined;

  constructor(module: Module, instances: Instances, jobs?: Jobs) {
    this.#module = module;
    this.#instances = instances;
    this.jobs = jobs;
  }

  /** Answers a request. It throws an error of the engine alone, after which the instance must not go on. */
  handle(handler: number, raw: RawContext): Maybe<RawOutcome> {
    const ctx = new Context(raw);
    const { jobs } = this;
    if (!jobs) {
      return attempt(
        () => this._answer(handler, ctx),
        (outcome) => outcome,
        (error) => this._failed(uncaught(error), ctx),
      );
    }
    try {
      const outcome = this._answer(handler, ctx);
      const answer = 'tag' in outcome ? outcome : valueOf(outcome, jobs, ctx);
      if (!jobs.run()) logUnhandled(jobs, this._handlerName(handler), ctx);
      return answer;
    } catch (error) {
      jobs.drop();
      const cause = this._causeOf(error, ctx);
      return this._failed(cause === error ? uncaught(error) : cause, ctx) as RawOutcome;
    }
  }

  private _handlerName(number: number): string {
    const handler = this.#module.handlers[number];
    return `${handler?.controller.name}.${handler?.name}`;
  }

  private _answer(handler: number, ctx: Context): Maybe<RawOutcome> {
    let value: unknown;
    let runner: Runner;
    try {
      runner = (this.runners[handler] ??= this._runner(handler));
      ctx.name = runner.name;
      if (runner.run) return this._ran(runner, runner.run, ctx);
      value = (runner.instance as Record<string, (ctx: Context) => unknown>)[runner.method]?.(ctx);
      if (!isThenable(value)) return this._returned(value, runner, ctx);
    } catch (error) {
      return this._failed(error, ctx);
    }
    if (!this.jobs) return this._returnedLater(value, runner, ctx);
    // Without a promise and two functions behind that of the handler.
    const promise = this.jobs.settled(value, ctx);
    return promise.isRejected() ? this._failed(promise.outcome(), ctx) : this._returned(promise.outcome(), runner, ctx);
  }

  private _ran(runner: Runner, run: (ctx: Context) => Maybe<Outcome>, ctx: Context): Maybe<RawOutcome> {
    return attempt(
      () => run(ctx),
      (outcome) => this._finished(outcome, ctx, runner.name),
      (error) => this._failed(error, ctx),
    );
  }

  private _returned(value: unknown, runner: Runner, ctx: Context): Maybe<RawOutcome> {
    try {
      const plain = plainReply(value, RETURNED, runner.name);
      if (plain) {
        ctx.close();
        return plain;
      }
    } catch (error) {
      return this._failed(error, ctx);
    }
    return this._ran(runner, () => toOutcome(value, `${RETURNED} \`${runner.name}\``), ctx);
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
      ctx.name = runner.name;
      const value = (runner.instance as Record<string, (ctx: Context) => unknown>)[runner.method]?.(ctx);
      return chain(value, (value) => chain(toOutcome(value, `${RETURNED} \`${runner.name}\``), dressed));
    };
    const dressed = (outcome: Outcome): Outcome => {
      if (!(outcome instanceof Reply)) return outcome;
      if (method.status !== undefined && outcome.status === 200) outcome.status = method.status;
      for (const [name, value] of headers) outcome.header(name, value);
      return outcome;
    };
    const checks = guards.map((guard) => this._check(guard));
    const guarded = checks.length === 0 ? call : (ctx: Context): Maybe<Outcome> => checked(checks, 0, ctx, call);
    const made = interceptors.map((of) => this.#instances.get(of) as unknown as Interceptor);
    runner.run = made.length === 0 ? guarded : (ctx) => intercepted(made, 0, ctx, guarded);
    return runner;
  }

  private _check(guard: Guard): GuardCheck {
    if (!isGuardClass(guard)) return { guard, name: guard.name || 'a guard', run: guard };
    const instance = this.#instances.get(guard) as unknown as CanActivate;
    return { guard, name: `${guard.name}.canActivate`, run: (ctx) => instance.canActivate(ctx) };
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
      ctx.name = name;
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

  /** The outcome of an error. One that is no `HttpException` is reported, and one of the engine is thrown. */
  private _failed(cause: unknown, ctx: Context): Maybe<RawOutcome> {
    const error = httpOf(this._causeOf(cause, ctx));
    if (error instanceof UncaughtException) {
      report(error, ctx);
      // The client keeps the parts that were sent before. An unfinished body is broken off.
      if (ctx.hasReplied) return this._closed(ctx, { tag: 'deferred' });
    }
    const { errors } = this.#module.options;
    if (!errors || ctx.isClosed) return this._closed(ctx, { tag: 'thrown', val: thrown(error) });
    const shown = error.forClient();
    const fault = (fault: unknown): RawOutcome => {
      if (isEngineFailure(fault)) throw fault;
      log.error(`the function behind \`errors:\` failed: ${reportLine(fault)}`);
      return this._closed(ctx, { tag: 'thrown', val: thrown(shown) });
    };
    const made = (outcome: Outcome): RawOutcome => {
      if (!(outcome instanceof Reply) || outcome.problem() || isStreamed(outcome.body)) {
        return fault(outcome instanceof Reply ? (outcome.problem() ?? new TypeError('it returned a stream, expected a whole body')) : new TypeError('it returned no reply'));
      }
      for (const [name, value] of shown.headers) outcome.header(name, value);
      return this._closed(ctx, { tag: 'reply', val: { status: shown.getStatus(), headers: rawHeaders(outcome), body: outcome.body } });
    };
    return attempt(
      () => this._now(chain(errors(shown, ctx) as Maybe<unknown>, (value) => toOutcome(value, 'the body of an error')), { name: 'errors' }),
      made,
      fault,
    );
  }

  /** What ended a call: in place of the engine's error, if a schema of the call used up the memory, one that says so. */
  private _causeOf(error: unknown, ctx: Context | undefined): unknown {
    if (!ctx?.schemas || !isOutOfMemory(error)) return error;
    // The promises of the schema hold the memory that the reply needs.
    this.jobs?.drop();
    return memoryEnded(ctx);
  }

  /** Settles a promise at once where that is possible. */
  private _now<T>(value: Maybe<T>, running: { readonly name: string }): Maybe<T> {
    return this.jobs && isThenable(value) ? valueOf(value, this.jobs, running) : value;
  }

  /** Delivers an event. It throws an error of the engine alone, as {@link handle}. */
  deliver(number: number, raw: RawDelivery, payload: RawPayload): Maybe<Delivered> {
    const listener = this.#module.listeners[number];
    if (!listener) throw new RangeError(`the module has no listener ${number}`);
    const delivery = new Delivery(raw);
    const { jobs } = this;
    if (!jobs) {
      return attempt(
        () => this._deliver(listener, number, delivery, payload),
        (delivered) => delivered,
        (error) => this._refused(uncaught(error), delivery),
      );
    }
    const name = `${listener.channel.declared.name}.${listener.name}`;
    try {
      const delivered = this._now(this._deliver(listener, number, delivery, payload), { name }) as Delivered;
      if (!jobs.run()) logUnhandled(jobs, name);
      return delivered;
    } catch (error) {
      jobs.drop();
      const cause = this._causeOf(error, delivery.taken);
      return this._refused(cause === error ? uncaught(error) : cause, delivery);
    }
  }

  private _deliver(listener: ListenerOf, number: number, delivery: Delivery, payload: RawPayload): Maybe<Delivered> {
    try {
      const instance = (this.listeners[number] ??= this.#instances.get(listener.channel.of));
      const value = liftPayload(payload, badPayload);
      // The source's form of a hand-over, `ctx.emit('send', ctx)`: the context is the payload.
      const argument = value === null ? (delivery.context ?? null) : value;
      const result = (instance as Record<string, (payload: unknown, delivery: Delivery) => unknown>)[listener.name]?.(argument, delivery);
      if (!isThenable(result)) return answered(result, listener, delivery);
      return promiseOf(result).then((result) => answered(result, listener, delivery)).then(undefined, (error: unknown) => this._refused(error, delivery));
    } catch (error) {
      return this._refused(error, delivery);
    }
  }

  private _refused(cause: unknown, delivery: Delivery): Delivered {
    const error = httpOf(this._causeOf(cause, delivery.taken));
    if (error instanceof UncaughtException) report(error, delivery);
    delivery.close();
    return { failed: failure(error) };
  }
}

function answered(value: unknown, { channel, name }: ListenerOf, delivery: Delivery): Delivered {
  if (value instanceof HttpException) throw value;
  const isNothing = value instanceof Context || value === DEFERRED;
  const ok = lowerPayload(isNothing ? null : value, RETURNED, `${channel.declared.name}.${name}`);
  delivery.close();
  return { ok };
}

/** The value of a promise whose jobs run here and now. */
function valueOf<T>(value: PromiseLike<T>, jobs: Jobs, running: { readonly name: string }): T {
  const promise = jobs.settled(value, running);
  if (promise.isRejected()) throw promise.outcome();
  return promise.outcome() as T;
}

function logUnhandled(jobs: Jobs, name: string, ctx?: Context): void {
  for (const reason of jobs.takeUnhandled()) {
    // An asynchronous schema leaves promises behind that failed with it.
    if (ctx?.schemas && isOutOfMemory(reason)) continue;
    if (isEngineFailure(reason)) throw reason;
    host.log('error', 'pointwork::guest', `nothing handled the rejection of a promise in \`${name}\`: ${reportLine(reason)}`, []);
  }
}

/** The contexts and deliveries of calls that reported an exception: the host takes one report of a call. */
const reported = new WeakSet<Context | Delivery>();

/** Reports an exception to the host; a second one of the same call is a line of the log. */
function report({ cause }: UncaughtException, of: Context | Delivery): void {
  if (reported.has(of)) return log.error(`another exception after the one that ended the call: ${reportLine(cause)}`);
  reported.add(of);
  host.raised(cause);
}

/** Runs the guards, each after the value of the one before, and then the handler. */
function checked(checks: readonly GuardCheck[], at: number, ctx: Context, next: (ctx: Context) => Maybe<Outcome>): Maybe<Outcome> {
  const check = checks[at];
  if (!check) return next(ctx);
  const { guard, name, run } = check;
  if (ctx.hasPassed(guard)) return checked(checks, at + 1, ctx, next);
  ctx.name = name;
  return chain(run(ctx) as unknown, (value) => {
    if (!isPass(value, guard.name)) throw new HttpException('Forbidden resource', 403);
    ctx.pass(guard, value);
    return checked(checks, at + 1, ctx, next);
  });
}

function intercepted(all: readonly Interceptor[], at: number, ctx: Context, inner: (ctx: Context) => Maybe<Outcome>): Maybe<Outcome> {
  const interceptor = all[at];
  if (!interceptor) return inner(ctx);
  const name = `${interceptor.constructor.name}.intercept`;
  const next = async (): Promise<Reply | undefined> => {
    let outcome: Outcome;
    try {
      outcome = await intercepted(all, at + 1, ctx, inner);
    } catch (error) {
      throw httpOf(error);
    } finally {
      ctx.name = name;
    }
    if (outcome instanceof HttpException) throw outcome;
    if (outcome === DEFERRED) return undefined;
    // A wrong header is an error as any other.
    const wrong = outcome.problem();
    if (wrong) throw wrong;
    return outcome;
  };
  ctx.name = name;
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
  /** Reports an error that can no longer be the reply. */
  const broken = (cause: unknown): void => {
    const error = httpOf(cause);
    if (error instanceof UncaughtException) report(error, ctx);
    else if (error.code !== 'gone') log.error(`the reply of \`${name}\` is broken off: ${reportLine(error)}`);
  };
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
    if (writer) broken(error);
    try {
      // A generator cleans up in its `finally`.
      if (!isOver) await iterator.return?.();
    } catch (error) {
      if (!writer) throw error;
      broken(error);
    }
    if (!writer) throw error;
  }
}
