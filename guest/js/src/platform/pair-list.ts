/** Names and values in their order, of which `URLSearchParams` and `FormData` are made. */

interface Pair<Value> {
  readonly name: string;
  value: Value;
  isDeleted: boolean;
}

/**
 * The pairs are in a list, and by their names in an index, so that no search reads every pair. Clients choose how many there are. The first search
 * makes the index. Deleted pairs stay in the list until they are half of it.
 */
export class PairList<Value> {
  #list: Pair<Value>[] = [];
  #deleted = 0;
  #index: Map<string, Pair<Value>[]> | undefined;

  get size(): number {
    return this.#list.length - this.#deleted;
  }

  append(name: string, value: Value): void {
    const pair = { name, value, isDeleted: false };
    this.#list.push(pair);
    if (this.#index) this.#addToIndex(pair, this.#index);
  }

  #addToIndex(pair: Pair<Value>, index: Map<string, Pair<Value>[]>): void {
    const before = index.get(pair.name);
    if (before) before.push(pair);
    else index.set(pair.name, [pair]);
  }

  #byName(): Map<string, Pair<Value>[]> {
    let index = this.#index;
    if (!index) {
      this.#index = index = new Map();
      for (const pair of this.#list) this.#addToIndex(pair, index);
    }
    return index;
  }

  set(name: string, value: Value): void {
    const found = this.#byName().get(name);
    const first = found?.[0];
    if (!first) return this.append(name, value);
    first.value = value;
    if (found.length > 1) this.#keep(name, (pair) => pair === first);
  }

  delete(name: string, value?: Value): void {
    this.#keep(name, (pair) => value !== undefined && pair.value !== value);
  }

  /** Deletes the pairs of a name, except for those that pass. */
  #keep(name: string, passes: (pair: Pair<Value>) => boolean): void {
    const rest: Pair<Value>[] = [];
    for (const pair of this.#byName().get(name) ?? []) {
      if (passes(pair)) rest.push(pair);
      else {
        pair.isDeleted = true;
        this.#deleted += 1;
      }
    }
    if (rest.length > 0) this.#byName().set(name, rest);
    else this.#byName().delete(name);
    if (this.#deleted * 2 > this.#list.length) this.#compact();
  }

  #compact(): void {
    this.#list = this.#list.filter((pair) => !pair.isDeleted);
    this.#deleted = 0;
  }

  get(name: string): Value | null {
    return this.#byName().get(name)?.[0]?.value ?? null;
  }

  getAll(name: string): Value[] {
    return this.#byName().get(name)?.map((pair) => pair.value) ?? [];
  }

  has(name: string, value?: Value): boolean {
    const found = this.#byName().get(name);
    return found !== undefined && (value === undefined || found.some((pair) => pair.value === value));
  }

  sort(): void {
    this.#compact();
    this.#list.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  }

  forEach(each: (value: Value, name: string, all: this) => void, self?: unknown): void {
    for (const [name, value] of this) each.call(self, value, name, this);
  }

  *entries(): IterableIterator<[string, Value]> {
    for (const { name, value, isDeleted } of this.#list) if (!isDeleted) yield [name, value];
  }

  *keys(): IterableIterator<string> {
    for (const { name, isDeleted } of this.#list) if (!isDeleted) yield name;
  }

  *values(): IterableIterator<Value> {
    for (const { value, isDeleted } of this.#list) if (!isDeleted) yield value;
  }

  [Symbol.iterator](): IterableIterator<[string, Value]> {
    return this.entries();
  }
}
