import { shown } from './declared.js';
import { HttpException } from './exceptions.js';
import { attempt, chain, isThenable, type Maybe } from './host.js';
import { placesOf } from './json-text.js';
import { log } from './log.js';
import { isEngineFailure, isOutOfMemory } from './report.js';

/** Standard Schema, version 1 (https://standardschema.dev): zod, valibot, ArkType and others implement it. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

export type SchemaResult<Output> = { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** One field that is not valid. `place` is the line and column of the end of its value, in a body of JSON. */
export interface InvalidField {
  readonly field: string;
  readonly message: string;
  readonly place: string | undefined;
}

/** The most fields of a reply, and the longest text of one: what an error has is bounded. */
export const MOST_FIELDS = 50;
const LONGEST_TEXT = 200;

/** A value that did not pass its schema: 422, with every field. Without fields if the schema needs more memory than there is. */
export class ValidationException extends HttpException {
  readonly fields: readonly InvalidField[];

  constructor(fields: readonly InvalidField[], count: number) {
    super({ message: messageOf(count), fields: fields.map(({ field, message }) => ({ field, message })) }, 422);
    this.fields = fields;
  }
}

function messageOf(count: number): string {
  if (count === Infinity) return 'the value has too many parts or mistakes to be checked';
  if (count === 1) return '1 field is not valid';
  return `${count > MOST_FIELDS ? `more than ${MOST_FIELDS}` : count} fields are not valid`;
}

/** The request whose data a schema checks. */
interface SchemaCall {
  /** The name of the function that runs. */
  readonly name: string;
  schemas: number | undefined;
}

/** The value as its schema makes it. `text` is the JSON of which the value was read. */
export function validated<Output>(schema: StandardSchema<unknown, Output>, value: unknown, ctx: SchemaCall, text?: string): Maybe<Output> {
  expectSchema(schema);
  return within(ctx, () => chain(schema['~standard'].validate(value), (result) => checked(result, text)));
}

/**
 * Runs a schema, and replies 422 if the memory ends. A schema library finds every mistake before it returns, and makes promises for every value
 * if it is asynchronous, so that a small body can fill the memory. A trap would let clients open the circuit breaker of the route.
 *
 * The instance can finish this call, though the engine ran out of memory: a schema is a pure function, and nobody uses its result. The stack of
 * `run` is gone when its error arrives here, and the errors of the schema with it. Its promises are left: the dispatcher drops them if the memory
 * ends again. The host replaces the instance after the call, because its memory grew beyond half of the limit.
 * The end of the stack is another failure, and traps.
 */
function within<T>(ctx: SchemaCall, run: () => Maybe<T>): Maybe<T> {
  ctx.schemas = (ctx.schemas ?? 0) + 1;
  const ended = (): void => void ((ctx.schemas as number) -= 1);
  return attempt(
    run,
    (value) => (ended(), value),
    (error) => {
      if (isOutOfMemory(error)) throw memoryEnded(ctx);
      ended();
      throw error;
    },
  );
}

/** The error of a request whose schema used up the memory. */
export function memoryEnded(ctx: SchemaCall): ValidationException {
  if (ctx.schemas !== Infinity) log.warn(`a schema of \`${ctx.name}\` ran out of memory: the value has too many parts or mistakes`);
  ctx.schemas = Infinity;
  return new ValidationException([], Infinity);
}

/** Refuses what is no schema. A schema that is `undefined`, as a name that does not exist is, would let every value pass. */
export function expectSchema(schema: unknown): void {
  const standard = (schema as { '~standard'?: { validate?: unknown } } | null | undefined)?.['~standard'];
  if (typeof standard?.validate === 'function') return;
  throw new TypeError(`a value was to be validated by ${shown(schema)}, expected a Standard Schema, such as one of zod, or \`fromTypeBox(…)\``);
}

function checked<Output>(result: SchemaResult<Output>, text: string | undefined): Output {
  if (!result.issues) return result.value;
  const issues = result.issues.slice(0, MOST_FIELDS);
  const paths = issues.map(({ path = [] }) => path.map((part) => (typeof part === 'object' ? part.key : part)));
  // Only code that reads a place pays for the search, which finds all places.
  let places: (string | undefined)[] | undefined;
  const fields = issues.map(({ message }, at) => ({
    field: cut((paths[at] ?? []).map(String).join('.')),
    message: cut(message),
    get place() {
      return text === undefined ? undefined : (places ??= placesOf(text, paths))[at];
    },
  }));
  throw new ValidationException(fields, result.issues.length);
}

function cut(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.slice(0, LONGEST_TEXT).replace(/[\u0000-\u001f\u007f]/g, '\ufffd');
}

/** What reads a text: a schema, or a function that throws or returns the value. */
export type Pipe<T> = StandardSchema<unknown, T> | ((text: string) => T);

/** A whole number, for `ctx.param('id', int)`. */
export function int(text: string): number {
  const value = Number(text);
  // The usual case, without the cost of an expression.
  if (Number.isSafeInteger(value) && String(value) === text) return value;
  if (!/^[+-]?\d+$/.test(text)) throw new RangeError('expected a whole number');
  if (!Number.isSafeInteger(value)) throw new RangeError('expected a whole number of at most 9007199254740991');
  return value;
}

/** `Number` reads white space and hexadecimal digits as well. */
const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

/** A decimal number, for `ctx.param('price', float)`. */
export function float(text: string): number {
  const value = Number(text);
  if (!DECIMAL.test(text) || !Number.isFinite(value)) throw new RangeError('expected a number');
  return value;
}

/** `true` or `false`. */
export function bool(text: string): boolean {
  if (text !== 'true' && text !== 'false') throw new RangeError('expected `true` or `false`');
  return text === 'true';
}

/** A UUID in its usual form. */
export function uuid(text: string): string {
  if (!/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text)) throw new RangeError('expected a UUID');
  return text;
}

/** Text by a pipe; an error is 400 with the name of what was read. */
export function piped<T>(pipe: Pipe<T>, text: string, kind: string, name: string): T {
  // A schema may be a function too.
  if (typeof pipe === 'function' && !('~standard' in pipe)) {
    let value: T;
    try {
      value = pipe(text);
    } catch (error) {
      if (error instanceof HttpException || isEngineFailure(error)) throw error;
      throw unfit(`${kind} \`${name}\``, error instanceof Error ? error.message : String(error), text);
    }
    return now(value, 'pipe', kind, name);
  }
  const schema = pipe as StandardSchema<unknown, T>;
  expectSchema(schema);
  const result = now(schema['~standard'].validate(text), 'schema', kind, name) as SchemaResult<T>;
  if (!result.issues) return result.value;
  throw unfit(`${kind} \`${name}\``, result.issues.map(({ message }) => message).join('; '), text);
}

/** The value of what must answer at once: an exception of the module if it does not. */
function now<T>(value: T, what: string, kind: string, name: string): T {
  if (isThenable(value)) throw new TypeError(`${kind} \`${name}\`: the ${what} is asynchronous, expected one that answers at once`);
  return value;
}

function unfit(what: string, message: string, text: string): HttpException {
  return new HttpException(`${what}: ${message}, got \`${cut(text)}\``, 400);
}
