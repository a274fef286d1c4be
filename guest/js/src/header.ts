import type { RawHeader } from './host.js';
import { utf8 } from './platform/utf8.js';

/** What a header can be made of: an object, pairs, or `Headers`. */
export type HeadersLike = Headers | Iterable<readonly [string, string]> | Record<string, string | readonly string[]>;

const NAME = /^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/;
// eslint-disable-next-line no-control-regex
const WRONG = /[\u0000-\u0008\u000a-\u001f\u007f]/;

/** What is wrong with a header, by the rules of the host; `undefined` if nothing is. */
export function headerProblem(name: string, value: string): string | undefined {
  if (!NAME.test(name)) return `\`${JSON.stringify(name).slice(1, -1)}\` cannot be the name of a header, expected a token such as \`x-name\``;
  const at = value.search(WRONG);
  if (at < 0) return undefined;
  return `the value of header \`${name}\` has the byte ${value.charCodeAt(at)} at position ${at}, which a header cannot have`;
}

export function rawHeader(name: string, value: string): RawHeader {
  return { name, value: utf8(value) };
}

export function pairs(headers: HeadersLike): [string, string][] {
  if (typeof (headers as Iterable<unknown>)[Symbol.iterator] === 'function') {
    return [...(headers as Iterable<readonly [string, string]>)].map(([name, value]) => [name, value]);
  }
  const found: [string, string][] = [];
  for (const [name, value] of Object.entries(headers as Record<string, string | readonly string[]>)) {
    for (const one of typeof value === 'string' ? [value] : value) found.push([name, one]);
  }
  return found;
}

/** The media type without its parameters, in lower case. */
export function essence(contentType: string): string {
  return (contentType.split(';')[0] ?? '').trim().toLowerCase();
}

/** The parameters of a header such as `content-type`, with their names in lower case. A `;` in quotation marks ends none. */
export function parameters(header: string): [name: string, value: string][] {
  const found: [string, string][] = [];
  if (!header.includes(';')) return found;
  for (const part of header.match(/(?:[^;"]+|"(?:[^"\\]|\\.)*"?)+/g) ?? []) {
    const at = part.indexOf('=');
    if (at < 0) continue;
    const value = part.slice(at + 1).trim();
    const isQuoted = value.length > 1 && value.startsWith('"') && value.endsWith('"');
    found.push([part.slice(0, at).trim().toLowerCase(), isQuoted ? value.slice(1, -1).replace(/\\(["\\])/g, '$1') : value]);
  }
  return found;
}

/** The names of UTF-8 and of its subset. */
const UTF8 = ['utf-8', 'utf8', 'us-ascii'];

/** The charset that a content type declares, unless it is UTF-8 or a subset of it. */
export function foreignCharset(contentType: string): string | undefined {
  return parameters(contentType).find(([name, value]) => name === 'charset' && !UTF8.includes(value.toLowerCase()))?.[1];
}
