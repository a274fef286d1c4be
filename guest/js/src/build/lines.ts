import { isAbsolute, relative, resolve } from 'node:path';
import { SDK_FILE, type LineTable } from '../stack.js';

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
 * The table of the places at which the source line changes. The whole source map would be several times as large as the bundle. The code
 * of the SDK, below `sdk`, is one place.
 */
export function lineTable(map: string, root: string, sdk: string): LineTable {
  const { sources, mappings } = JSON.parse(map) as { sources: string[]; mappings: string };
  const files: string[] = [SDK_FILE];
  const numbers = sources.map((source) => {
    const path = isAbsolute(source) ? source : resolve(root, source);
    if (path.startsWith(sdk)) return 0;
    files.push(relative(root, path).replaceAll('\\', '/'));
    return files.length - 1;
  });
  let [source, line] = [0, 0];
  const last = { file: -1, line: 0 };
  const rows = mappings.split(';').map((segments) => {
    let [column, lastColumn] = [0, 0];
    const entries: string[] = [];
    for (const segment of segments === '' ? [] : segments.split(',')) {
      const [byColumn = 0, bySource = 0, byLine = 0] = decode(segment);
      column += byColumn;
      source += bySource;
      line += byLine;
      const file = numbers[source] ?? 0;
      const place = file === 0 ? 0 : line + 1;
      if (file === last.file && place === last.line) continue;
      const parts = [column - lastColumn, place - last.line, file - last.file].map((by) => by.toString(36));
      entries.push(parts[2] === '0' ? `${parts[0]},${parts[1]}` : parts.join());
      lastColumn = column;
      Object.assign(last, { file, line: place });
    }
    return entries.join(';');
  });
  return { files, rows };
}
