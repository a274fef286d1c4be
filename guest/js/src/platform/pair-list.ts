/** Names and values in their order, of which `URLSearchParams` and `FormData` are made. */

type Pair<Value> = [name: string, value: Value];

/** The pairs are in a list, and by their names in an index, so that a search does not read every pair. */
export class PairList<Value> {
  #list: Pair<Value>[] = [];
  #index = new Map<string, Pair<Value>[]>();

  get size(): number {
    return this.#list.length;
  }

  append(name: string, value: Value): void {
    const pair: Pair<Value> = [name, value];
    this.#list.push(pair);
    const before = this.#index.get(name);
    if (before) before.push(pair);
    else this.#index.set(name, [pair]);
  }

  set(name: string, value: Value): void {
    const [first, ...others] = this.#index.get(name) ?? [];
    if (!first) return this.append(name, value);
    first[1] = value;
    if (others.length > 0) this.#keep(name, (pair) => pair === first);
  }

  delete(name: string, value?: Value): void {
    if (this.#index.has(name)) this.#keep(name, (pair) => value !== undefined && pair[1] !== value);
  }

  /** Keeps those of a name that pass. */
  #keep(name: string, passes: (pair: Pair<Value>) => boolean): void {
    this.#list = this.#list.filter((pair) => pair[0] !== name || passes(pair));
    const rest = this.#index.get(name)?.filter(passes) ?? [];
    if (rest.length > 0) this.#index.set(name, rest);
    else this.#index.delete(name);
  }

  get(name: string): Value | null {
    return this.#index.get(name)?.[0]?.[1] ?? null;
  }

  getAll(name: string): Value[] {
    return this.#index.get(name)?.map((pair) => pair[1]) ?? [];
  }

  has(name: string, value?: Value): boolean {
    const found = this.#index.get(name);
    return found !== undefined && (value === undefined || found.some((pair) => pair[1] === value));
  }

  sort(): void {
    this.#list.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  }

  forEach(each: (value: Value, name: string, all: this) => void, self?: unknown): void {
    for (const [name, value] of this.#list) each.call(self, value, name, this);
  }

  *entries(): IterableIterator<[string, Value]> {
    for (const [name, value] of this.#list) yield [name, value];
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this.#list) yield name;
  }

  *values(): IterableIterator<Value> {
    for (const [, value] of this.#list) yield value;
  }

  [Symbol.iterator](): IterableIterator<[string, Value]> {
    return this.entries();
  }
}
