import { isAbsolute, relative, resolve } from 'node:path';
import type { LineTable } from '../stack.js';

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** The numbers of a segment of a source map. */
function decode(segment: string): number[] {
  const numbers: number[] = [];
  let [value, shift] = [0, 0];
  for (const character of segment) {
    const digit = DIGITS.indexOf(character);
    value |= (digit & 31) << shift;
    shift += 5;
    if (digit & 32) continue;
    numbers.push(value & 1 ? -(value >> 1) : value >> 1);
    [value, shift] = [0, 0];
  }
  return numbers;
}

/**
 * The source line of each line of a bundle: the first place that the source map has for it. A bundle that is not minified has one
 * statement in a line, and the whole map would be several times as large as the bundle.
 */
export function lineTable(map: string, root: string): LineTable {
  const { sources, mappings } = JSON.parse(map) as { sources: string[]; mappings: string };
  const files = sources.map((source) => {
    const path = isAbsolute(source) ? source : resolve(root, source);
    return relative(root, path).replaceAll('\\', '/');
  });
  let [source, line] = [0, 0];
  let [lastFile, lastLine] = [0, 0];
  const lines = mappings.split(';').map((segments) => {
    let place: [number, number] | undefined;
    for (const segment of segments === '' ? [] : segments.split(',')) {
      const [, bySource = 0, byLine = 0] = decode(segment);
      source += bySource;
      line += byLine;
      place ??= [source, line + 1];
    }
    if (!place) return '-';
    const [byLine, byFile] = [place[1] - lastLine, place[0] - lastFile];
    [lastFile, lastLine] = place;
    const text = byLine === 0 ? '' : byLine.toString(36);
    return byFile === 0 ? text : `${text},${byFile.toString(36)}`;
  });
  return { files, lines: lines.join(';') };
}
