import { PreconditionFailedException } from './exceptions.js';
import { Reply, toReply } from './reply.js';

/** The validators of the present version of what a path shows. */
export interface Validators {
  /** The tag without quotation marks; `W/` before it makes it weak. */
  etag?: string;
  lastModified?: Date;
}

interface Headers {
  method: string;
  ifMatch: string | undefined;
  ifNoneMatch: string | undefined;
  ifModifiedSince: string | undefined;
  ifUnmodifiedSince: string | undefined;
}

type Verdict = 'holds' | 'not-modified' | 'failed';

/** The conditions of a request, by RFC 9110. A date that is malformed is no condition. */
export class Conditions {
  readonly #headers: Headers;

  constructor(headers: Headers) {
    this.#headers = headers;
  }

  /**
   * The reply of a handler that reads: that of `make` with the validators, 304 if the client has this version already, or the error 412.
   * `make` runs only for the first.
   */
  async reply(validators: Validators, make: () => unknown): Promise<Reply> {
    const verdict = this.#verdict(validators);
    if (verdict === 'failed') throw failed();
    const reply = verdict === 'holds' ? toReply(await make(), 'the reply') : Reply.empty(304);
    return withValidators(reply, validators);
  }

  /** For a handler that writes, before it does: 412 if a condition fails. */
  require(validators: Validators): void {
    if (this.#verdict(validators) !== 'holds') throw failed();
  }

  /** The order of section 13.2.2. A condition about a date is ignored beside one about tags, and without a date. */
  #verdict({ etag, lastModified }: Validators): Verdict {
    const { method, ifMatch, ifNoneMatch } = this.#headers;
    const reads = method === 'GET' || method === 'HEAD';
    const modified = lastModified && Math.floor(lastModified.getTime() / 1000);
    if (ifMatch !== undefined) {
      if (!isIn(ifMatch, etag, true)) return 'failed';
    } else {
      const since = seconds(this.#headers.ifUnmodifiedSince);
      if (since !== undefined && modified !== undefined && modified > since) return 'failed';
    }
    if (ifNoneMatch !== undefined) {
      if (!isIn(ifNoneMatch, etag, false)) return 'holds';
      return reads ? 'not-modified' : 'failed';
    }
    const since = seconds(this.#headers.ifModifiedSince);
    return reads && since !== undefined && modified !== undefined && modified <= since ? 'not-modified' : 'holds';
  }
}

function failed(): PreconditionFailedException {
  return new PreconditionFailedException('the present version does not fit the conditions of the request');
}

function withValidators(reply: Reply, { etag, lastModified }: Validators): Reply {
  if (etag !== undefined) {
    const [weak, tag] = etag.startsWith('W/') ? ['W/', etag.slice(2)] : ['', etag];
    // eslint-disable-next-line no-control-regex
    if (/["\u0000-\u0020\u007f]/.test(tag)) return reply.wrong(`\`${etag}\` cannot be a tag, expected no quotation marks and spaces`);
    reply.header('etag', `${weak}"${tag}"`);
  }
  if (lastModified) {
    if (Number.isNaN(lastModified.getTime())) return reply.wrong('the time of the last change is no date');
    reply.header('last-modified', lastModified.toUTCString());
  }
  return reply;
}

const DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

function seconds(text: string | undefined): number | undefined {
  if (text === undefined || !DATE.test(text.trim())) return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time / 1000;
}

/** Whether a list of tags has this one, by weak or strong comparison. What follows a mistake in the list does not count. */
function isIn(list: string, etag: string | undefined, isStrong: boolean): boolean {
  if (list.trim() === '*') return true;
  if (etag === undefined) return false;
  const [isWeak, wanted] = etag.startsWith('W/') ? [true, etag.slice(2)] : [false, etag];
  // A tag may have a comma, so the list is not split at commas.
  const TAG = /[ \t,]*(W\/)?"([^"]*)"(?=[ \t,]|$)/y;
  for (;;) {
    const found = TAG.exec(list);
    if (!found) return false;
    if (found[2] === wanted && !(isStrong && (isWeak || found[1] !== undefined))) return true;
  }
}
