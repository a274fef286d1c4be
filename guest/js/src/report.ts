import type { Frame, RawReport } from './host.js';
import { framesOf, placeOf } from './stack.js';

const CHANNEL = 'a module has none; call an event, whose listener in the host, or in a module with grants, has it';

/** What to use instead of what a module cannot have. */
const HINTS: Record<string, string> = {
  fetch: CHANNEL,
  WebSocket: CHANNEL,
  XMLHttpRequest: CHANNEL,
  process: 'a module has none; variables are in `env` of `@pointwork/guest`',
  Buffer: 'a module has none; use `Uint8Array`, `TextEncoder` and `atob`',
  require: 'a module has none; use `import`',
  Worker: 'an instance has one thread',
};

/** The class of the engine for errors of memory and of its limits, such as `out of memory`. Node has none. */
const { InternalError } = globalThis as { InternalError?: ErrorConstructor };

/** The engine's error at the end of its stack. */
const STACK_ENDS = 'Maximum call stack size exceeded';

/** The most errors that are looked at for one: a getter `cause` could make new ones without an end. */
const MOST_CAUSES = 1000;

/**
 * Whether the engine ran out of memory or stack, by an error, its causes, or the errors that it collects. The instance may be damaged then,
 * also if a program caught the engine's error and threw another one. An engine without memory for its error throws `null`: the host knows that
 * it refused the memory, and traps when `null` is reported.
 */
export function isEngineFailure(error: unknown): boolean {
  if (isOfEngine(error)) return true;
  const left = behind(error);
  if (left.length === 0) return false;
  const seen = new Set<unknown>([error]);
  for (let next = left.pop(); next !== undefined && seen.size < MOST_CAUSES; next = left.pop()) {
    if (seen.has(next)) continue;
    if (isOfEngine(next)) return true;
    seen.add(next);
    left.push(...behind(next));
  }
  return false;
}

function isOfEngine(error: unknown): boolean {
  if (InternalError && isInstance(error, InternalError)) return true;
  return isInstance(error, RangeError) && fieldsOf(error).message === STACK_ENDS;
}

/** The engine's errors without memory. The second one has no memory for the message of the error that it stands for. */
const MEMORY_ENDS = /^(?:out of memory|Invalid error message$)/;

/** Whether the engine ran out of memory. An engine that has no memory for an error throws `null`. */
export function isOutOfMemory(error: unknown): boolean {
  return error === null || (isOfEngine(error) && MEMORY_ENDS.test(String(fieldsOf(error).message)));
}

/** `instanceof`, which throws for some proxies. */
export function isInstance<T>(value: unknown, of: abstract new (...args: never[]) => T): value is T {
  try {
    return value instanceof of;
  } catch {
    return false;
  }
}

const NONE: unknown[] = [];

/** The causes of an error, and the errors that it collects. */
function behind(error: unknown): unknown[] {
  const { cause, disposed, suppressed, errors } = fieldsOf(error);
  if (cause === undefined && disposed === undefined && suppressed === undefined && errors === undefined) return NONE;
  return [cause, disposed, suppressed, ...(Array.isArray(errors) ? errors.slice(0, MOST_CAUSES) : NONE)].filter((one) => typeof one === 'object' && one !== null);
}

/** Reading the fields of an error runs code of the program, if it put functions there. */
function fieldsOf(error: unknown): { message?: unknown; cause?: unknown; disposed?: unknown; suppressed?: unknown; errors?: unknown } {
  if (typeof error !== 'object' || error === null) return {};
  try {
    const { message, cause, error: disposed, suppressed, errors } = error as Record<string, unknown>;
    return { message, cause, disposed, suppressed, errors };
  } catch {
    return {};
  }
}

/** The report of an exception. There is one also of an error whose message throws when it is read. */
export function reportOf(error: unknown): RawReport {
  try {
    return read(error);
  } catch {
    return { message: 'an error was thrown whose fields cannot be read', exception: null, stack: [] };
  }
}

const MOST_TOLD = 8;

function read(error: unknown): RawReport {
  if (!(error instanceof Error)) return { message: `not an Error was thrown: ${text(error)}`.toWellFormed(), exception: null, stack: framesBehind(error) };
  const causes: string[] = [];
  for (let cause = error.cause; cause !== undefined && causes.length < MOST_TOLD; cause = cause instanceof Error ? cause.cause : undefined) {
    causes.push(`; caused by ${one(cause)}`);
  }
  const all = error instanceof AggregateError ? error.errors.slice(0, MOST_TOLD).map(one) : [];
  const missing = error instanceof ReferenceError ? /^'?(\w+)'? is not defined/.exec(error.message)?.[1] : undefined;
  const hint = missing !== undefined && HINTS[missing] ? `: ${HINTS[missing]}` : '';
  return { message: `${error.message}${all.length > 0 ? `; its errors are ${all.join(', ')}` : ''}${hint}${causes.join('')}`.toWellFormed(), exception: String(error.name).toWellFormed(), stack: framesBehind(error) };
}

/** A cause, or an error that another one collects, with its place. */
function one(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}${placeOf(error)}` : text(error);
}

/** The frames of a thrown value. An error that is made outside of the author's code, as by `Promise.any`, has those of an error behind it. */
function framesBehind(error: unknown): Frame[] {
  let left = [error];
  for (let level = 0; level < MOST_TOLD && left.length > 0; level += 1) {
    for (const next of left) {
      const frames = framesOf(next);
      if (frames.length > 0) return frames;
    }
    left = left.flatMap(behind).slice(0, MOST_TOLD);
  }
  return [];
}

function text(value: unknown): string {
  try {
    return typeof value === 'object' ? (JSON.stringify(value) ?? String(value)) : String(value);
  } catch {
    return typeof value;
  }
}

/** One line for the log. */
export function reportLine(error: unknown): string {
  const { message, exception } = reportOf(error);
  return `${exception ? `${exception}: ` : ''}${message}${placeOf(error)}`;
}
