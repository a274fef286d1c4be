/**
 * Async generators of a component. The bundler lowers them to generators that yield what they await in a mark; its own helper loses
 * what follows an `await` in a `finally` that `return` entered.
 */
import { JobPromise } from './promise.js';

type Kind = 'next' | 'throw' | 'return';

/** What the bundler makes of `await`: the value, and in `yield*` the way in which the generator goes on. */
type Mark = { 0: unknown; 1: Kind | undefined };
type MarkClass = new (value: unknown, kind?: Kind) => Mark;

type Result = IteratorResult<unknown, unknown>;
type Inner = Generator<unknown, unknown, unknown>;

interface Request {
  kind: Kind;
  value: unknown;
  settle: (result: Result) => void;
  reject: (reason: unknown) => void;
}

class AsyncJobs {
  private readonly _inner: Inner;
  private readonly _mark: MarkClass;
  /** The first one runs. */
  private readonly _requests: Request[] = [];

  constructor(inner: Inner, mark: MarkClass) {
    this._inner = inner;
    this._mark = mark;
  }

  get [Symbol.toStringTag](): string {
    return 'AsyncGenerator';
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(value?: unknown): JobPromise<Result> {
    return this._ask('next', value);
  }

  throw(reason?: unknown): JobPromise<Result> {
    return this._ask('throw', reason);
  }

  return(value?: unknown): JobPromise<Result> {
    return this._ask('return', value);
  }

  private _ask(kind: Kind, value: unknown): JobPromise<Result> {
    return new JobPromise((settle, reject) => {
      this._requests.push({ kind, value, settle, reject });
      if (this._requests.length === 1) this._begin();
    });
  }

  private _begin(): void {
    const request = this._requests[0];
    if (!request) return;
    // A promise that is returned is awaited first.
    if (request.kind === 'return') this._after(request.value, 'return');
    else this._goOn(request.kind, request.value);
  }

  private _after(value: unknown, kind: Kind): void {
    JobPromise.resolve(value).then(
      (value) => this._goOn(kind, value),
      (reason: unknown) => this._goOn('throw', reason),
    );
  }

  private _goOn(kind: Kind, given: unknown): void {
    let step: Result;
    try {
      step = this._inner[kind](given);
    } catch (error) {
      return this._ended((request) => request.reject(error));
    }
    const { value, done = false } = step;
    if (value instanceof this._mark) return this._after(value[0], value[1] ?? 'next');
    JobPromise.resolve(value).then(
      (value) => this._ended((request) => request.settle({ value, done })),
      (reason: unknown) => this._goOn('throw', reason),
    );
  }

  private _ended(how: (request: Request) => void): void {
    how(this._requests.shift() as Request);
    this._begin();
  }
}

/** In place of a helper of the bundler: `make` is the body of an async generator. */
function asyncGenerator(self: unknown, args: Iterable<unknown> | null, make: (...args: unknown[]) => Inner, mark: MarkClass): AsyncJobs {
  return new AsyncJobs(args ? make.apply(self, args as unknown[]) : make.call(self), mark);
}

/** In place of a helper of the bundler: the iterable of `yield*` for a generator of which an async one is made. */
function yieldStar(of: AsyncIterable<unknown> & Iterable<unknown>, Mark: MarkClass): Iterable<unknown> {
  const open = of[Symbol.asyncIterator] as (() => AsyncIterator<unknown>) | null | undefined;
  const source = (open === undefined || open === null ? of[Symbol.iterator]() : open.call(of)) as unknown as Record<Kind, (value: unknown) => Result>;
  const isAsync = open !== undefined && open !== null;
  let awaits = false;
  const ask = (kind: Kind) => (given: unknown): Result => {
    if (!isAsync) return source[kind](given);
    if (!awaits) {
      awaits = true;
      const promise = JobPromise.resolve(source[kind](given)).then(object);
      return { done: false, value: new Mark(promise, kind === 'return' ? 'return' : 'next') };
    }
    // The result of the promise, or why it has none.
    awaits = false;
    if (kind === 'throw') throw given;
    return given as Result;
  };
  const iterator = {
    next: ask('next'),
    throw: 'throw' in source ? ask('throw') : (reason: unknown) => { throw reason; },
    ...('return' in source && { return: ask('return') }),
    [Symbol.iterator]: () => iterator,
  };
  return iterator as Iterable<unknown>;
}

function object(result: unknown): unknown {
  if (typeof result !== 'object' || result === null) throw new TypeError('an iterator answered no object');
  return result;
}

export function installAsyncGenerators(): void {
  Object.assign(globalThis, { __pointworkAsyncGenerator: asyncGenerator, __pointworkYieldStar: yieldStar });
}
