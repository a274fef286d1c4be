import type { RawReport } from './host.js';
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
 * also if a program caught the engine's error and threw another one.
 */
export function isEngineFailure(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const found = new Set<unknown>([error]);
  // A set gives the values that are added meanwhile too.
  for (const one of found) {
    if (InternalError && one instanceof InternalError) return true;
    if (one instanceof RangeError && fieldOf(one, 'message') === STACK_ENDS) return true;
    const errors = fieldOf(one as object, 'errors');
    for (const next of [...['cause', 'error', 'suppressed'].map((name) => fieldOf(one as object, name)), ...(Array.isArray(errors) ? errors.slice(0, MOST_CAUSES) : [])]) {
      if (typeof next === 'object' && next !== null && found.size < MOST_CAUSES) found.add(next);
    }
  }
  return false;
}

/** A field whose getter may throw. */
function fieldOf(of: object, name: string): unknown {
  try {
    return (of as Record<string, unknown>)[name];
  } catch {
    return undefined;
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

function read(error: unknown): RawReport {
  if (!(error instanceof Error)) return { message: `not an Error was thrown: ${text(error)}`.toWellFormed(), exception: null, stack: [] };
  const causes: string[] = [];
  for (let cause = error.cause; cause !== undefined && causes.length < 8; cause = cause instanceof Error ? cause.cause : undefined) {
    causes.push(`; caused by ${cause instanceof Error ? `${cause.name}: ${cause.message}` : text(cause)}`);
  }
  const all = error instanceof AggregateError ? error.errors.slice(0, 8).map((one: unknown) => (one instanceof Error ? `${one.name}: ${one.message}` : text(one))) : [];
  const missing = error instanceof ReferenceError ? /^'?(\w+)'? is not defined/.exec(error.message)?.[1] : undefined;
  const hint = missing !== undefined && HINTS[missing] ? `: ${HINTS[missing]}` : '';
  return { message: `${error.message}${all.length > 0 ? `; its errors are ${all.join(', ')}` : ''}${hint}${causes.join('')}`.toWellFormed(), exception: error.name, stack: framesOf(error) };
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
  const at = error instanceof Error ? placeOf(error) : '';
  return `${exception ? `${exception}: ` : ''}${message}${at}`;
}
