/** Stacks: from the text of the engine to functions with their places in the sources. */

import type { Frame } from './host.js';

/**
 * Where the code of the bundle comes from: the places at which the source line changes, sorted, in parts. A look-up finds a part by a binary
 * search, and reads the places of that part alone: a bundle has tens of thousands, and clients can cause exceptions.
 */
export interface LineTable {
  files: string[];
  /** The first place of each part: row of the bundle behind that of the table, column, file and line, in base 36. */
  starts: string;
  /**
   * The further places of each part, `column,line,file,row;…|…`: differences to the place before, in base 36, without zeros at the end. In
   * another row the column counts from 0.
   */
  parts: string;
}

/** The most places of a part. */
export const PART = 64;

/** The name of all code of the SDK in the table. */
export const SDK_FILE = '@pointwork/guest/';

export interface Place {
  row: number;
  column: number;
  file: number;
  line: number;
}

let table: LineTable | undefined;
/** The table without the places within parts. */
let read: { starts: number[]; parts: string[] } | undefined;

/** The frames that were looked up last, by row and column of the bundle: most exceptions of an instance are the same. */
const known = new Map<string, { file: string; line: number } | undefined>();
const MOST_KNOWN = 256;

/** The build gives the table. */
export function setLineTable(lines: LineTable): void {
  table = lines;
  read = undefined;
  known.clear();
}

function isBehind(place: Place, row: number, column: number): boolean {
  return place.row > row || (place.row === row && place.column > column);
}

function startOf({ starts }: NonNullable<typeof read>, part: number): Place {
  const [row = 0, column = 0, file = 0, line = 0] = starts.slice(part * 4, part * 4 + 4);
  return { row, column, file, line };
}

/** The last place that is not behind a column of a row. */
function placeAt(table: LineTable, row: number, column: number): Place | undefined {
  const lines = (read ??= { starts: table.starts.split(',').map((text) => parseInt(text, 36)), parts: table.parts.split('|') });
  let [low, high] = [0, Math.floor(lines.starts.length / 4)];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBehind(startOf(lines, middle), row, column)) high = middle;
    else low = middle + 1;
  }
  if (low === 0) return undefined;
  let place = startOf(lines, low - 1);
  for (const entry of lines.parts[low - 1]?.split(';') ?? []) {
    if (entry === '') break;
    const [byColumn = 0, byLine = 0, byFile = 0, byRow = 0] = entry.split(',').map((text) => parseInt(text, 36));
    const next = { row: place.row + byRow, column: (byRow > 0 ? 0 : place.column) + byColumn, file: place.file + byFile, line: place.line + byLine };
    if (isBehind(next, row, column)) break;
    place = next;
  }
  return place;
}

/** Whether all of a row comes from one line of the sources. */
function isOneLine(table: LineTable, row: number): boolean {
  const [first, last] = [placeAt(table, row, 0), placeAt(table, row, Infinity)];
  return first?.file === last?.file && first?.line === last?.line;
}

/** The program of a component, as the engine names it. */
export const USER_FILE = 'componentize-qjs:user.js';

/** A program that is evaluated as a text, as `pointwork dev` does. */
export const EVALUATED = '<input>';

/** The bundle, as the engine names it. */
const BUNDLE = (globalThis as { __pointworkBundle?: string }).__pointworkBundle ?? USER_FILE;

// QuickJS: `    at name (file:line:column)`. Node: the same, and `    at file:line:column`.
const FRAME = /^\s*at (?:(?:async )?(.*?) \()?(.*?):(\d+)(?::(\d+))?\)?$/;

/** The frames of a thrown value in the code of the author, innermost first: none of the engine, of Node and of the SDK. */
export function framesOf(error: unknown): Frame[] {
  return allFrames(error).filter((frame) => !isOfSdk(frame) && !frame.file.startsWith('node:') && ![BUNDLE, USER_FILE].includes(frame.file));
}

/** The longest text of a stack that is read. The engine writes a tenth of it at most. */
const LONGEST = 64 * 1024;

/** Reading it runs code of the program, if the program put a function there. Values of other classes than `Error` may have a stack too. */
function stackOf(error: unknown): string {
  try {
    const { stack } = (error ?? {}) as { stack?: unknown };
    return typeof stack === 'string' ? stack.slice(0, LONGEST) : '';
  } catch {
    return '';
  }
}

function allFrames(error: unknown): Frame[] {
  const frames: Frame[] = [];
  for (const text of stackOf(error).split('\n')) {
    const found = FRAME.exec(text);
    if (!found) continue;
    const [, name = '', file = '', line = '0', column = '1'] = found;
    // The place in a text that `JSON.parse` refuses, which has no function.
    if (file === EVALUATED && !text.endsWith(')')) continue;
    const frame = { function: name === '<anonymous>' ? '' : name.toWellFormed(), file, line: Number(line) };
    frames.push(file === BUNDLE ? inSources(frame, Number(column)) : frame);
  }
  return frames;
}

/** The place of the source. Lines and columns of a stack count from 1, and the first line of the bundle is that of the table. */
function inSources(frame: Frame, column: number): Frame {
  const key = `${frame.line}:${column}`;
  if (table && !known.has(key)) {
    const row = frame.line - 2;
    // QuickJS names column 1 of the line if it keeps no place of the function.
    const place = column === 1 && !isOneLine(table, row) ? undefined : placeAt(table, row, column - 1);
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(key, place && { file: table.files[place.file] ?? '', line: place.line });
  }
  return { ...frame, ...known.get(key) };
}

/** The files of the SDK, in a project and in a component. */
const SDK = /(?:@pointwork|pointwork)[/-]guest\/|guest\/js\/(?:src|dist)\//;

function isOfSdk(frame: Frame): boolean {
  return SDK.test(frame.file.replaceAll('\\', '/'));
}

/** Gives an error that has no frames of the author those of another one, which was made where the author called the SDK. */
export function borrowFrames(error: unknown, from: Error): unknown {
  if (error instanceof Error && framesOf(error).length === 0) error.stack = (from.stack ?? '').replace(/^Error\b/, () => String(error));
  return error;
}

/** Whether the SDK threw the value, not the code of the author or the engine. */
export function isThrownBySdk(error: unknown): boolean {
  const [frame] = allFrames(error);
  return frame !== undefined && isOfSdk(frame);
}

/** ` at file:line`, the innermost place outside of the SDK at which an error was made; nothing if there is none. */
export function placeOf(error: unknown): string {
  const frame = framesOf(error)[0];
  return frame ? ` at ${frame.file}:${frame.line}` : '';
}
