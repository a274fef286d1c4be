/** JSON, with errors that name the value that cannot be written. */

/** The text of a value. `what` and `name` say in the error which value it is. */
export function jsonText(value: unknown, what: string, name?: string): string {
  let problem: string;
  try {
    if (typeof value === 'number' && !Number.isFinite(value)) {
      problem = `\`${value}\` is no JSON`;
    } else {
      const text = JSON.stringify(value);
      if (text !== undefined) return text;
      problem = `a ${typeof value} is no JSON`;
    }
  } catch (error) {
    const place = unfit(value, '', []);
    problem = place ?? (error instanceof Error ? error.message : String(error));
  }
  throw new TypeError(`${what}${name === undefined ? '' : ` \`${name}\``} cannot be written as JSON: ${problem}`);
}

/** Finds what `JSON.stringify` refuses, since its error does not say where it is. */
function unfit(value: unknown, path: string, above: unknown[]): string | undefined {
  if (typeof value === 'bigint') return `${at(path)} is the BigInt ${value}n, expected a number or a text`;
  if (typeof value !== 'object' || value === null || typeof (value as { toJSON?: unknown }).toJSON === 'function') return undefined;
  if (above.includes(value)) return `${at(path)} refers to a value that contains it`;
  above.push(value);
  for (const key of Object.keys(value)) {
    const found = unfit((value as Record<string, unknown>)[key], path === '' ? key : `${path}.${key}`, above);
    if (found !== undefined) return found;
  }
  above.pop();
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

  value(): void {
    this.space();
    const first = this.#text[this.at];
    if (first === '{') this.#list('}', true);
    else if (first === '[') this.#list(']', false);
    else if (first === '"') this.#token(STRING) ?? this.fail('a text that ends with `"`');
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
        const text = this.#token(STRING) ?? this.fail('a name in quotation marks');
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
