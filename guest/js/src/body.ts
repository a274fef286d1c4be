import { promised } from './calls.js';
import { CallException, callFailed } from './exceptions.js';
import { attempt, host, type Maybe, type RawReader, type RawWriter } from './host.js';
import { pieceBytes } from './platform/utf8.js';
import type { Piece } from './reply.js';

const CHUNK = 64 * 1024;

/** The body of a reply, chunk by chunk; from `ctx.openReply`. Without `finish` the reply is broken off. */
export class BodyWriter {
  #raw: RawWriter | undefined;
  readonly #left: () => void;

  /** @internal `left` learns that the client has left. */
  constructor(raw: RawWriter, left: () => void) {
    this.#raw = raw;
    this.#left = left;
  }

  #tried(called: string, make: () => Maybe<void>): Promise<void> {
    const failed = (error: unknown): never => {
      const failure = callFailed(error, called);
      if (failure instanceof CallException && failure.code === 'gone') this.#left();
      throw failure;
    };
    return promised(called, () => attempt(make, () => undefined, failed));
  }

  /** Writes a chunk. Waits while the client is slower; fails with the code `gone` when the client has left. */
  write(chunk: Piece): Promise<void> {
    const raw = this.#raw;
    if (!raw) return Promise.reject(new Error('the reply is finished'));
    return this.#tried('write', () => host.write(raw, pieceBytes(chunk)));
  }

  /** @internal Whether the reply is not finished. */
  get isOpen(): boolean {
    return this.#raw !== undefined;
  }

  /** Ends the reply. */
  async finish(): Promise<void> {
    const raw = this.#raw;
    if (!raw) return;
    await this.#tried('finish', () => host.finish(raw));
    this.close();
  }

  /** Breaks the reply off, unless it is finished. */
  close(): void {
    const raw = this.#raw;
    this.#raw = undefined;
    raw?.[Symbol.dispose]?.();
  }
}

/** The chunks of a body. The body is opened with the first one. */
export function chunksOf(take: () => RawReader): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
      let reader: RawReader | undefined;
      let isDone = false;
      const end = (): IteratorResult<Uint8Array> => {
        isDone = true;
        reader?.[Symbol.dispose]?.();
        reader = undefined;
        return { done: true, value: undefined };
      };
      return {
        async next() {
          if (isDone) return { done: true, value: undefined };
          const raw = (reader ??= take());
          const chunk = await promised('read', () => host.read(raw, CHUNK));
          return chunk === null ? end() : { done: false, value: chunk };
        },
        async return() {
          return end();
        },
      };
    },
  };
}
