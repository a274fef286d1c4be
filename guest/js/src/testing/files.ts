/** The files of the machine in place of granted directories, for unit tests in Node. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fromUtf8 } from '../platform/utf8.js';
import { FileError } from '../wasi/file-error.js';

export { FileError };

const CODES: Record<string, string> = { ENOENT: 'no-entry', EACCES: 'access', EPERM: 'not-permitted', EISDIR: 'is-directory', ENOTDIR: 'not-directory' };

function attempt<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw new FileError(path, CODES[(error as NodeJS.ErrnoException).code ?? ''] ?? 'io');
  }
}

export const readFile = (path: string): Uint8Array => attempt(path, () => new Uint8Array(readFileSync(path)));

export function readTextFile(path: string): string {
  const text = fromUtf8(readFile(path));
  if (text === undefined) throw new FileError(path, 'illegal-byte-sequence', 'it is no UTF-8');
  return text;
}

export const writeFile = (path: string, content: string | Uint8Array): void => attempt(path, () => writeFileSync(path, content));
export const readDirectory = (path: string): string[] => attempt(path, () => readdirSync(path).sort());
export const removeFile = (path: string): void => attempt(path, () => rmSync(path));
