// core-js takes a random number when it is evaluated, for a name that must differ within the program only.
import './random-constant.js';
import { URL as CoreUrl } from './url-of-core-js.js';
import './random-again.js';

/** A longer text is no URL: core-js takes up to 35 µs for each character, and a client may choose the text. */
const LONGEST = 16_384;

type Text = string | globalThis.URL;

function isShort(...texts: (string | undefined)[]): boolean {
  return texts.every((text) => text === undefined || text.length <= LONGEST);
}

function textOf(given: Text | undefined): string | undefined {
  return given === undefined ? undefined : String(given);
}

export class URL extends CoreUrl {
  constructor(url: Text, base?: Text) {
    const [text, ofBase] = [String(url), textOf(base)];
    if (!isShort(text, ofBase)) throw new TypeError(`Invalid URL: it has more than ${LONGEST} characters`);
    super(text, ofBase);
  }

  static override canParse(url: Text, base?: Text): boolean {
    const [text, ofBase] = [String(url), textOf(base)];
    return isShort(text, ofBase) && super.canParse(text, ofBase);
  }

  static override parse(url: Text, base?: Text): URL | null {
    return URL.canParse(url, base) ? new URL(url, base) : null;
  }
}
