/**
 * Searches a text of JSON: for what is no JSON, for what a client may not send, and for the places of values.
 *
 * Clients choose the text, so each search takes time in proportion to its length. In QuickJS a step of a loop over characters takes a tenth of a
 * microsecond, ten times as long as a step within a regular expression. Therefore expressions cut the text into pieces, and loops see only the
 * tokens of a piece. Pieces are short, since an expression keeps memory for each repetition of a group.
 */

import { areColliding, FEW_NAMES } from './names.js';

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

/** A shorter text has too few names for a collision of their hashes to cost much. */
const LONG = 32 * 1024;

/** The problem of a text whose names make the parser slow. Of a text that is no JSON, the names up to the fault count. */
export function collisionProblem(text: string): string | undefined {
  if (text.length < LONG || text.split(':', FEW_NAMES + 2).length <= FEW_NAMES + 1) return undefined;
  return areColliding(namesOf(text)) ? 'too many of its keys have the same hash' : undefined;
}

/** The names of all objects. */
function namesOf(text: string): string[] {
  const plain = withoutQuotes(text);
  const hasEscapes = has(text, '\\');
  // The texts outside of strings and within are in turns.
  const segments = plain.split('"');
  const names: string[] = [];
  let at = 0;
  for (let number = 1; number + 1 < segments.length; number += 2) {
    const after = segments[number + 1] ?? '';
    let name = segments[number] ?? '';
    if (hasEscapes) {
      at += (segments[number - 1]?.length ?? 0) + 1;
      name = text.slice(at, at + name.length);
      at += name.length + 1;
    }
    if (after.charCodeAt(0) === 58 || after.trimStart().charCodeAt(0) === 58) names.push(name);
  }
  return hasEscapes ? decoded(names) : names;
}

/** Names without escapes, up to the first that is no JSON: there the parser stops. */
function decoded(names: readonly string[]): string[] {
  try {
    return JSON.parse(`["${names.join('","')}"]`) as string[];
  } catch {
    const valid: string[] = [];
    for (const name of names) {
      try {
        valid.push(JSON.parse(`"${name}"`) as string);
      } catch {
        break;
      }
    }
    return valid;
  }
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
const PROTOTYPES = new RegExp(key('prototype'), 'g');
const CONSTRUCTORS = new RegExp(`${key('constructor')}${SPACE}*\\{`, 'g');
// No text that is JSON has these characters.
const CONSTRUCTOR = '\u0001';
const PROTOTYPE = '\u0002';
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
  const found: Fault[] = [];
  const add = (index: number | undefined, problem: string, rest: string): void => {
    if (index !== undefined && index >= 0) found.push({ index, problem, rest });
  };
  const proto = plain.search(PROTO);
  add(proto, 'the key `__proto__`', ' is not allowed');
  add(prototypeOf(proto < 0 ? plain : plain.slice(0, proto)), 'the key `constructor.prototype`', ' is not allowed');
  const half = hasEscapes ? plain.search(LONE_SURROGATE) : -1;
  add(half, `\`${text.slice(half, half + 6).toLowerCase()}\``, ' is half of a surrogate pair, expected both halves');
  return found.sort((a, b) => a.index - b.index)[0];
}

/** The index of a key `prototype` in an object that is the value of a key `constructor`. */
function prototypeOf(plain: string): number | undefined {
  const marked = plain.replace(CONSTRUCTORS, CONSTRUCTOR);
  if (marked === plain) return undefined;
  // Of the rest only braces matter, and an object without objects and without the key does not.
  // eslint-disable-next-line no-control-regex
  const marks = marked.replace(PROTOTYPES, PROTOTYPE).replace(/"[^"]*"/g, '').replace(/[^{}\u0001\u0002]+/g, '').replace(/[{\u0001]\}/g, '');
  const isConstructor: boolean[] = [];
  let count = 0;
  for (const mark of marks) {
    if (mark === '}') isConstructor.pop();
    else if (mark !== PROTOTYPE) isConstructor.push(mark === CONSTRUCTOR);
    else if (isConstructor.at(-1)) return indexOfMatch(PROTOTYPES, plain, count);
    else count += 1;
  }
  return undefined;
}

/** The index of a match by its number, from 0. */
function indexOfMatch(pattern: RegExp, text: string, number: number): number | undefined {
  pattern.lastIndex = 0;
  let found = pattern.exec(text);
  for (let left = number; found && left > 0; left -= 1) found = pattern.exec(text);
  return found?.index;
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

/** What the next token is, and the words for it in an error. */
const VALUE = 0;
const FIRST_VALUE = 1;
const NAME = 2;
const FIRST_NAME = 3;
const COLON = 4;
const COMMA = 5;
const END = 6;
const EXPECTED = ['a JSON value', 'a JSON value', 'a name in quotation marks', 'a name in quotation marks', '`:`', '', 'the end of the text'];

/**
 * The first place that is no JSON; `undefined` if the whole text is JSON. `error` is that of `JSON.parse`. The engines name the place in words
 * of their own, or not at all; a scan of the text takes twenty times as long as `JSON.parse`, and is for an error that is not understood.
 */
export function jsonFault(text: string, error?: unknown): Fault | undefined {
  const at = indexOfToken(text, error);
  const state = at === undefined ? undefined : (stateOf(error) ?? stateAt(text, at));
  if (at === undefined || !state) return scan(text, undefined, () => undefined);
  const fault = faultAt(withoutEscapes(text.slice(at)), 0, ...state);
  return { ...fault, index: at + fault.index };
}

/** What an engine expected, by the first words of its error: QuickJS and Node have the same words for these. */
const STATES: readonly (readonly [words: string, expected: number, end: string])[] = [
  ['Expected property name', NAME, '}'],
  ["Expected ':'", COLON, '}'],
  ["Expected ',' or '}'", COMMA, '}'],
  ["Expected ',' or ']'", COMMA, ']'],
  ['unexpected data at the end', END, ''],
];

/** What is expected where an error of `JSON.parse` is, and the bracket that ends the list or object there. */
function stateOf(error: unknown): [expected: number, end: string] | undefined {
  const { message = '' } = error as { message?: string };
  const found = STATES.find(([words]) => message.startsWith(words));
  return found && [found[1], found[2]];
}

/** What is expected at the begin of a token, if the text before it is the begin of JSON. */
function stateAt(text: string, at: number): [expected: number, end: string] {
  switch (text.slice(0, at).trimEnd().at(-1)) {
    case undefined:
      return [VALUE, ''];
    case '[':
      return [FIRST_VALUE, ']'];
    case '{':
      return [FIRST_NAME, '}'];
    case ':':
      return [VALUE, '}'];
    default:
  }
  // Only the engine knows what surrounds a comma or a value.
  try {
    JSON.parse(`${text.slice(0, at)}\u0001`);
  } catch (error) {
    return stateOf(error) ?? [VALUE, ']'];
  }
  return [END, ''];
}

/** The index of the token that `JSON.parse` of QuickJS could not read, which is the first place in the stack of its error. */
function indexOfToken(text: string, error: unknown): number | undefined {
  const [, line, column] = /^\s*at <input>:(\d+):(\d+)\n/.exec(String((error as { stack?: unknown } | undefined)?.stack)) ?? [];
  if (line === undefined || column === undefined) return undefined;
  // Each of these begins a line in the engine.
  const lines = has(text, '\r') ? text.replaceAll('\r\n', ' \n').replaceAll('\r', '\n') : text;
  const start = startOfLine(lines, Number(line));
  return start === undefined ? undefined : indexOfByte(lines, start, Number(column) - 1);
}

const PART = 64 * 1024;

/** The index of the begin of a line, from 1. */
function startOfLine(text: string, line: number): number | undefined {
  let left = line - 1;
  for (let start = 0; start < text.length || left === 0; start += PART) {
    if (left === 0) return start;
    const rows = text.slice(start, start + PART).split('\n', left + 1);
    left -= rows.length - 1;
    if (left === 0) return start + rows.slice(0, -1).join('\n').length + 1;
  }
  return undefined;
}

/** The index behind a number of bytes of UTF-8. */
function indexOfByte(text: string, start: number, bytes: number): number {
  let [at, left] = [start, bytes];
  for (let part = text.slice(at, at + BLOCK); part !== '' && bytesOf(part) <= left; part = text.slice(at, at + BLOCK)) {
    at += part.length;
    left -= bytesOf(part);
  }
  for (; left > 0; at += 1) left -= bytesOf(text.charAt(at)) || left;
  return at;
}

/** The length in UTF-8. A character of four bytes is a pair of surrogates. */
function bytesOf(text: string): number {
  // eslint-disable-next-line no-control-regex
  const long = text.replace(/[\0-\x7f]+/g, '');
  return text.length + long.length + long.replace(/[\x80-\u07ff\ud800-\udfff]+/g, '').length;
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
  scan(text, root, ended);
  return found;
}

/**
 * Reads the tokens of a text without making its values, up to the first fault. `root` is what is wanted of the value; `ended` gets the index of the
 * last character of each value that is wanted. The state is in variables, since the engine reads fields more slowly.
 */
function scan(text: string, root: Wanted | undefined, ended: (wanted: Wanted, last: number) => void): Fault | undefined {
  const masked = withoutEscapes(text);
  let expected = VALUE;
  // The lists and objects that are open: the brackets that end them, and of the wanted ones what is wanted and the index of the present member.
  const ends: string[] = [];
  const open: { wanted: Wanted | undefined; index: number }[] = [];
  let end = '';
  let inner: Wanted | undefined;
  let index = 0;
  let next = root;
  for (let start = 0; ; start = PIECE.lastIndex) {
    PIECE.lastIndex = start;
    const piece = PIECE.exec(masked)?.[0];
    if (piece === undefined) {
      if (start === masked.length && expected === END) return undefined;
      return faultAt(masked, start, expected, end);
    }
    const tokens = piece.replace(/"[^"]*"/g, '"').replace(/[^ \t\n\r[\]{},:"]+/g, '0').replace(/[ \t\n\r]+/g, '');
    const cursor = new Cursor(masked, start);
    let number = 0;
    for (const token of tokens) {
      number += 1;
      if (token === ',' && expected === COMMA) {
        expected = end === ']' ? VALUE : NAME;
        if (inner && end === ']') next = inner.members.get(String((index += 1)));
        continue;
      }
      if (token === '"' && (expected === NAME || expected === FIRST_NAME)) {
        expected = COLON;
        if (inner) next = inner.members.get(JSON.parse(text.slice(cursor.begin(number), cursor.end(number))) as string);
        continue;
      }
      if (token === ':' && expected === COLON) {
        expected = VALUE;
        continue;
      }
      let wanted = next;
      if (expected <= FIRST_VALUE && (token === '[' || token === '{')) {
        ends.push(end);
        open.push({ wanted: inner, index });
        inner = wanted;
        index = 0;
        end = token === '[' ? ']' : '}';
        expected = token === '[' ? FIRST_VALUE : FIRST_NAME;
        next = token === '[' ? inner?.members.get('0') : undefined;
        continue;
      }
      // Here the token ends a value, or it is wrong.
      const closes = token === end && (expected === COMMA || expected === FIRST_VALUE || expected === FIRST_NAME);
      if (closes) {
        wanted = inner;
        end = ends.pop() ?? '';
        const outer = open.pop();
        inner = outer?.wanted;
        index = outer?.index ?? 0;
      } else if (expected > FIRST_VALUE || (token !== '"' && token !== '0')) {
        return faultAt(masked, cursor.begin(number), expected, end);
      }
      if (wanted && wanted.paths.length > 0) ended(wanted, cursor.end(number) - 1);
      next = undefined;
      expected = end === '' ? END : COMMA;
    }
  }
}

/** The text with the same positions, without escapes. The engine needs a tenth of the time for each letter of its own. */
function withoutEscapes(text: string): string {
  let masked = withoutQuotes(text);
  if (!has(masked, '\\')) return masked;
  for (const letter of '/bfnrt') masked = masked.replaceAll(`\\${letter}`, '..');
  return masked.replace(/\\u[\da-fA-F]{4}/g, '......');
}

function faultAt(masked: string, at: number, expected: number, end: string): Fault {
  const isValue = expected <= FIRST_VALUE;
  if (masked[at] === '"' && expected <= FIRST_NAME) {
    BEGUN_STRING.lastIndex = at;
    BEGUN_STRING.test(masked);
    const index = BEGUN_STRING.lastIndex;
    const found = masked[index];
    if (found === '\\') return { index, problem: 'expected an escape such as `\\n` or `\\u00e9`' };
    if (found !== undefined && found !== '"') return { index, problem: `expected \`\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}\` in place of the control character` };
    if (found === undefined) return { index: at, problem: isValue ? 'expected a text that ends with `"`' : `expected ${EXPECTED[expected]}` };
  }
  BEGUN_SCALAR.lastIndex = at;
  // Such as `01`: a number, and then what may not follow it.
  const [index, after] = isValue && BEGUN_SCALAR.test(masked) ? [BEGUN_SCALAR.lastIndex, end === '' ? END : COMMA] : [at, expected];
  return { index, problem: `expected ${after === COMMA ? `\`,\` or \`${end}\`` : EXPECTED[after]}` };
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
