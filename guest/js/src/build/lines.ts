import { isAbsolute, relative, resolve } from 'node:path';
import { PART, SDK_FILE, type LineTable, type Place } from '../stack.js';

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

/** The places at which the source line changes, ascending, and the files that they count. The code of the SDK, below `sdk`, and of the entry is one file. */
export function placesOf(map: string, root: string, sdk: string, entry: string): { files: string[]; places: Place[] } {
  const { sources, mappings } = JSON.parse(map) as { sources: string[]; mappings: string };
  const files: string[] = [SDK_FILE];
  const numbers = sources.map((source) => {
    const path = isAbsolute(source) ? source : resolve(root, source);
    if (path === resolve(root, entry) || path.startsWith(sdk)) return 0;
    files.push(relative(root, path).replaceAll('\\', '/'));
    return files.length - 1;
  });
  let [source, line] = [0, 0];
  const places: Place[] = [];
  mappings.split(';').forEach((segments, row) => {
    let column = 0;
    for (const segment of segments === '' ? [] : segments.split(',')) {
      const [byColumn = 0, bySource = 0, byLine = 0] = decode(segment);
      column += byColumn;
      source += bySource;
      line += byLine;
      const file = numbers[source] ?? 0;
      places.push({ row, column, file, line: file === 0 ? 0 : line + 1 });
    }
  });
  return { files, places: changesOf(places) };
}

/** The places whose file or line is another than that of the place before. */
function changesOf(places: readonly Place[]): Place[] {
  return places.filter(({ file, line }, number) => file !== places[number - 1]?.file || line !== places[number - 1]?.line);
}

/** The places with columns that count the bytes of UTF-8, as those of QuickJS do; columns of source maps and of Node count the units of UTF-16. */
export function inBytes(code: string, places: readonly Place[]): Place[] {
  const rows = code.split('\n');
  let [row, column, bytes] = [-1, 0, 0];
  return places.map((place) => {
    if (place.row !== row) [row, column, bytes] = [place.row, 0, 0];
    bytes += Buffer.byteLength(rows[row]?.slice(column, place.column) ?? '');
    column = place.column;
    return { ...place, column: bytes };
  });
}

/** The table of places, for the program of a component. The whole source map would be several times as large as the bundle. */
export function lineTable(files: string[], places: readonly Place[]): LineTable {
  const starts: number[] = [];
  const parts: string[][] = [];
  let last: Place = { row: 0, column: 0, file: -1, line: 0 };
  for (const place of changesOf(places)) {
    const part = parts.at(-1);
    // The first place of a part is in `starts`.
    if (part && part.length < PART - 1) part.push(difference(last, place));
    else {
      starts.push(place.row, place.column, place.file, place.line);
      parts.push([]);
    }
    last = place;
  }
  return { files, starts: starts.map((one) => one.toString(36)).join(), parts: parts.map((part) => part.join(';')).join('|') };
}

function difference(from: Place, to: Place): string {
  const byRow = to.row - from.row;
  const parts = [to.column - (byRow > 0 ? 0 : from.column), to.line - from.line, to.file - from.file, byRow];
  return parts
    .map((by) => by.toString(36))
    .join()
    .replace(/(,0)+$/, '');
}
