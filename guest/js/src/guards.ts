import type { Context } from './context.js';
import { isThenable } from './host.js';
import { DEFERRED, isResponse, Reply } from './reply.js';

/** A guard: a class as in NestJS, or a function. */
export type Guard = GuardClass | GuardFunction;

/** The result of a guard, now or later. A function that returns nothing does not compile: `return true` lets the request pass. */
export type GuardResult = object | string | number | bigint | boolean | symbol | null | undefined;

/** A guard lets a request pass by `true`, or a value that `ctx.guarded(…)` returns. Anything that counts as false refuses it with 403. */
export interface CanActivate {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  canActivate(ctx: Context<any>): GuardResult;
}

export type GuardClass = new () => CanActivate;

// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type GuardFunction = (ctx: Context<any>) => GuardResult;

/** The value of a guard. */
export type GuardValue<G extends Guard> = G extends new () => { canActivate(ctx: never): infer Value }
  ? Exclude<Awaited<Value>, false | null | undefined | 0 | ''>
  : G extends (ctx: never) => infer Value
    ? Exclude<Awaited<Value>, false | null | undefined | 0 | ''>
    : never;

/** An interceptor sees the reply or the error of the guards and the handler, and may change it. */
export interface Interceptor {
  /** `next` runs the rest, and throws its error. It returns `undefined` if the reply was sent already. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  intercept(ctx: Context<any>, next: () => Promise<Reply | undefined>): unknown;
}

export type InterceptorClass = new () => Interceptor;

/** Whether a guard is a class: one whose `canActivate` is a field has none in its prototype. */
export function isGuardClass(guard: Guard): guard is GuardClass {
  const prototype = (guard as { prototype?: { canActivate?: unknown } }).prototype;
  return typeof prototype?.canActivate === 'function' || /^class\b/.test(Function.prototype.toString.call(guard));
}

/**
 * Whether the value of a guard lets its request pass. Objects that are no values are errors: they count as true, and their authors meant
 * something else, such as a refusal. A boxed primitive counts as the primitive.
 */
export function isPass(value: unknown, name: string): boolean {
  if (!value) return false;
  if (typeof value !== 'object' && typeof value !== 'function') return value !== DEFERRED;
  if (value instanceof Error) throw value;
  if (value instanceof Boolean || value instanceof Number || value instanceof String || value instanceof BigInt) return Boolean(value.valueOf());
  const wrong = notAValue(value as Record<PropertyKey, unknown>);
  if (wrong !== undefined) throw new TypeError(`the guard \`${name}\` returned ${wrong}`);
  return true;
}

function notAValue(value: Record<PropertyKey, unknown>): string | undefined {
  if (typeof value === 'function') return 'a function, expected its result: call it';
  if (value instanceof Reply || isResponse(value)) return 'a reply, expected `true` or a value: throw an `HttpException`, or return the reply of an interceptor';
  if (value[DEFERRED]) return 'the context, expected `true` or a value';
  if (Array.isArray(value) && value.some(isThenable)) return 'an array that contains a promise, expected `true` or a value, as by `(await Promise.all(…)).every(Boolean)`';
  const isIterator = typeof value['next'] === 'function';
  const isAsyncIterable = Symbol.asyncIterator in value;
  const isIterable = isAsyncIterable || Symbol.iterator in value;
  if (isIterator && isIterable) return 'a generator, whose code did not run: write the guard without `*`';
  if (isIterator || isAsyncIterable || (isIterable && !isCollection(value))) return 'an iterator or iterable, whose items were not read, expected `true` or a value, such as an array of the items';
  if (typeof value['subscribe'] === 'function') return 'an Observable, expected a promise, as by `firstValueFrom`';
  return undefined;
}

/** Whether an iterable holds its items, as arrays, maps, sets, headers and forms do. Other iterables make their items when code reads them. */
function isCollection(value: object): boolean {
  return 'length' in value || 'size' in value || 'get' in value;
}
