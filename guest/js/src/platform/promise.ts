/**
 * Promises whose jobs the SDK runs.
 *
 * The synchronous runtime of componentize-qjs has no function that runs the jobs of QuickJS, so its own promises never settle
 * after the build. The bundler lowers `async` functions to generators over the global `Promise`, which is this class in a component.
 */

type Job = () => void;

/** A queue of jobs, in order. `head` moves instead of the jobs. */
const jobs: (Job | undefined)[] = [];
let head = 0;

/** Jobs of `setTimeout(f, 0)`: each runs when no other job is left. */
const later: { id: number; job: Job }[] = [];
let lastTimer = 0;

export function queueMicrotask(job: Job): void {
  jobs.push(job);
}

export function queueLater(job: Job): number {
  lastTimer += 1;
  later.push({ id: lastTimer, job });
  return lastTimer;
}

export function cancelLater(id: number): void {
  const at = later.findIndex((timer) => timer.id === id);
  if (at >= 0) later.splice(at, 1);
}

/** Runs all jobs, and those that they queue. */
export function runJobs(): void {
  for (;;) {
    while (head < jobs.length) {
      const job = jobs[head] as Job;
      jobs[head] = undefined;
      head += 1;
      job();
    }
    jobs.length = 0;
    head = 0;
    const timer = later.shift();
    if (!timer) return;
    timer.job();
  }
}

/** Drops the jobs of a call that crashed. */
export function dropJobs(): void {
  jobs.length = 0;
  head = 0;
  later.length = 0;
}

const PENDING = 0;
const FULFILLED = 1;
const REJECTED = 2;
type State = typeof PENDING | typeof FULFILLED | typeof REJECTED;

interface Reaction {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  onFulfilled: ((value: any) => unknown) | undefined;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  onRejected: ((reason: any) => unknown) | undefined;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  resolve: (value: any) => void;
  reject: (reason: unknown) => void;
}

type Executor<T> = (resolve: (value: T | PromiseLike<T>) => void, reject: (reason?: unknown) => void) => void;

/** Rejections that nothing has handled yet. */
const unhandled = new Set<JobPromise<unknown>>();

/** The reasons of the rejections that nothing handled in the call that ends. */
export function takeUnhandled(): unknown[] {
  if (unhandled.size === 0) return [];
  const reasons = [...unhandled].map((promise) => promise.outcome());
  unhandled.clear();
  return reasons;
}

export class JobPromise<T> {
  #state: State = PENDING;
  #value: unknown = undefined;
  #reactions: Reaction[] | undefined;

  constructor(executor: Executor<T>) {
    if (typeof executor !== 'function') throw new TypeError('the argument of `Promise` is no function');
    let isDecided = false;
    try {
      executor(
        (value) => {
          if (isDecided) return;
          isDecided = true;
          this.#resolve(value);
        },
        (reason) => {
          if (isDecided) return;
          isDecided = true;
          this.#settle(REJECTED, reason);
        },
      );
    } catch (error) {
      if (!isDecided) {
        isDecided = true;
        this.#settle(REJECTED, error);
      }
    }
  }

  get [Symbol.toStringTag](): string {
    return 'Promise';
  }

  static get [Symbol.species](): unknown {
    return this;
  }

  isPending(): boolean {
    return this.#state === PENDING;
  }

  isRejected(): boolean {
    return this.#state === REJECTED;
  }

  /** The value, or the reason of the rejection. */
  outcome(): unknown {
    return this.#value;
  }

  #resolve(value: unknown): void {
    if (value === this) return this.#settle(REJECTED, new TypeError('a promise cannot be resolved with itself'));
    if (typeof value !== 'object' && typeof value !== 'function') return this.#settle(FULFILLED, value);
    if (value === null) return this.#settle(FULFILLED, value);
    if (#state in value && value.constructor === JobPromise) return this.#follow(value as JobPromise<unknown>);
    let then: unknown;
    try {
      then = (value as { then?: unknown }).then;
    } catch (error) {
      return this.#settle(REJECTED, error);
    }
    if (typeof then !== 'function') return this.#settle(FULFILLED, value);
    queueMicrotask(() => {
      let isDecided = false;
      const once = (settle: (value: unknown) => void) => (value: unknown) => {
        if (isDecided) return;
        isDecided = true;
        settle(value);
      };
      try {
        (then as Function).call(
          value,
          once((value) => this.#resolve(value)),
          once((reason) => this.#settle(REJECTED, reason)),
        );
      } catch (error) {
        once((reason) => this.#settle(REJECTED, reason))(error);
      }
    });
  }

  /** Takes the outcome of another promise, without a job for its `then`. */
  #follow(other: JobPromise<unknown>): void {
    other.#react({
      onFulfilled: undefined,
      onRejected: undefined,
      resolve: (value) => this.#settle(FULFILLED, value),
      reject: (reason) => this.#settle(REJECTED, reason),
    });
  }

  #settle(state: State, value: unknown): void {
    this.#state = state;
    this.#value = value;
    const reactions = this.#reactions;
    this.#reactions = undefined;
    if (reactions) for (const reaction of reactions) this.#queue(reaction);
    else if (state === REJECTED) unhandled.add(this);
  }

  #react(reaction: Reaction): void {
    if (this.#state === PENDING) (this.#reactions ??= []).push(reaction);
    else {
      if (this.#state === REJECTED) unhandled.delete(this);
      this.#queue(reaction);
    }
  }

  #queue({ onFulfilled, onRejected, resolve, reject }: Reaction): void {
    const isFulfilled = this.#state === FULFILLED;
    const handler = isFulfilled ? onFulfilled : onRejected;
    const value = this.#value;
    jobs.push(() => {
      if (!handler) return isFulfilled ? resolve(value) : reject(value);
      let result: unknown;
      try {
        result = handler(value);
      } catch (error) {
        return reject(error);
      }
      resolve(result);
    });
  }

  then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): JobPromise<A | B> {
    const of = (this.constructor as unknown as { [Symbol.species]?: typeof JobPromise })?.[Symbol.species] ?? JobPromise;
    return new of<A | B>((resolve, reject) => {
      this.#react({
        onFulfilled: typeof onFulfilled === 'function' ? onFulfilled : undefined,
        onRejected: typeof onRejected === 'function' ? onRejected : undefined,
        resolve,
        reject,
      });
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
    if (value instanceof JobPromise && value.constructor === this) return value as JobPromise<T>;
    return new this<T>((resolve) => resolve(value as T));
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
  Object.assign(globalThis, { Promise: JobPromise, queueMicrotask });
  // The engine's own would return a promise that never settles.
  (Array as { fromAsync?: unknown }).fromAsync = fromAsync;
}
