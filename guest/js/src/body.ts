import { promised } from './calls.js';
import { host, type RawReader, type RawWriter } from './host.js';
import { pieceBytes, type Piece } from './reply.js';

const CHUNK = 64 * 1024;

/** The body of a reply, chunk by chunk; from `ctx.openReply`. Without `finish` the reply is broken off. */
export class BodyWriter {
  #raw: RawWriter | undefined;

  /** @internal */
  constructor(raw: RawWriter) {
    this.#raw = raw;
  }

  /** Writes a chunk. Waits while the client is slower; fails with the code `gone` when the client has left. */
  write(chunk: Piece): Promise<void> {
    const raw = this.#raw;
    if (!raw) return Promise.reject(new Error('the reply is finished'));
    return promised('write', () => host.write(raw, pieceBytes(chunk)));
  }

  /** Ends the reply. */
  async finish(): Promise<void> {
    const raw = this.#raw;
    if (!raw) return;
    await promised('finish', () => host.finish(raw));
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
