/** The program of the suite as `tests/suite/src/typescript` writes it. */

export type Pairs = [name: string, value: string][];

/** A step: its name and its arguments. Header values have a character for each byte. */
export type Step =
  | [name: 'say' | 'param' | 'header' | 'extension' | 'set-extension' | 'emit' | 'hand-over', text: string]
  | [name: 'double' | 'throw-now' | 'stream-text', number: number]
  | [name: 'each', steps: Step[]]
  | [name: 'call', event: string, contentType: string]
  | [name: 'send', status: number, headers: Pairs]
  | [name: 'stream', status: number, texts: string[], order: number[]]
  | [name: 'log', fields: Pairs]
  | [name: 'panicked', exception: string]
  | [
      name:
        | 'method'
        | 'path'
        | 'query'
        | 'scheme'
        | 'authority'
        | 'http-version'
        | 'remote-address'
        | 'received-at'
        | 'deadline'
        | 'cancelled'
        | 'params'
        | 'headers'
        | 'request-id'
        | 'route'
        | 'body'
        | 'body-text'
        | 'count'
        | 'finish'
        | 'echo'
        | 'take-context'
        | 'event-name'
        | 'payload-type'
        | 'event-id'
        | 'attempt'
        | 'use-first-delivery'
        | 'now'
        | 'monotonic'
        | 'random'
        | 'variables',
    ];

/** How a program ends: its name and its arguments. */
export type End =
  | [name: 'reply', body: 'empty' | 'text' | 'json' | 'bytes']
  | [name: 'throw', status: number]
  | [name: 'result', contentType: string]
  | [name: 'fail', code: string, status: number]
  | [name: 'deferred' | 'raise' | 'trap' | 'loop' | 'hog' | 'overflow'];

/** What is missing is the default: it replies with 200 and the text. */
export interface Program {
  steps: Step[];
  status?: number;
  headers?: Pairs;
  details?: Record<string, unknown>;
  end?: End;
}

export interface Declared {
  package: { name?: string; version?: string };
  uses: string[];
  metadata: Pairs;
  controllers: {
    name: string;
    prefix: string;
    metadata: Pairs;
    routes: { name: string; method: string | null; paths: string[]; body?: 'none' | 'stream'; metadata?: Pairs; program: Program }[];
  }[];
  channels: {
    name: string;
    metadata: Pairs;
    listeners: { event: string; metadata?: Pairs; program: Program }[];
  }[];
}
