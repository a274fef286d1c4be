/** Stacks: from the text of the engine to functions with their places in the sources. */

import type { Frame } from './host.js';

/** Where each line of the bundle comes from: the files, and for each line the number of its file and its line there. */
export interface LineTable {
  files: string[];
  /** `file,line` as differences to the entry before, in base 36; an empty entry repeats the line before, `-` is no source. */
  lines: string;
}

let table: { files: string[]; places: ([number, number] | undefined)[] } | undefined;
let given: LineTable | undefined;

/** The build gives the table. It is read at the first crash. */
export function setLineTable(lines: LineTable): void {
  given = lines;
  table = undefined;
}

function places(): NonNullable<typeof table> | undefined {
  if (!table && given) {
    let [file, line] = [0, 0];
    const places = given.lines.split(';').map((entry): [number, number] | undefined => {
      if (entry === '-') return undefined;
      const [by, ofFile] = entry.split(',');
      line += parseInt(by || '0', 36);
      file += parseInt(ofFile || '0', 36);
      return [file, line];
    });
    table = { files: given.files, places };
  }
  return table;
}

/** The bundle, as the engine names it. */
const BUNDLE = 'componentize-qjs:user.js';

// QuickJS: `    at name (file:line:column)`. Node: the same, and `    at file:line:column`.
const FRAME = /^\s*at (?:(?:async )?(.*?) \()?(.*?):(\d+)(?::\d+)?\)?$/;

/** The frames of an error in the program, innermost first. Those of the SDK count if there are no others. */
export function framesOf(error: Error): Frame[] {
  const all = allFrames(error);
  const own = all.filter((frame) => !isOfSdk(frame) && frame.file !== BUNDLE);
  return own.length > 0 ? own : all;
}

function allFrames(error: Error): Frame[] {
  const frames: Frame[] = [];
  for (const text of (error.stack ?? '').split('\n')) {
    const found = FRAME.exec(text);
    if (!found) continue;
    const [, name = '', file = '', line = '0'] = found;
    frames.push(inSources({ function: name === '<anonymous>' ? '' : name, file, line: Number(line) }));
  }
  return frames;
}

function inSources(frame: Frame): Frame {
  const known = frame.file === BUNDLE ? places() : undefined;
  const place = known?.places[frame.line - 1];
  if (!known || !place) return frame;
  return { ...frame, file: known.files[place[0]] ?? '', line: place[1] };
}

/** The files of the SDK, in a project and in a component. */
const SDK = /(?:@pointwork|pointwork)[/-]guest\/|guest\/js\/(?:src|dist)\//;

function isOfSdk(frame: Frame): boolean {
  return SDK.test(frame.file.replaceAll('\\', '/'));
}

/** The innermost place outside of the SDK at which an error was made. */
export function placeOf(error: Error): string {
  const frames = framesOf(error);
  const frame = frames[0];
  return frame ? `${frame.file}:${frame.line}` : 'an unknown place';
}
