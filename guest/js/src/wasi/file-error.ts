/** Why a file cannot be read or written. `code` is the name that WASI has for it, such as `no-entry`. */
export class FileError extends Error {
  override name = 'FileError';

  constructor(
    readonly path: string,
    readonly code: string,
    reason = code.replaceAll('-', ' '),
  ) {
    super(`\`${path}\`: ${reason}`);
  }
}
