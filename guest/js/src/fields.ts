/** What the readers of bodies and queries share: limits, names that are refused, and the charset. */

import { BadRequestException, PayloadTooLargeException, UnsupportedMediaTypeException } from './exceptions.js';
import { foreignCharset } from './header.js';
import { areColliding } from './names.js';
import { fromBinary, percentDecoded } from './platform/utf8.js';

/** The most names and values of a query or a form. In memory each takes up to twenty times its length. */
const MOST_FIELDS = 100_000;

/** Where the fields are, in the words of an error. */
export type FieldSource = 'query' | 'body';

/** Refuses the name of a prototype, which code that copies the fields would make a key of an object. */
export function expectName(name: string, source: FieldSource): void {
  if (name === '__proto__') throw new BadRequestException(`${source}: the name \`__proto__\` is not allowed`);
}

/** Refuses names that a client chose so that the engine finds each of them slowly. */
export function expectNames(names: readonly string[], source: FieldSource | 'cookies' | 'headers'): void {
  if (areColliding(names)) throw new BadRequestException(`${source}: too many of the names have the same hash`);
}

/** Refuses a content type of another charset than UTF-8. `where` is the body or a part. */
export function expectCharset(contentType: string, where: string): void {
  const charset = foreignCharset(contentType);
  if (charset !== undefined) throw new UnsupportedMediaTypeException(`${where}: expected the charset \`utf-8\`, got \`${charset}\``);
}

/** The text without the byte order mark at its beginning. */
export function withoutMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

function split(text: string, source: FieldSource): string[] {
  const found = text.split('&', MOST_FIELDS + 1);
  if (found.length > MOST_FIELDS) throw new PayloadTooLargeException(`${source}: there are too many fields, expected ${MOST_FIELDS} at most`);
  return found;
}

/** The query as browsers read it: what is not UTF-8 is replaced. */
export function searchParams(query: string): URLSearchParams {
  split(query, 'query');
  // The constructor removes one leading `?`. A `?` of the query itself is a character of the first name.
  const all = new URLSearchParams(`?${query}`);
  const names = [...all.keys()];
  for (const name of names) expectName(name, 'query');
  expectNames(names, 'query');
  return all;
}

/** The fields in their order. What is not UTF-8 is refused, where `URLSearchParams` replaces it. */
export function readFields(text: string, source: FieldSource): [string, string][] {
  const found: [string, string][] = [];
  for (const pair of split(text, source)) {
    if (pair === '') continue;
    const at = pair.indexOf('=');
    const name = decoded(at < 0 ? pair : pair.slice(0, at), source, undefined);
    expectName(name, source);
    found.push([name, decoded(at < 0 ? '' : pair.slice(at + 1), source, name)]);
  }
  expectNames(found.map(([name]) => name), source);
  return found;
}

/** An object of the fields for a schema. A name that occurs more than once has an array. */
export function fieldObject(fields: readonly (readonly [string, string])[]): Record<string, string | string[]> {
  const found = new Map<string, string | string[]>();
  for (const [name, value] of fields) {
    const before = found.get(name);
    if (before === undefined) found.set(name, value);
    else if (typeof before === 'string') found.set(name, [before, value]);
    else before.push(value);
  }
  return Object.fromEntries(found);
}

function decoded(text: string, source: FieldSource, name: string | undefined): string {
  const spaced = text.replaceAll('+', ' ');
  try {
    return decodeURIComponent(spaced);
  } catch {
    const found = fromBinary(percentDecoded(spaced));
    if (found === undefined) throw new BadRequestException(`${source}: ${name === undefined ? 'a name' : `\`${name}\``}: expected UTF-8`);
    return found;
  }
}
