import { host, type Level } from '../host.js';
import { framesOf } from '../stack.js';

/** The origin of the lines of `console`. */
const TARGET = 'pointwork::guest::console';
const DEPTH = 4;
const MOST = 100;

/** A value as a person reads it, much as Node shows it. A line of the log never throws, whatever the value does when it is read. */
export function inspect(value: unknown, depth = DEPTH, above: unknown[] = []): string {
  try {
    return shown(value, depth, above);
  } catch (error) {
    return `[a value that cannot be shown: ${reasonOf(error)}]`;
  }
}

function reasonOf(error: unknown): string {
  try {
    return String(error);
  } catch {
    return 'it throws';
  }
}

function shown(value: unknown, depth: number, above: unknown[]): string {
  if (typeof value === 'string') return above.length === 0 ? value : JSON.stringify(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function') return value.name ? `[Function: ${value.name}]` : '[Function]';
  if (typeof value !== 'object' || value === null) return String(value);
  if (value instanceof Error) return ofError(value);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (value instanceof RegExp) return String(value);
  if (above.includes(value)) return '[Circular]';
  const name = (value.constructor as { name?: string } | undefined)?.name ?? '';
  if (depth === 0) return Array.isArray(value) ? '[Array]' : `[${name || 'Object'}]`;
  const inner = (one: unknown): string => inspect(one, depth - 1, [...above, value]);
  if (Array.isArray(value) || ArrayBuffer.isView(value)) {
    const all = Array.from(value as ArrayLike<unknown>);
    const shown = all.slice(0, MOST).map(inner);
    if (all.length > MOST) shown.push(`… ${all.length - MOST} more`);
    return `${Array.isArray(value) ? '' : `${name} `}[${shown.join(', ')}]`;
  }
  if (value instanceof Map) return `Map {${[...value].map(([key, one]) => `${inner(key)} => ${inner(one)}`).join(', ')}}`;
  if (value instanceof Set) return `Set {${[...value].map(inner).join(', ')}}`;
  const fields = Object.keys(value).map((key) => {
    const { get, value: field } = Object.getOwnPropertyDescriptor(value, key) ?? {};
    return `${key}: ${get ? '[Getter]' : inner(field)}`;
  });
  const prefix = name === '' || name === 'Object' ? '' : `${name} `;
  return fields.length === 0 ? `${prefix}{}` : `${prefix}{ ${fields.join(', ')} }`;
}

function ofError(error: Error): string {
  const frames = framesOf(error).map((frame) => `    at ${frame.function || '<anonymous>'} (${frame.file}:${frame.line})`);
  const cause = error.cause === undefined ? [] : [`caused by: ${inspect(error.cause)}`];
  return [`${error.name}: ${error.message}`, ...frames, ...cause].join('\n');
}

/** The text of the arguments; the first may have `%s`, `%d`, `%i`, `%f`, `%j`, `%o` and `%O`. */
export function format(args: readonly unknown[]): string {
  const rest = [...args];
  let text = '';
  if (typeof rest[0] === 'string' && rest.length > 1) {
    const pattern = rest.shift() as string;
    text = pattern.replace(/%([sdifjoOc%])/g, (all, letter: string) => {
      if (letter === '%') return '%';
      if (rest.length === 0) return all;
      const value = rest.shift();
      if (letter === 'c') return '';
      if (letter === 's') return typeof value === 'string' ? value : inspect(value, 1);
      if (letter === 'j') return jsonOf(value);
      if (letter === 'o' || letter === 'O') return inspect(value, DEPTH, ['']);
      return numberOf(value, letter === 'i');
    });
    if (rest.length > 0) text += ' ';
  }
  return text + rest.map((value) => inspect(value)).join(' ');
}

/** A value as JSON; as a person reads it if it cannot be JSON. */
export function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return inspect(value, DEPTH, ['']);
  }
}

function numberOf(value: unknown, isWhole: boolean): string {
  try {
    const number = Number(value);
    return String(isWhole ? Math.trunc(number) : number);
  } catch {
    return 'NaN';
  }
}

function writer(level: Level): (...args: unknown[]) => void {
  return (...args) => host.log(level, TARGET, format(args), []);
}

const counts = new Map<string, number>();

export function installConsole(): void {
  const info = writer('info');
  Object.assign(globalThis, {
    console: {
      log: info,
      info,
      debug: writer('debug'),
      warn: writer('warn'),
      error: writer('error'),
      trace: (...args: unknown[]) => host.log('trace', TARGET, `${format(args)}\n${ofError(new Error('trace'))}`, []),
      dir: (value: unknown) => info(value),
      table: (value: unknown) => info(value),
      group: info,
      groupEnd: () => undefined,
      assert: (holds: unknown, ...args: unknown[]) => {
        if (!holds) writer('error')('assertion failed', ...args);
      },
      count: (label = 'default') => {
        counts.set(label, (counts.get(label) ?? 0) + 1);
        info(`${label}: ${counts.get(label)}`);
      },
      // The clock stands still within a call, so that there is nothing to measure.
      time: () => undefined,
      timeEnd: () => undefined,
      timeLog: () => undefined,
    },
  });
}
