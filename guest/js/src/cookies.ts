import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { VariableException } from './exceptions.js';
import { expectNames } from './fields.js';
import { binaryText, utf8 } from './platform/utf8.js';
import { env } from './variables.js';

/** The attributes of a cookie. */
export interface SetCookie {
  path?: string;
  domain?: string;
  /** Seconds. */
  maxAge?: number;
  expires?: Date;
  httpOnly?: boolean;
  secure?: boolean;
  sameSite?: 'strict' | 'lax' | 'none';
}

const ATTRIBUTES: readonly string[] = ['path', 'domain', 'maxAge', 'expires', 'httpOnly', 'secure', 'sameSite'] satisfies readonly (keyof SetCookie)[];
const NAME = /^[A-Za-z0-9!$&'*+\-._~]+$/;
// eslint-disable-next-line no-control-regex
const WRONG = /[;\u0000-\u001f\u007f]/;

/** The value of `set-cookie`, or what is wrong. Values are encoded. */
export function cookieHeader(name: string, value: string, options: SetCookie = {}): string | { problem: string } {
  if (!NAME.test(name)) {
    return { problem: `\`${JSON.stringify(name).slice(1, -1)}\` cannot be the name of a cookie, expected letters, digits or \`-\`, such as \`session\`` };
  }
  const unknown = Object.keys(options).find((option) => !ATTRIBUTES.includes(option));
  if (unknown !== undefined) return { problem: `cookie \`${name}\` has the option \`${unknown}\`, expected one of \`${ATTRIBUTES.join('`, `')}\`` };
  let header = `${name}=${encodeURIComponent(value.toWellFormed())}`;
  for (const [attribute, text] of [
    ['Path', options.path],
    ['Domain', options.domain],
  ] as const) {
    if (text === undefined) continue;
    const at = text.search(WRONG);
    if (at >= 0) return { problem: `the ${attribute.toLowerCase()} of cookie \`${name}\` has the byte ${text.charCodeAt(at)}` };
    header += `; ${attribute}=${text}`;
  }
  if (options.maxAge !== undefined && !Number.isFinite(options.maxAge)) return { problem: `the \`maxAge\` of cookie \`${name}\` is ${options.maxAge}, expected seconds` };
  if (options.expires && !Number.isFinite(options.expires.getTime())) return { problem: `the \`expires\` of cookie \`${name}\` is an invalid date` };
  if (options.maxAge !== undefined) header += `; Max-Age=${Math.trunc(options.maxAge)}`;
  if (options.expires) header += `; Expires=${options.expires.toUTCString()}`;
  if (options.httpOnly) header += '; HttpOnly';
  if (options.secure) header += '; Secure';
  if (options.sameSite !== undefined && !['strict', 'lax', 'none'].includes(options.sameSite)) {
    return { problem: `the \`sameSite\` of cookie \`${name}\` is ${JSON.stringify(options.sameSite)}, expected \`strict\`, \`lax\` or \`none\`` };
  }
  if (options.sameSite) header += `; SameSite=${options.sameSite[0]?.toUpperCase()}${options.sameSite.slice(1)}`;
  return header;
}

/** The cookies of a request. Of several with one name the first counts; those that are malformed are left out. */
export class Cookies {
  readonly #values = new Map<string, string>();

  constructor(headers: readonly string[]) {
    const pairs: [string, string][] = [];
    for (const pair of headers.flatMap((header) => header.split(';'))) {
      const at = pair.indexOf('=');
      const name = pair.slice(0, Math.max(at, 0)).trim();
      // A name that is encoded could pass for one with the prefix `__Host-`, which browsers guard only as it is written.
      if (name !== '' && !name.includes('%')) pairs.push([name, pair.slice(at + 1).trim()]);
    }
    expectNames(pairs.map(([name]) => name), 'cookies');
    for (const [name, value] of pairs) {
      if (this.#values.has(name)) continue;
      try {
        this.#values.set(name, decodeURIComponent(value));
      } catch {
        // Any page of the domain can set a cookie that is malformed.
      }
    }
  }

  get(name: string): string | undefined {
    return this.#values.get(name);
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.#values.entries();
  }

  /** The value of a cookie that {@link CookieKey.sign} signed; `undefined` if the signature is not by this key. */
  signed(key: CookieKey, name: string): string | undefined {
    const value = this.get(name);
    return value === undefined ? undefined : key.verify(value);
  }
}

const FEWEST = 32;
const SIGNATURE = 44;

/** The key by which cookies are signed: clients can read such a cookie, and cannot change it. */
export class CookieKey {
  readonly #secret: Uint8Array;

  /** A key from a secret of 32 random bytes or more, in any encoding. */
  constructor(secret: string | Uint8Array) {
    const bytes = typeof secret === 'string' ? utf8(secret) : secret;
    if (bytes.length < FEWEST) throw new VariableException(`the secret of cookies has ${bytes.length} bytes, expected ${FEWEST} random bytes or more`);
    this.#secret = bytes;
  }

  /** A key from a variable of the module. */
  static fromVariable(name: string): CookieKey {
    const secret = env[name];
    if (secret === undefined) throw new VariableException(`the module has no variable \`${name}\`, expected ${FEWEST} random bytes or more`);
    return new CookieKey(secret);
  }

  #signature(value: string): string {
    return btoa(binaryText(hmac(sha256, this.#secret, utf8(value))));
  }

  /** The value with its signature, for `Reply.cookie`. The signature is that of the value: it is valid for each cookie of the key. */
  sign(value: string): string {
    return this.#signature(value) + value;
  }

  /** The value without its signature; `undefined` if a client wrote it, or it is older than the key. */
  verify(signed: string): string | undefined {
    const value = signed.slice(SIGNATURE);
    const [expected, found] = [this.#signature(value), signed.slice(0, SIGNATURE)];
    // Each character is compared, so that the time does not tell how many are right.
    let differences = expected.length ^ found.length;
    for (let at = 0; at < expected.length; at += 1) differences |= expected.charCodeAt(at) ^ found.charCodeAt(at);
    return differences === 0 ? value : undefined;
  }
}
