import type { RawCrash } from './host.js';
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

/** The report of an error that no reply was made of. There is one also of an error whose message throws when it is read. */
export function crashOf(error: unknown): RawCrash {
  try {
    return read(error);
  } catch {
    return { message: 'an error was thrown whose fields cannot be read', exception: null, stack: [] };
  }
}

function read(error: unknown): RawCrash {
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
export function crashLine(error: unknown): string {
  const { message, exception } = crashOf(error);
  const at = error instanceof Error ? placeOf(error) : '';
  return `${exception ? `${exception}: ` : ''}${message}${at}`;
}
