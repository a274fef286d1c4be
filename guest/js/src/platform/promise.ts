/**
 * Promises whose jobs the SDK runs.
 *
 * The synchronous runtime of componentize-qjs has no function that runs the jobs of QuickJS, so its own promises never settle
 * after the build. The bundler lowers `async` functions to generators over the global `Promise`, which is this class in a component.
 */

/** A function, or what is to be done with the outcome of a promise. */
type Job = (() => void) | Reaction;

/** The queue of jobs, in order. `head` moves instead of the jobs. */
const jobs: (Job | undefined)[] = [];
let head = 0;

/** Jobs of `setTimeout(f, 0)`: each runs when no other job is left. */
const later: { id: number; job: () => void }[] = [];
let lastTimer = 0;

export function queueMicrotask(job: () => void): void {
  jobs.push(job);
}

export function queueLater(job: () => void): number {
  lastTimer += 1;
  later.push({ id: lastTimer, job });
  return lastTimer;
}

export function cancelLater(id: number): void {
  const at = later.findIndex((timer) => timer.id === id);
  if (at >= 0) later.splice(at, 1);
}

/** Runs the next job, or the next timer if there is none; `false` if nothing is left. */
function runJob(): boolean {
  if (head < jobs.length) {
    const job = jobs[head] as Job;
    jobs[head] = undefined;
    head += 1;
    if (head === jobs.length) jobs.length = head = 0;
    if (typeof job === 'function') job();
    else react(job);
    return true;
  }
  if (later.length === 0) return false;
  later.shift()?.job();
  return true;
}

/** Runs all jobs, and those that they queue; `false` if rejections are left that nothing handled. */
export function runJobs(): boolean {
  while (head < jobs.length || later.length > 0) runJob();
  return unhandled.size === 0;
}

/** Settles a promise here and now: runs the jobs until it is settled, and those that come before what would wait for it. */
export function settled(value: PromiseLike<unknown>, running: { readonly name: string }): JobPromise<unknown> {
  const promise = JobPromise.resolve(value);
  while (promise._state === PENDING && runJob());
  if (promise._state === REJECTED) unhandled.delete(promise);
  for (let before = jobs.length - head; before > 0; before -= 1) runJob();
  if (promise._state !== PENDING) return promise;
  throw new Error(`the promise of \`${running.name}\` never settles: nothing is left to run that could settle it`);
}

/** Drops the jobs of a call that crashed. */
export function dropJobs(): void {
  jobs.length = 0;
  head = 0;
  later.length = 0;
  unhandled.clear();
}

const PENDING = 0;
const FULFILLED = 1;
const REJECTED = 2;
type State = typeof PENDING | typeof FULFILLED | typeof REJECTED;

/**
 * The work for the outcome of the promise `of`: functions of `then` make the outcome of `next`. `of` is set when the reaction is queued: a pending
 * promise and its reaction would be a circle, which QuickJS frees only when it collects circles.
 */
interface Then {
  of: JobPromise<unknown> | undefined;
  next: JobPromise<unknown> | undefined;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  onFulfilled?: ((value: any) => unknown) | undefined;
  onRejected?: ((reason: unknown) => unknown) | undefined;
  generator?: undefined;
}

/** An `async` function that goes on with the outcome of `of`, and makes that of `next`. It has one for all that it awaits. */
interface Await {
  of: JobPromise<unknown> | undefined;
  readonly next: JobPromise<unknown>;
  readonly generator: Generator<unknown, unknown>;
}

// Each field beyond two costs an allocation in QuickJS.
type Reaction = Then | Await;

type Executor<T> = (resolve: (value: T | PromiseLike<T>) => void, reject: (reason?: unknown) => void) => void;

/** Rejections that nothing has handled yet. */
const unhandled = new Set<JobPromise<unknown>>();

/** The reasons of the rejections that nothing handled in the call that ends. */
export function takeUnhandled(): unknown[] {
  const reasons = [...unhandled].map((promise) => promise._value);
  unhandled.clear();
  return reasons;
}

/** The executor of a promise that the SDK settles by itself, without two functions for it. */
const SETTLED_HERE = (): void => undefined;

export class JobPromise<T> {
  // Plain properties, which QuickJS makes and reads several times as fast as private ones.
  /** @internal */
  declare _state: State;
  /** @internal The outcome; of a pending promise its reaction, or an array of several. */
  declare _value: unknown;

  constructor(executor: Executor<T>) {
    this._state = PENDING;
    this._value = undefined;
    if (executor === SETTLED_HERE) return;
    if (typeof executor !== 'function') throw new TypeError('the argument of `Promise` is no function');
    let isDecided = false;
    const reject = (reason: unknown): void => {
      if (isDecided) return;
      isDecided = true;
      this.settle(REJECTED, reason);
    };
    try {
      executor((value) => {
        if (isDecided) return;
        isDecided = true;
        this.resolveWith(value);
      }, reject);
    } catch (error) {
      reject(error);
    }
  }

  get [Symbol.toStringTag](): string {
    return 'Promise';
  }

  static get [Symbol.species](): unknown {
    return this;
  }

  /** As the engine's own, which has no fields: what it will be is not written before it is awaited. */
  toJSON(): object {
    return {};
  }

  /** @internal */
  isRejected(): boolean {
    return this._state === REJECTED;
  }

  /** @internal The value, or the reason of the rejection. */
  outcome(): unknown {
    return this._value;
  }

  /** @internal */
  resolveWith(value: unknown): void {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return this.settle(FULFILLED, value);
    if (value === this) return this.settle(REJECTED, new TypeError('a promise cannot be resolved with itself'));
    if ((value as { constructor?: unknown }).constructor === JobPromise) {
      // Its outcome is this one's, without a job for its `then`.
      return (value as JobPromise<unknown>).addReaction({ of: undefined, next: this });
    }
    let then: unknown;
    try {
      then = (value as { then?: unknown }).then;
    } catch (error) {
      return this.settle(REJECTED, error);
    }
    if (typeof then !== 'function') return this.settle(FULFILLED, value);
    jobs.push(() => new JobPromise((resolve, reject) => (then as Function).call(value, resolve, reject)).addNext(this));
  }

  /** @internal */
  addNext(next: JobPromise<unknown>): void {
    this.addReaction({ of: undefined, next });
  }

  /** @internal */
  settle(state: State, value: unknown): void {
    const reactions = this._value as Reaction | Reaction[] | undefined;
    this._state = state;
    this._value = value;
    if (!reactions) {
      if (state === REJECTED) unhandled.add(this);
    } else if (Array.isArray(reactions)) {
      for (const reaction of reactions) this.queue(reaction);
    } else {
      this.queue(reactions);
    }
  }

  /** @internal */
  addReaction(reaction: Reaction): void {
    if (this._state === PENDING) {
      const before = this._value as Reaction | Reaction[] | undefined;
      if (!before) this._value = reaction;
      else if (Array.isArray(before)) before.push(reaction);
      else this._value = [before, reaction];
      return;
    }
    if (this._state === REJECTED) unhandled.delete(this);
    this.queue(reaction);
  }

  private queue(reaction: Reaction): void {
    reaction.of = this;
    jobs.push(reaction);
  }

  then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): JobPromise<A | B> {
    const reaction: Then = {
      of: undefined,
      next: undefined,
      onFulfilled: typeof onFulfilled === 'function' ? onFulfilled : undefined,
      onRejected: typeof onRejected === 'function' ? onRejected : undefined,
    };
    const of = this.constructor as unknown as typeof JobPromise;
    if (of === JobPromise) {
      const next = new JobPromise<A | B>(SETTLED_HERE);
      reaction.next = next;
      this.addReaction(reaction);
      return next;
    }
    const species = (of as unknown as { [Symbol.species]?: typeof JobPromise })[Symbol.species] ?? JobPromise;
    return new species<A | B>((resolve, reject) => {
      const next = new JobPromise<A | B>(SETTLED_HERE);
      reaction.next = next;
      this.addReaction(reaction);
      next.then(resolve, reject);
    });
  }

  catch<B = never>(onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null): JobPromise<T | B> {
    return this.then(undefined, onRejected);
  }

  finally(onFinally?: (() => void) | null): JobPromise<T> {
    if (typeof onFinally !== 'function') return this.then();
    return this.then(
      (value) => JobPromise.resolve(onFinally()).then(() => value),
      (reason) =>
        JobPromise.resolve(onFinally()).then(() => {
          throw reason;
        }),
    );
  }

  static resolve<T>(value?: T | PromiseLike<T>): JobPromise<T> {
    if (typeof value === 'object' && value instanceof JobPromise && value.constructor === this) return value as JobPromise<T>;
    if (this !== JobPromise) return new this<T>((resolve) => resolve(value as T));
    const promise = new JobPromise<T>(SETTLED_HERE);
    promise.resolveWith(value);
    return promise;
  }

  static reject<T = never>(reason?: unknown): JobPromise<T> {
    return new this<T>((_, reject) => reject(reason));
  }

  static withResolvers<T>(): { promise: JobPromise<T>; resolve: (value: T | PromiseLike<T>) => void; reject: (reason?: unknown) => void } {
    let resolve!: (value: T | PromiseLike<T>) => void;
    let reject!: (reason?: unknown) => void;
    const promise = new this<T>((first, second) => ([resolve, reject] = [first, second]));
    return { promise, resolve, reject };
  }

  static try<T>(make: (...args: unknown[]) => T | PromiseLike<T>, ...args: unknown[]): JobPromise<T> {
    return new this<T>((resolve) => resolve(make(...args)));
  }

  static all(values: Iterable<unknown>): JobPromise<unknown[]> {
    return collect(values, (promise, at, results, done, reject) => {
      promise.then((value) => done((results[at] = value)), reject);
    });
  }

  static allSettled(values: Iterable<unknown>): JobPromise<unknown[]> {
    return collect(values, (promise, at, results, done) => {
      promise.then(
        (value) => done((results[at] = { status: 'fulfilled', value })),
        (reason) => done((results[at] = { status: 'rejected', reason })),
      );
    });
  }

  static any(values: Iterable<unknown>): JobPromise<unknown> {
    return new JobPromise((resolve, reject) => {
      const all = collect(values, (promise, at, results, done) => {
        promise.then(resolve, (reason: unknown) => done((results[at] = reason)));
      });
      all.then((reasons) => reject(new AggregateError(reasons, 'all promises were rejected')), reject);
    });
  }

  static race(values: Iterable<unknown>): JobPromise<unknown> {
    return new JobPromise((resolve, reject) => {
      for (const value of values) JobPromise.resolve(value).then(resolve, reject);
    });
  }
}

/** Does what a reaction says, with the outcome of its promise. */
function react(reaction: Reaction): void {
  const { next } = reaction;
  const of = reaction.of as JobPromise<unknown>;
  const isFulfilled = of._state === FULFILLED;
  const value = of._value;
  if (reaction.generator) return goOn(reaction.next, reaction.generator, isFulfilled, value, reaction);
  const handler = isFulfilled ? reaction.onFulfilled : reaction.onRejected;
  if (!handler) return next?.settle(isFulfilled ? FULFILLED : REJECTED, value);
  let result: unknown;
  try {
    result = handler(value);
  } catch (error) {
    return next?.settle(REJECTED, error);
  }
  next?.resolveWith(result);
}

/** Runs an `async` function to its next `await`. */
function goOn(promise: JobPromise<unknown>, generator: Generator<unknown, unknown>, isFulfilled: boolean, value: unknown, reaction: Await | undefined): void {
  let step: IteratorResult<unknown, unknown>;
  try {
    step = isFulfilled ? generator.next(value) : generator.throw(value);
  } catch (error) {
    return promise.settle(REJECTED, error);
  }
  if (step.done) return promise.resolveWith(step.value);
  if (reaction) reaction.of = undefined;
  JobPromise.resolve(step.value).addReaction(reaction ?? { of: undefined, next: promise, generator });
}

/** What an `async` function becomes, in place of the helper of the bundler: `make` is its body as a generator. */
function runAsync(self: unknown, args: Iterable<unknown> | null, make: (...args: unknown[]) => Generator<unknown, unknown>): JobPromise<unknown> {
  const promise = new JobPromise<unknown>(SETTLED_HERE);
  let generator: Generator<unknown, unknown>;
  try {
    // Defaults of parameters run here.
    generator = args ? make.apply(self, args as unknown[]) : make.call(self);
  } catch (error) {
    promise.settle(REJECTED, error);
    return promise;
  }
  goOn(promise, generator, true, undefined, undefined);
  return promise;
}

type Collect = (promise: JobPromise<unknown>, at: number, results: unknown[], done: (result: unknown) => void, reject: (reason: unknown) => void) => void;

function collect(values: Iterable<unknown>, each: Collect): JobPromise<unknown[]> {
  return new JobPromise((resolve, reject) => {
    const results: unknown[] = [];
    let waiting = 1;
    const done = (): void => {
      waiting -= 1;
      if (waiting === 0) resolve(results);
    };
    let at = 0;
    for (const value of values) {
      waiting += 1;
      results.push(undefined);
      each(JobPromise.resolve(value), at, results, done, reject);
      at += 1;
    }
    done();
  });
}

async function fromAsync(items: AsyncIterable<unknown> | Iterable<unknown> | ArrayLike<unknown>, map?: (item: unknown, at: number) => unknown): Promise<unknown[]> {
  const found: unknown[] = [];
  const source = Symbol.asyncIterator in items || Symbol.iterator in items ? items : Array.from(items);
  for await (const item of source) found.push(map ? await map(item, found.length) : item);
  return found;
}

/** Replaces the promises of the engine, before any other code is evaluated. */
export function installPromise(): void {
  Object.defineProperty(JobPromise, 'name', { value: 'Promise' });
  Object.assign(globalThis, { Promise: JobPromise, queueMicrotask, __pointworkAsync: runAsync });
  // The engine's own would return a promise that never settles.
  (Array as { fromAsync?: unknown }).fromAsync = fromAsync;
}
