/** The engine's class of errors of memory and stack. The SDK traps for them, as a panic in Rust does; any other exception is reported. */
declare const InternalError: ErrorConstructor;

type Payload = { tag: 'json'; val: string } | { tag: 'bytes'; val: { contentType: string; data: Uint8Array } };

declare module 'pointwork:module/context-sync@0.2.0' {
  const context: { call(context: object, event: string, payload: Payload): Payload };
  export default context;
}
declare module 'pointwork:module/events-sync@0.2.0' {
  const events: { call(delivery: object, event: string, payload: Payload): Payload };
  export default events;
}
declare module 'pointwork:module/log@0.2.0' {
  const log: { panicked(crash: { message: string; exception: string | null; stack: object[] }): void };
  export default log;
}

/** The SDK's `component`. */
declare module 'suite:component' {
  export type RawPayload = Payload;
  export function component(
    module: unknown,
    facts: object,
  ): {
    manifest: { describe(): object };
    handlers: { handle(handler: number, context: object): object };
    listeners: { deliver(listener: number, delivery: object, payload: RawPayload): RawPayload };
  };
}
