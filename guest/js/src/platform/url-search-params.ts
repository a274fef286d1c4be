type Init = string | Record<string, string> | Iterable<readonly [string, string]>;

function decode(text: string): string {
  const spaced = text.replaceAll('+', ' ');
  try {
    return decodeURIComponent(spaced);
  } catch {
    // A `%` that begins no escape stays a `%`. Bytes that are not UTF-8 become U+FFFD.
    const bytes = spaced.replace(/%(?![\da-f]{2})/gi, '%25').replace(/[^%]+/g, (part) => unescape(encodeURIComponent(part.toWellFormed())));
    const binary = unescape(bytes);
    return new TextDecoder().decode(Uint8Array.from(binary, (character) => character.charCodeAt(0)));
  }
}

function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(/%20|[!'()~]/g, (part) => (part === '%20' ? '+' : `%${part.charCodeAt(0).toString(16).toUpperCase()}`));
}

/** Names and values, as in a query or a form. */
export class URLSearchParams {
  #list: [string, string][] = [];

  constructor(init: Init = '') {
    if (typeof init === 'string') {
      for (const pair of init.replace(/^\?/, '').split('&')) {
        if (pair === '') continue;
        const at = pair.indexOf('=');
        this.#list.push(at < 0 ? [decode(pair), ''] : [decode(pair.slice(0, at)), decode(pair.slice(at + 1))]);
      }
    } else if (Symbol.iterator in init) {
      for (const [name, value] of init as Iterable<readonly [string, string]>) this.append(name, value);
    } else {
      for (const [name, value] of Object.entries(init)) this.append(name, value);
    }
  }

  get size(): number {
    return this.#list.length;
  }

  append(name: string, value: string): void {
    this.#list.push([String(name), String(value)]);
  }

  delete(name: string, value?: string): void {
    this.#list = this.#list.filter((pair) => pair[0] !== name || (value !== undefined && pair[1] !== value));
  }

  get(name: string): string | null {
    return this.#list.find((pair) => pair[0] === name)?.[1] ?? null;
  }

  getAll(name: string): string[] {
    return this.#list.filter((pair) => pair[0] === name).map((pair) => pair[1]);
  }

  has(name: string, value?: string): boolean {
    return this.#list.some((pair) => pair[0] === name && (value === undefined || pair[1] === value));
  }

  set(name: string, value: string): void {
    const first = this.#list.find((pair) => pair[0] === name);
    if (!first) return this.append(name, value);
    first[1] = String(value);
    this.#list = this.#list.filter((pair) => pair === first || pair[0] !== name);
  }

  sort(): void {
    this.#list.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  }

  forEach(each: (value: string, name: string, all: URLSearchParams) => void, self?: unknown): void {
    for (const [name, value] of this.#list) each.call(self, value, name, this);
  }

  *entries(): IterableIterator<[string, string]> {
    for (const [name, value] of this.#list) yield [name, value];
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this.#list) yield name;
  }

  *values(): IterableIterator<string> {
    for (const [, value] of this.#list) yield value;
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries();
  }

  toString(): string {
    return this.#list.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&');
  }

  get [Symbol.toStringTag](): string {
    return 'URLSearchParams';
  }
}
