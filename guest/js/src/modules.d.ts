declare module 'pointwork:module/context@0.2.0' {
  const context: { handOver(event: string, context: unknown, payload: unknown): void };
  export default context;
}
declare module 'pointwork:module/context-sync@0.2.0' {
  const context: {
    body(context: unknown): Uint8Array;
    text(context: unknown): string;
    call(context: unknown, event: string, payload: unknown): never;
    read(reader: unknown, max: number): Uint8Array | null;
    write(writer: unknown, chunk: Uint8Array): void;
    finish(writer: unknown): void;
  };
  export default context;
}
declare module 'pointwork:module/events-sync@0.2.0' {
  const events: { call(delivery: unknown, event: string, payload: unknown): never };
  export default events;
}
declare module 'pointwork:module/environment@0.2.0' {
  const environment: {
    now(): { seconds: number; nanoseconds: number };
    monotonic(): { seconds: number; nanoseconds: number };
    random(): number;
    variables(): { name: string; value: string }[];
  };
  export default environment;
}
declare module 'pointwork:module/log@0.2.0' {
  const log: { write(level: string, target: string, message: string, fields: unknown): void; panicked(report: unknown): void; raised(report: unknown): void };
  export default log;
}
declare module 'core-js-pure/actual/url/index.js' {
  const Url: typeof globalThis.URL;
  export default Url;
}
declare module '@ungap/structured-clone' {
  export default function structuredClone(value: unknown): unknown;
}
declare module 'wasi:filesystem/preopens@0.2.0' {
  export interface Descriptor {
    /** The bytes, and whether the file ends behind them. */
    read(length: number, offset: number): [Uint8Array, boolean];
    write(bytes: Uint8Array, offset: number): number;
    readDirectory(): { readDirectoryEntry(): { name: string } | null; [Symbol.dispose](): void };
    openAt(path: { symlinkFollow: boolean }, name: string, how: Record<string, boolean>, flags: Record<string, boolean>): Descriptor;
    unlinkFileAt(path: string): void;
    [Symbol.dispose](): void;
  }
  const preopens: { getDirectories(): [Descriptor, string][] };
  export default preopens;
}
declare module 'wasi:clocks/wall-clock@0.2.0' {
  const wallClock: { now(): { seconds: number; nanoseconds: number } };
  export default wallClock;
}
