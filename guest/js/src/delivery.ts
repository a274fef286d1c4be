import { callEvent, direct, emitted } from './calls.js';
import { Context } from './context.js';
import type { AnyEvents, EventName, IOEventName, PayloadArguments, PayloadOf, ResultOf } from './events.js';
import { date, host, type RawDelivery } from './host.js';
import { env } from './variables.js';

/** The delivery of an event to a listener, its second argument. Calls through it continue the chain of calls of the event. */
export class Delivery<Events = AnyEvents> {
  private declare _raw: RawDelivery | undefined;
  /** `null` until it is taken. */
  private declare _context: Context<Events> | undefined | null;

  /** @internal */
  constructor(raw: RawDelivery) {
    this._raw = raw;
    this._context = null;
  }

  private get open(): RawDelivery {
    const raw = this._raw;
    if (raw) return raw;
    throw new Error('the delivery is closed: its listener has ended');
  }

  /** The id of the event, the same for each attempt to deliver it. */
  get id(): string {
    return this.open.id();
  }

  /** The number of this attempt, from 1. */
  get attempt(): number {
    return this.open.attempt();
  }

  /** The name of the event within its channel. */
  get event(): string {
    return this.open.event();
  }

  /** The id of the request that began the chain. */
  get requestId(): string | undefined {
    return this.open.requestId() ?? undefined;
  }

  get deadline(): Date | undefined {
    const deadline = this.open.deadline();
    return deadline ? date(deadline) : undefined;
  }

  /** Whether nobody waits for the value any more. */
  get cancelled(): boolean {
    return this.open.cancelled();
  }

  /** The variables of the module. */
  get variables(): Readonly<Record<string, string | undefined>> {
    return env;
  }

  /** The context that was handed over with the event; the listener replies to its request. */
  get context(): Context<Events> | undefined {
    if (this._context === null) {
      const raw = this.open.takeContext();
      this._context = raw ? new Context<Events>(raw) : undefined;
    }
    return this._context;
  }

  /** @internal The context that the listener took. */
  get taken(): Context<Events> | undefined {
    return this._context ?? undefined;
  }

  /** Calls another event and waits for its result. */
  call<Name extends IOEventName<Events>>(event: Name, ...payload: PayloadArguments<PayloadOf<Events, Name>>): Promise<ResultOf<Events, Name>>;
  call(event: string, payload?: unknown): Promise<unknown> {
    return callEvent(host.callFrom, this.open, event, payload);
  }

  /** Queues another event, and returns at once. */
  emit<Name extends EventName<Events>>(event: Name, ...payload: PayloadArguments<PayloadOf<Events, Name>>): this;
  emit(event: string, payload?: unknown): this {
    direct(event, () => this.open.emit(event, emitted(payload, event)));
    return this;
  }

  /** @internal */
  close(): void {
    this._context?.close();
    const raw = this._raw;
    this._raw = undefined;
    raw?.[Symbol.dispose]?.();
  }
}
