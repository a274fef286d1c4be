/** JSON, with errors that name the value that cannot be written. */

import { isEngineFailure } from './report.js';

/** The text of a value. `what` and `name` say in the error which value it is. */
export function jsonText(value: unknown, what: string, name?: string): string {
  let problem: string;
  try {
    if (typeof value === 'number') {
      if (Number.isFinite(value)) return String(value);
      problem = `\`${value}\` is no JSON`;
    } else {
      const text = JSON.stringify(value);
      // An object whose content is not in its fields would become an empty object.
      const lost = text?.includes('{}') || value instanceof Error ? emptied(value, '') : undefined;
      if (text !== undefined && lost === undefined) return text;
      problem = lost ?? `a ${typeof value} is no JSON`;
    }
  } catch (error) {
    if (isEngineFailure(error)) throw error;
    const place = unfit(value, '', []);
    problem = place ?? (error instanceof Error ? error.message : String(error));
  }
  throw new TypeError(`${what}${name === undefined ? '' : ` \`${name}\``} cannot be written as JSON: ${problem}`);
}

/** Finds what `JSON.stringify` refuses, since its error does not say where it is. */
function unfit(value: unknown, path: string, above: unknown[]): string | undefined {
  if (typeof value === 'bigint') return `${at(path)} is the BigInt ${value}n, expected a number or a text`;
  if (typeof value !== 'object' || value === null) return undefined;
  const { toJSON } = value as { toJSON?: unknown };
  // Its error is thrown again, with its own place.
  if (typeof toJSON === 'function') return unfit((toJSON as () => unknown).call(value), path, [...above, value]);
  if (above.includes(value)) return `${at(path)} refers to a value that contains it`;
  above.push(value);
  for (const key of Object.keys(value)) {
    const found = unfit((value as Record<string, unknown>)[key], path === '' ? key : `${path}.${key}`, above);
    if (found !== undefined) return found;
  }
  above.pop();
  return undefined;
}

/** What has its content elsewhere than in fields, and what is expected instead. */
function lostIn(value: object): string | undefined {
  // Those of the SDK have a `toJSON`, which gives an empty object.
  if (value instanceof Promise) return 'a Promise, expected its value: `await` it';
  if (value instanceof Blob) return 'a Blob, expected its content, as by `await blob.text()`';
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return undefined;
  if (value instanceof Map) return 'a Map, expected an object, as by `Object.fromEntries(map)`';
  if (value instanceof Set) return 'a Set, expected an array, as by `[...set]`';
  if (value instanceof FormData || value instanceof Headers || value instanceof URLSearchParams) {
    return `a ${Object.prototype.toString.call(value).slice(8, -1)}, expected an object, as by \`Object.fromEntries(it)\``;
  }
  if (value instanceof ArrayBuffer || value instanceof DataView) return 'bytes, expected a text or an array, as by `[...new Uint8Array(buffer)]`';
  return undefined;
}

/** Finds what `JSON.stringify` writes as an object without its content. It has no cycle. */
function emptied(value: unknown, path: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const lost = lostIn(value);
  if (lost !== undefined) return `${at(path)} is ${lost}`;
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return undefined;
  if (value instanceof Error) return `${at(path)} is the error \`${value.name}: ${value.message}\`, expected to be thrown, or its message`;
  for (const key of Object.keys(value)) {
    const found = emptied((value as Record<string, unknown>)[key], path === '' ? key : `${path}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function at(path: string): string {
  return path === '' ? 'the value' : `\`${path}\``;
}

/** The line and column of a text's position, both from 1. */
export function lineAndColumn(text: string, index: number): string {
  const before = text.slice(0, index);
  const lines = before.split('\n');
  return `line ${lines.length} column ${(lines[lines.length - 1] ?? '').length + 1}`;
}

/** A value from JSON that others wrote. `fail` makes the error of a problem, such as `expected a value at line 1 column 2`, and of `name`. */
export function readJson(text: string, fail: (problem: string, name: string) => Error, name = ''): unknown {
  const deep = text.length > DEEPEST ? depthFault(text) : undefined;
  if (deep !== undefined) throw fail(`it is nested more than ${DEEPEST} deep at ${lineAndColumn(text, deep)}`, name);
  try {
    return JSON.parse(text);
  } catch (error) {
    if (isEngineFailure(error)) throw error;
    const fault = jsonFault(text);
    throw fail(fault ? `expected ${fault.expected} at ${lineAndColumn(text, fault.index)}` : 'it cannot be read as JSON', name);
  }
}

/** How deep the JSON of a client may be nested. The engine reads it by recursion, and the end of its stack would be a crash. */
const DEEPEST = 128;

/** The index of the first bracket that is too deep. What is no JSON in another way is left to the parser, which stops there. */
function depthFault(text: string): number | undefined {
  // Most texts have fewer brackets than that.
  if (text.split('[', DEEPEST + 2).length + text.split('{', DEEPEST + 2).length - 2 <= DEEPEST) return undefined;
  const marks = /["[\]{}]/g;
  let depth = 0;
  for (let found = marks.exec(text); found; found = marks.exec(text)) {
    const [mark] = found;
    if (mark === '"') {
      const end = stringEnd(text, found.index);
      if (end === undefined) return undefined;
      marks.lastIndex = end + 1;
    } else {
      depth += mark === '[' || mark === '{' ? 1 : -1;
      if (depth > DEEPEST) return found.index;
    }
  }
  return undefined;
}

/** The index of the quotation mark that ends the text which begins at `start`. */
function stringEnd(text: string, start: number): number | undefined {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end;
    while (text[before - 1] === '\\') before -= 1;
    if ((end - before) % 2 === 0) return end;
  }
  return undefined;
}

/**
 * The index of the first character that is no JSON; `undefined` if the whole text is JSON. The engines say it in words of
 * their own, or not at all.
 */
export function jsonFault(text: string): { index: number; expected: string } | undefined {
  const scan = new Scan(text);
  try {
    scan.value();
    scan.space();
    if (scan.at < text.length) scan.fail('the end of the text');
    return undefined;
  } catch (fault) {
    if (fault instanceof Fault) return fault;
    throw fault;
  }
}

/** The index of the last character of the value at a path, `undefined` if there is none: where an error about it is reported. */
export function valueEnd(text: string, path: readonly PropertyKey[]): number | undefined {
  const scan = new Scan(text, path.map(String));
  try {
    scan.value();
  } catch {
    return undefined;
  }
  return scan.found;
}

class Fault {
  readonly index: number;
  readonly expected: string;

  constructor(index: number, expected: string) {
    this.index = index;
    this.expected = expected;
  }
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
// eslint-disable-next-line no-control-regex
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/y;
/** The beginning of a text, up to what is no part of one. */
// eslint-disable-next-line no-control-regex
const BEGUN = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*/y;
const LITERAL = /true|false|null/y;

/** Reads JSON without making its values. */
class Scan {
  at = 0;
  found: number | undefined;
  readonly #text: string;
  readonly #wanted: string[] | undefined;
  #path: string[] = [];

  constructor(text: string, wanted?: string[]) {
    this.#text = text;
    this.#wanted = wanted;
  }

  fail(expected: string): never {
    throw new Fault(this.at, expected);
  }

  space(): void {
    while (' \t\n\r'.includes(this.#text[this.at] ?? '-')) this.at += 1;
  }

  #token(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const token = pattern.exec(this.#text)?.[0];
    if (token) this.at += token.length;
    return token;
  }

  /** Fails where a text is wrong, or at its start if it has no end. */
  #wrongText(expected: string): never {
    const start = this.at;
    this.#token(BEGUN);
    const found = this.#text[this.at];
    if (this.at > start && found === '\\') this.fail('an escape such as `\\n` or `\\u00e9`');
    if (this.at > start && found !== undefined) this.fail(`\`\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}\` in place of the control character`);
    this.at = start;
    return this.fail(expected);
  }

  value(): void {
    this.space();
    const first = this.#text[this.at];
    if (first === '{') this.#list('}', true);
    else if (first === '[') this.#list(']', false);
    else if (first === '"') this.#token(STRING) ?? this.#wrongText('a text that ends with `"`');
    else this.#token(LITERAL) ?? this.#token(NUMBER) ?? this.fail('a JSON value');
    const wanted = this.#wanted;
    if (wanted && wanted.length === this.#path.length && wanted.every((part, at) => part === this.#path[at])) this.found = this.at - 1;
  }

  #list(end: string, hasNames: boolean): void {
    this.at += 1;
    this.space();
    if (this.#text[this.at] === end) {
      this.at += 1;
      return;
    }
    for (let index = 0; ; index += 1) {
      let name = String(index);
      if (hasNames) {
        this.space();
        const text = this.#token(STRING) ?? this.#wrongText('a name in quotation marks');
        name = JSON.parse(text) as string;
        this.space();
        if (this.#text[this.at] !== ':') this.fail('`:`');
        this.at += 1;
      }
      this.#path.push(name);
      this.value();
      this.#path.pop();
      this.space();
      const next = this.#text[this.at];
      if (next !== ',' && next !== end) this.fail(`\`,\` or \`${end}\``);
      this.at += 1;
      if (next === end) return;
    }
  }
}
