/** `Headers` of the platform. */

import { headerProblem, pairs, type HeadersLike } from '../header.js';

/** Not an expression with `[ \t]+$`, which reads the rest of a run of spaces from each of them. */
function trimmed(value: string): string {
  let [from, to] = [0, value.length];
  while (from < to && ' \t\r\n'.includes(value.charAt(from))) from += 1;
  while (from < to && ' \t\r\n'.includes(value.charAt(to - 1))) to -= 1;
  return value.slice(from, to);
}

export class Headers {
  readonly #values = new Map<string, string[]>();

  constructor(init: HeadersLike = []) {
    for (const [name, value] of pairs(init)) this.append(name, value);
  }

  append(name: string, value: string): void {
    const text = trimmed(String(value).toWellFormed());
    const problem = headerProblem(name, text);
    if (problem !== undefined) throw new TypeError(problem);
    const key = name.toLowerCase();
    const values = this.#values.get(key);
    if (values) values.push(text);
    else this.#values.set(key, [text]);
  }

  set(name: string, value: string): void {
    this.delete(name);
    this.append(name, value);
  }

  delete(name: string): void {
    this.#values.delete(name.toLowerCase());
  }

  get(name: string): string | null {
    return this.#values.get(name.toLowerCase())?.join(', ') ?? null;
  }

  has(name: string): boolean {
    return this.#values.has(name.toLowerCase());
  }

  getSetCookie(): string[] {
    return [...(this.#values.get('set-cookie') ?? [])];
  }

  forEach(each: (value: string, name: string, all: Headers) => void, self?: unknown): void {
    for (const [name, value] of this) each.call(self, value, name, this);
  }

  *entries(): IterableIterator<[string, string]> {
    for (const name of [...this.#values.keys()].sort()) {
      const values = this.#values.get(name) ?? [];
      if (name === 'set-cookie') for (const value of values) yield [name, value];
      else yield [name, values.join(', ')];
    }
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this.entries()) yield name;
  }

  *values(): IterableIterator<string> {
    for (const [, value] of this.entries()) yield value;
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries();
  }

  get [Symbol.toStringTag](): string {
    return 'Headers';
  }
}
