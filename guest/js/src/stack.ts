/** Stacks: from the text of the engine to functions with their places in the sources. */

import type { Frame } from './host.js';

/** Where the code of the bundle comes from. */
export interface LineTable {
  files: string[];
  /**
   * For each line of the bundle behind that of the table, the columns at which the source line changes: `column,line,file;…` as
   * differences to the entry before, in base 36; an unchanged file is left out.
   */
  rows: string[];
}

/** The name of all code of the SDK in the table. */
export const SDK_FILE = '@pointwork/guest/';

interface Place {
  row: number;
  column: number;
  file: number;
  line: number;
}

let table: { files: string[]; places: Place[] } | undefined;
let given: LineTable | undefined;

/** The build gives the table. It is read with the first stack. */
export function setLineTable(lines: LineTable): void {
  given = lines;
  table = undefined;
}

function places(): NonNullable<typeof table> | undefined {
  if (!table && given) {
    const places: Place[] = [];
    let [file, line] = [-1, 0];
    given.rows.forEach((entries, row) => {
      let column = 0;
      for (const entry of entries === '' ? [] : entries.split(';')) {
        const [byColumn = 0, byLine = 0, byFile = 0] = entry.split(',').map((text) => parseInt(text, 36));
        column += byColumn;
        line += byLine;
        file += byFile;
        places.push({ row, column, file, line });
      }
    });
    table = { files: given.files, places };
  }
  return table;
}

/** The program of a component, as the engine names it. */
export const USER_FILE = 'componentize-qjs:user.js';

/** A program that is evaluated as a text, as `pointwork dev` does. */
export const EVALUATED = '<input>';

/** The bundle, as the engine names it. */
const BUNDLE = (globalThis as { __pointworkBundle?: string }).__pointworkBundle ?? USER_FILE;

// QuickJS: `    at name (file:line:column)`. Node: the same, and `    at file:line:column`.
const FRAME = /^\s*at (?:(?:async )?(.*?) \()?(.*?):(\d+)(?::(\d+))?\)?$/;

/** The frames of an error in the code of the author, innermost first: none of the engine, of Node and of the SDK. */
export function framesOf(error: Error): Frame[] {
  return allFrames(error).filter((frame) => !isOfSdk(frame) && !frame.file.startsWith('node:') && ![BUNDLE, USER_FILE].includes(frame.file));
}

/** Reading it runs code of the program, if the program put a function there. */
function stackOf(error: Error): string {
  try {
    return String(error.stack ?? '');
  } catch {
    return '';
  }
}

function allFrames(error: Error): Frame[] {
  const frames: Frame[] = [];
  for (const text of stackOf(error).split('\n')) {
    const found = FRAME.exec(text);
    if (!found) continue;
    const [, name = '', file = '', line = '0', column = '1'] = found;
    const frame = { function: name === '<anonymous>' ? '' : name, file, line: Number(line) };
    frames.push(file === BUNDLE ? inSources(frame, Number(column)) : frame);
  }
  return frames;
}

/** The place of the source. Lines and columns of a stack count from 1, and the first line of the bundle is that of the table. */
function inSources(frame: Frame, column: number): Frame {
  const known = places();
  const [row, at] = [frame.line - 2, column - 1];
  const place = known?.places.findLast((place) => place.row < row || (place.row === row && place.column <= at));
  if (!known || !place) return frame;
  return { ...frame, file: known.files[place.file] ?? '', line: place.line };
}

/** The files of the SDK, in a project and in a component. */
const SDK = /(?:@pointwork|pointwork)[/-]guest\/|guest\/js\/(?:src|dist)\//;

function isOfSdk(frame: Frame): boolean {
  return SDK.test(frame.file.replaceAll('\\', '/'));
}

/** ` at file:line`, the innermost place outside of the SDK at which an error was made; nothing if there is none. */
export function placeOf(error: Error): string {
  const frame = framesOf(error)[0];
  return frame ? ` at ${frame.file}:${frame.line}` : '';
}
