import type { Context } from './context.js';
import type { Reply } from './reply.js';

/** A guard: a class as in NestJS, or a function. */
export type Guard = GuardClass | GuardFunction;

/** What lets a request pass: `true`, or a value that `ctx.guarded(…)` returns. `false`, or nothing, refuses it with 403. */
export interface CanActivate {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  canActivate(ctx: Context<any>): unknown;
}

export type GuardClass = new () => CanActivate;

// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type GuardFunction = (ctx: Context<any>) => unknown;

/** The value of a guard. */
export type GuardValue<G extends Guard> = G extends new () => { canActivate(ctx: never): infer Value }
  ? Exclude<Awaited<Value>, false | null | undefined>
  : G extends (ctx: never) => infer Value
    ? Exclude<Awaited<Value>, false | null | undefined>
    : never;

/** An interceptor sees the reply or the error of the guards and the handler, and may change it. */
export interface Interceptor {
  /** `next` runs the rest, and throws its error. It returns `undefined` if the reply was sent already. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  intercept(ctx: Context<any>, next: () => Promise<Reply | undefined>): unknown;
}

export type InterceptorClass = new () => Interceptor;

export function isGuardClass(guard: Guard): guard is GuardClass {
  const prototype = (guard as { prototype?: { canActivate?: unknown } }).prototype;
  return typeof prototype?.canActivate === 'function';
}
