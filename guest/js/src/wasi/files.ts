/**
 * The files of granted directories, for a module with a channel: `@pointwork/guest/files`. A component that uses it imports
 * `wasi:filesystem`.
 */
import preopens, { type Descriptor } from 'wasi:filesystem/preopens@0.2.0';
import { inCall } from '../platform/call-state.js';
import { fromUtf8, utf8 } from '../platform/utf8.js';
import { FileError } from './file-error.js';

export { FileError };

const CHUNK = 64 * 1024;

let granted: [Descriptor, string][] | undefined;

/** The directory of a path, and the rest of the path within it. */
function located(path: string): [Descriptor, string] {
  if (!inCall()) throw new Error('files are there only while a request or an event is handled, not when the module is built');
  const directories = (granted ??= preopens.getDirectories());
  for (const [directory, name] of directories) {
    if (path === name) return [directory, '.'];
    if (path.startsWith(name.endsWith('/') ? name : `${name}/`)) return [directory, path.slice(name.length).replace(/^\/+/, '') || '.'];
  }
  const names = directories.map(([, name]) => `\`${name}\``).join(', ');
  throw new FileError(path, 'no-entry', `it is in none of the directories that the module is granted: ${names || 'there is none'}`);
}

/** Does something with what a path names. Functions of WASI throw an error whose message is the name of the error in WASI. */
function attempt<T>(path: string, act: (directory: Descriptor, rest: string) => T): T {
  const [directory, rest] = located(path);
  try {
    return act(directory, rest);
  } catch (error) {
    const name = error instanceof Error ? error.message : String(error);
    throw /^[a-z-]+$/.test(name) ? new FileError(path, name) : error;
  }
}

function open(directory: Descriptor, rest: string, flags: { read?: boolean; write?: boolean }, how: { create?: boolean; directory?: boolean; truncate?: boolean } = {}): Descriptor {
  const opened = { create: false, directory: false, exclusive: false, truncate: false, ...how };
  const none = { read: false, write: false, fileIntegritySync: false, dataIntegritySync: false, requestedWriteSync: false, mutateDirectory: false };
  return directory.openAt({ symlinkFollow: true }, rest, opened, { ...none, ...flags });
}

/** The bytes of a file. */
export function readFile(path: string): Uint8Array {
  return attempt(path, (directory, rest) => {
    const file = open(directory, rest, { read: true });
    try {
      const chunks: Uint8Array[] = [];
      let size = 0;
      for (let isEnd = false; !isEnd; ) {
        const [chunk, ended] = file.read(CHUNK, size);
        chunks.push(Uint8Array.from(chunk));
        size += chunk.length;
        isEnd = ended || chunk.length === 0;
      }
      const bytes = new Uint8Array(size);
      let at = 0;
      for (const chunk of chunks) {
        bytes.set(chunk, at);
        at += chunk.length;
      }
      return bytes;
    } finally {
      file[Symbol.dispose]();
    }
  });
}

/** A file as UTF-8. */
export function readTextFile(path: string): string {
  const text = fromUtf8(readFile(path));
  if (text === undefined) throw new FileError(path, 'illegal-byte-sequence', 'it is no UTF-8');
  return text;
}

/** Writes a file, in place of what it had. Other instances, and a crash, may see a part of it. */
export function writeFile(path: string, content: string | Uint8Array): void {
  const bytes = typeof content === 'string' ? utf8(content) : content;
  attempt(path, (directory, rest) => {
    const file = open(directory, rest, { write: true }, { create: true, truncate: true });
    try {
      for (let at = 0; at < bytes.length; ) at += file.write(bytes.subarray(at, at + CHUNK), at);
    } finally {
      file[Symbol.dispose]();
    }
  });
}

/** The names of what is in a directory, sorted. */
export function readDirectory(path: string): string[] {
  return attempt(path, (directory, rest) => {
    const opened = open(directory, rest, { read: true }, { directory: true });
    const entries = opened.readDirectory();
    try {
      const names: string[] = [];
      for (let entry = entries.readDirectoryEntry(); entry !== null; entry = entries.readDirectoryEntry()) names.push(entry.name);
      return names.sort();
    } finally {
      entries[Symbol.dispose]();
      opened[Symbol.dispose]();
    }
  });
}

/** Removes a file. */
export function removeFile(path: string): void {
  attempt(path, (directory, rest) => directory.unlinkFileAt(rest));
}
