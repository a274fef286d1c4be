/**
 * Searches a text of JSON: for what is no JSON, for what a client may not send, and for the places of values.
 *
 * Clients choose the text, so each search takes time in proportion to its length. In QuickJS a step of a loop over characters takes a tenth of a
 * microsecond, ten times as long as a step within a regular expression. Therefore expressions cut the text into pieces, and loops see only the
 * tokens of a piece. Pieces are short, since an expression keeps memory for each repetition of a group.
 */

/** A problem of a text and its place. In a message, `problem` precedes the place, and `rest` follows it. */
export interface Fault {
  index: number;
  problem: string;
  rest?: string;
}

/** Such as `expected a JSON value at line 1 column 2`, and ``the key `__proto__` at line 1, column 2 is not allowed``. */
export function faultText(text: string, { index, problem, rest }: Fault): string {
  const place = new Places(text).at(index);
  return rest === undefined ? `${problem} at ${place}` : `${problem} at ${place.replace(' column', ', column')}${rest}`;
}

/** How deep the JSON of a client may be nested. The engine reads it by recursion, and the end of its stack would be a crash. */
const DEEPEST = 128;
const BLOCK = 4096;
const SPACE = '[ \\t\\n\\r]';

/** Whether a text has a word. QuickJS takes ten times as long for `includes`. */
function has(text: string, word: string): boolean {
  return text.split(word, 2).length > 1;
}

/** The text with the same positions, in which each quotation mark begins or ends a string. */
function withoutQuotes(text: string): string {
  return has(text, '\\') ? text.replaceAll('\\\\', '..').replaceAll('\\"', '..') : text;
}

/** Lines and columns of positions that ascend, both from 1. */
class Places {
  readonly #text: string;
  #line = 1;
  #lineStart = 0;
  #read = 0;

  constructor(text: string) {
    this.#text = text;
  }

  at(index: number): string {
    const between = this.#text.slice(this.#read, index);
    this.#line += between.split('\n').length - 1;
    const last = between.lastIndexOf('\n');
    if (last >= 0) this.#lineStart = this.#read + last + 1;
    this.#read = index;
    return `line ${this.#line} column ${index - this.#lineStart + 1}`;
  }
}

/** The first bracket that is too deep. What is no JSON in another way is left to the parser, which stops there. */
export function depthFault(text: string): Fault | undefined {
  // Most texts have fewer brackets than the limit.
  if (text.split('[', DEEPEST + 2).length + text.split('{', DEEPEST + 2).length - 2 <= DEEPEST) return undefined;
  const plain = withoutQuotes(text);
  let depth = 0;
  let isInString = false;
  for (let start = 0; start < plain.length; start += BLOCK) {
    const opened: string = isInString ? '"' : '';
    const block: string = opened + plain.slice(start, start + BLOCK);
    const outside: string = block.replace(/"[^"]*"/g, '');
    isInString = outside.includes('"');
    let count = 0;
    for (const bracket of outside.replace(/"[^]*|[^[\]{}"]+/g, '')) {
      count += 1;
      depth += bracket === '[' || bracket === '{' ? 1 : -1;
      if (depth > DEEPEST) return { index: start - opened.length + bracketOf(block, count), problem: `it is nested more than ${DEEPEST} deep` };
    }
  }
  return undefined;
}

/** The index of a bracket outside of strings, by its number. */
function bracketOf(block: string, count: number): number {
  const brackets = /"[^"]*"|[[\]{}]/g;
  for (let left = count, found = brackets.exec(block); found; found = brackets.exec(block)) {
    if (found[0].length === 1) left -= 1;
    if (left === 0) return found.index;
  }
  return 0;
}

/** An expression for a key, whose letters may be escapes. */
function key(name: string): string {
  const letters = [...name].map((letter) => {
    const code = letter.charCodeAt(0).toString(16).replace(/[a-f]/, (digit) => `[${digit}${digit.toUpperCase()}]`);
    return `(?:${letter}|\\\\u00${code})`;
  });
  return `"${letters.join('')}"${SPACE}*:`;
}

const PROTO = new RegExp(key('__proto__'));
const PROTOTYPE = new RegExp(key('prototype'));
const CONSTRUCTOR = new RegExp(`${key('constructor')}${SPACE}*\\{`);
/** Up to a brace, except for those of an empty object, or the next of the two keys. */
const MEMBER = new RegExp(
  `(?:[^{}"]+|\\{[^{}"]*\\}|"(?!${CONSTRUCTOR.source.slice(1)}|${PROTOTYPE.source.slice(1)})[^"]*"){0,256}(?:(${CONSTRUCTOR.source})|(${PROTOTYPE.source})|([{}]))?`,
  'y',
);
const LONE_SURROGATE =
  /\\u[dD](?:[89abAB][\da-fA-F]{2}(?!\\u[dD][c-fC-F])|[c-fC-F][\da-fA-F]{2}(?<!\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}))/;

/**
 * What a text that is JSON may not have: a key that `Object.assign` and other programs take for the prototype of an object, and an escape that
 * is half of a character, which UTF-8 cannot write.
 */
export function forbiddenIn(text: string): Fault | undefined {
  const hasEscapes = has(text, '\\u');
  if (!hasEscapes && !has(text, 'proto')) return undefined;
  const plain = withoutQuotes(text);
  const proto = plain.search(PROTO);
  if (proto >= 0) return { index: proto, problem: 'the key `__proto__`', rest: ' is not allowed' };
  const prototype = CONSTRUCTOR.test(plain) && PROTOTYPE.test(plain) ? prototypeOf(plain) : undefined;
  if (prototype !== undefined) return { index: prototype, problem: 'the key `constructor.prototype`', rest: ' is not allowed' };
  const half = hasEscapes ? plain.search(LONE_SURROGATE) : -1;
  return half < 0 ? undefined : { index: half, problem: `\`${text.slice(half, half + 6).toLowerCase()}\``, rest: ' is half of a surrogate pair, expected both halves' };
}

/** The index of a key `prototype` in an object that is the value of a key `constructor`. */
function prototypeOf(plain: string): number | undefined {
  const isConstructor: boolean[] = [];
  MEMBER.lastIndex = 0;
  for (let found = MEMBER.exec(plain); found && found[0] !== ''; found = MEMBER.exec(plain)) {
    const [, constructor, prototype, brace] = found;
    if (constructor !== undefined || brace === '{') isConstructor.push(constructor !== undefined);
    else if (brace === '}') isConstructor.pop();
    else if (prototype !== undefined && isConstructor.at(-1)) return MEMBER.lastIndex - prototype.length;
  }
  return undefined;
}

const STRING = '"[^"\\\\\\u0000-\\u001f]*"';
const SCALAR = '-?(?:0|[1-9]\\d*)(?:\\.\\d+)?(?:[eE][+-]?\\d+)?|true|false|null';
const TOKEN = `${SPACE}+|[[\\]{},:]|${STRING}|(?:${SCALAR})(?![\\w.+-])`;
const ONE = new RegExp(TOKEN, 'y');
const PIECE = new RegExp(`(?:${TOKEN}){1,512}`, 'y');
const BEGUN_SCALAR = new RegExp(SCALAR, 'y');
// eslint-disable-next-line no-control-regex
const BEGUN_STRING = /"[^"\\\u0000-\u001f]*/y;

/** The wanted members of a value, by their names or indexes. `wanted` are the numbers of the paths that end here. */
interface Wanted {
  members: Map<string, Wanted>;
  paths: number[];
}

/** The first place that is no JSON; `undefined` if the whole text is JSON. The engines say it in words of their own, or not at all. */
export function jsonFault(text: string): Fault | undefined {
  return new Scan(text, undefined, () => undefined).run();
}

/** The line and column of the last character of the value at each path, found by one scan; `undefined` where there is no such value. */
export function placesOf(text: string, paths: readonly (readonly PropertyKey[])[]): (string | undefined)[] {
  const root: Wanted = { members: new Map(), paths: [] };
  paths.forEach((path, number) => {
    let wanted = root;
    for (const part of path.map(String)) {
      let next = wanted.members.get(part);
      if (!next) wanted.members.set(part, (next = { members: new Map(), paths: [] }));
      wanted = next;
    }
    wanted.paths.push(number);
  });
  const places = new Places(text);
  const found: (string | undefined)[] = paths.map(() => undefined);
  const ended = (wanted: Wanted, index: number): void => {
    const place = places.at(index);
    for (const number of wanted.paths) found[number] = place;
  };
  new Scan(text, root, ended).run();
  return found;
}

const [COMMA, COLON, QUOTE, SCALAR_TOKEN, LIST, OBJECT] = [0x2c, 0x3a, 0x22, 0x30, 0x5b, 0x7b];

type Expected = 'value' | 'first value' | 'name' | 'first name' | 'colon' | 'comma' | 'end';

/** Reads the tokens of JSON without making its values. */
class Scan {
  readonly #text: string;
  /** The text with the same positions, without escapes. */
  readonly #masked: string;
  readonly #ended: (wanted: Wanted, last: number) => void;
  #expected: Expected = 'value';
  /** The brackets that end the lists and objects which are open, with what is wanted of them and the index of their present member. */
  readonly #ends: string[] = [];
  readonly #wanted: (Wanted | undefined)[] = [];
  readonly #indexes: number[] = [];
  /** What is wanted of the next value. */
  #next: Wanted | undefined;

  constructor(text: string, wanted: Wanted | undefined, ended: (wanted: Wanted, last: number) => void) {
    this.#text = text;
    let masked = withoutQuotes(text).replace(/\\u[\da-fA-F]{4}/g, '......');
    for (const letter of '/bfnrt') masked = masked.replaceAll(`\\${letter}`, '..');
    this.#masked = masked;
    this.#next = wanted;
    this.#ended = ended;
  }

  run(): Fault | undefined {
    for (let start = 0; ; start = PIECE.lastIndex) {
      PIECE.lastIndex = start;
      const piece = PIECE.exec(this.#masked)?.[0];
      if (piece === undefined) return this.#end(start);
      const tokens = piece.replace(/"[^"]*"/g, '"').replace(/[^ \t\n\r[\]{},:"]+/g, '0').replace(/[ \t\n\r]+/g, '');
      if (this.#skim(tokens)) continue;
      const cursor = new Cursor(this.#masked, start);
      let number = 0;
      for (const token of tokens) {
        number += 1;
        if (!this.#take(token, cursor, number)) return this.#fault(cursor.begin(number));
      }
    }
  }

  /** Takes the tokens of a piece at once, if nothing is wanted and all of them are right. {@link #take} needs five times as long. */
  #skim(tokens: string): boolean {
    if (this.#next || this.#wanted.some((wanted) => wanted !== undefined)) return false;
    const ends = [...this.#ends];
    let end = ends.at(-1);
    let expected = this.#expected;
    // An iterator, and texts of one character, take several times as long.
    for (let at = 0; at < tokens.length; at += 1) {
      switch (tokens.charCodeAt(at)) {
        case COMMA:
          if (expected !== 'comma') return false;
          expected = end === ']' ? 'value' : 'name';
          break;
        case COLON:
          if (expected !== 'colon') return false;
          expected = 'value';
          break;
        case QUOTE:
          if (expected === 'name' || expected === 'first name') {
            expected = 'colon';
            break;
          }
        // A string that is a value.
        case SCALAR_TOKEN:
          if (expected !== 'value' && expected !== 'first value') return false;
          expected = end === undefined ? 'end' : 'comma';
          break;
        case LIST:
        case OBJECT:
          if (expected !== 'value' && expected !== 'first value') return false;
          end = tokens[at] === '[' ? ']' : '}';
          expected = end === ']' ? 'first value' : 'first name';
          ends.push(end);
          break;
        default:
          if (tokens[at] !== end || (expected !== 'comma' && expected !== (end === ']' ? 'first value' : 'first name'))) return false;
          ends.pop();
          end = ends[ends.length - 1];
          expected = end === undefined ? 'end' : 'comma';
      }
    }
    this.#expected = expected;
    this.#ends.splice(0, Infinity, ...ends);
    this.#wanted.splice(0, Infinity, ...ends.map(() => undefined));
    this.#indexes.splice(0, Infinity, ...ends.map(() => -1));
    return true;
  }

  #take(token: string, cursor: Cursor, number: number): boolean {
    const expected = this.#expected;
    if ((expected === 'first value' && token === ']') || (expected === 'first name' && token === '}')) return this.#close(cursor, number);
    switch (expected) {
      case 'first value':
      case 'value':
        if (token === '"' || token === '0') return this.#valueEnds(this.#next, cursor, number);
        if (token === '[') return this.#open(']', 'first value');
        return token === '{' && this.#open('}', 'first name');
      case 'first name':
      case 'name':
        if (token !== '"') return false;
        if (this.#wanted.at(-1)) this.#name(cursor, number);
        this.#expected = 'colon';
        return true;
      case 'colon':
        if (token !== ':') return false;
        this.#expected = 'value';
        return true;
      case 'comma':
        if (token !== ',') return token === this.#ends.at(-1) && this.#close(cursor, number);
        this.#expected = this.#ends.at(-1) === ']' ? 'value' : 'name';
        if (this.#wanted.at(-1)) this.#item();
        return true;
      default:
        return false;
    }
  }

  #open(end: string, expected: Expected): boolean {
    this.#ends.push(end);
    this.#wanted.push(this.#next);
    this.#indexes.push(-1);
    this.#expected = expected;
    if (this.#next) this.#item();
    return true;
  }

  /** The next value of a list. That of an object is known by its name. */
  #item(): void {
    if (this.#ends.at(-1) !== ']') return;
    const index = (this.#indexes.pop() ?? 0) + 1;
    this.#indexes.push(index);
    this.#next = this.#wanted.at(-1)?.members.get(String(index));
  }

  #name(cursor: Cursor, number: number): void {
    const begin = cursor.begin(number);
    const name = JSON.parse(this.#text.slice(begin, cursor.end(number))) as string;
    this.#next = this.#wanted.at(-1)?.members.get(name);
  }

  #close(cursor: Cursor, number: number): boolean {
    this.#ends.pop();
    this.#indexes.pop();
    return this.#valueEnds(this.#wanted.pop(), cursor, number);
  }

  #valueEnds(wanted: Wanted | undefined, cursor: Cursor, number: number): boolean {
    if (wanted && wanted.paths.length > 0) this.#ended(wanted, cursor.end(number) - 1);
    this.#next = undefined;
    this.#expected = this.#ends.length === 0 ? 'end' : 'comma';
    return true;
  }

  /** The fault at the end of the tokens, if it is not the end of a whole text. */
  #end(at: number): Fault | undefined {
    if (at === this.#masked.length && this.#expected === 'end') return undefined;
    const isName = this.#expected === 'name' || this.#expected === 'first name';
    if ((isName || this.#expected.endsWith('value')) && this.#masked[at] === '"') return this.#stringFault(at);
    BEGUN_SCALAR.lastIndex = at;
    if (!this.#expected.endsWith('value') || !BEGUN_SCALAR.test(this.#masked)) return this.#fault(at);
    // Such as `01`: a number, and then what may not follow it.
    this.#expected = this.#ends.length === 0 ? 'end' : 'comma';
    return this.#fault(BEGUN_SCALAR.lastIndex);
  }

  #stringFault(at: number): Fault {
    BEGUN_STRING.lastIndex = at;
    BEGUN_STRING.test(this.#masked);
    const index = BEGUN_STRING.lastIndex;
    const found = this.#masked[index];
    if (found === '\\') return { index, problem: 'expected an escape such as `\\n` or `\\u00e9`' };
    if (found !== undefined) return { index, problem: `expected \`\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}\` in place of the control character` };
    const isValue = this.#expected.endsWith('value');
    return { index: at, problem: isValue ? 'expected a text that ends with `"`' : 'expected a name in quotation marks' };
  }

  #fault(index: number): Fault {
    const expected: Record<Expected, string> = {
      value: 'a JSON value',
      'first value': 'a JSON value',
      name: 'a name in quotation marks',
      'first name': 'a name in quotation marks',
      colon: '`:`',
      comma: `\`,\` or \`${this.#ends.at(-1)}\``,
      end: 'the end of the text',
    };
    return { index, problem: `expected ${expected[this.#expected]}` };
  }
}

/** The positions of tokens of a piece, by their numbers, which ascend. */
class Cursor {
  readonly #text: string;
  #number = 0;
  #begin = 0;
  #end: number;

  constructor(text: string, start: number) {
    this.#text = text;
    this.#end = start;
  }

  begin(number: number): number {
    this.#find(number);
    return this.#begin;
  }

  end(number: number): number {
    this.#find(number);
    return this.#end;
  }

  #find(number: number): void {
    while (this.#number < number) {
      this.#begin = ONE.lastIndex = this.#end;
      const token = ONE.exec(this.#text)?.[0] ?? ' ';
      this.#end += token.length;
      if (!/^[ \t\n\r]/.test(token)) this.#number += 1;
    }
  }
}
