import { PairList } from './pair-list.js';
import { percentDecoded, replacedBinary } from './utf8.js';

type Init = string | Record<string, string> | Iterable<readonly [string, string]>;

function decode(text: string): string {
  const spaced = text.replaceAll('+', ' ');
  try {
    return decodeURIComponent(spaced);
  } catch {
    // Bytes that are not UTF-8 become U+FFFD.
    return replacedBinary(percentDecoded(spaced));
  }
}

function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(/%20|[!'()~]/g, (part) => (part === '%20' ? '+' : `%${part.charCodeAt(0).toString(16).toUpperCase()}`));
}

/** Names and values, as in a query or a form. */
export class URLSearchParams extends PairList<string> {
  constructor(init: Init = '') {
    super();
    if (typeof init === 'string') {
      for (const pair of init.replace(/^\?/, '').split('&')) {
        if (pair === '') continue;
        const at = pair.indexOf('=');
        super.append(decode(at < 0 ? pair : pair.slice(0, at)), at < 0 ? '' : decode(pair.slice(at + 1)));
      }
    } else if (Symbol.iterator in init) {
      for (const [name, value] of init as Iterable<readonly [string, string]>) this.append(name, value);
    } else {
      for (const [name, value] of Object.entries(init)) this.append(name, value);
    }
  }

  override append(name: string, value: string): void {
    super.append(String(name).toWellFormed(), String(value).toWellFormed());
  }

  override set(name: string, value: string): void {
    super.set(String(name).toWellFormed(), String(value).toWellFormed());
  }

  override toString(): string {
    return [...this].map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&');
  }

  get [Symbol.toStringTag](): string {
    return 'URLSearchParams';
  }
}
