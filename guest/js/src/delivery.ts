import { direct, promised } from './calls.js';
import { Context } from './context.js';
import type { AnyEvents, EventName, IOEventName, PayloadArguments, PayloadOf, ResultOf } from './events.js';
import { chain, date, host, type Maybe, type RawDelivery } from './host.js';
import { liftPayload, lowerPayload } from './payload.js';
import { env } from './variables.js';

/** The delivery of an event to a listener, its second argument. Calls through it continue the chain of calls of the event. */
export class Delivery<Events = AnyEvents> {
  #delivery: RawDelivery | undefined;
  #context: Context<Events> | undefined | null = null;

  /** @internal */
  constructor(raw: RawDelivery) {
    this.#delivery = raw;
  }

  get #raw(): RawDelivery {
    if (!this.#delivery) throw new Error('the delivery is closed: its listener has ended');
    return this.#delivery;
  }

  /** The id of the event, the same for each attempt to deliver it. */
  get id(): string {
    return this.#raw.id();
  }

  /** The number of this attempt, from 1. */
  get attempt(): number {
    return this.#raw.attempt();
  }

  /** The name of the event within its channel. */
  get event(): string {
    return this.#raw.event();
  }

  /** The id of the request that began the chain. */
  get requestId(): string | undefined {
    return this.#raw.requestId() ?? undefined;
  }

  get deadline(): Date | undefined {
    const deadline = this.#raw.deadline();
    return deadline ? date(deadline) : undefined;
  }

  /** Whether nobody waits for the value any more. */
  get cancelled(): boolean {
    return this.#raw.cancelled();
  }

  /** The variables of the module. */
  get variables(): Readonly<Record<string, string | undefined>> {
    return env;
  }

  /** The context that was handed over with the event; the listener replies to its request. */
  get context(): Context<Events> | undefined {
    if (this.#context === null) {
      const raw = this.#raw.takeContext();
      this.#context = raw ? new Context<Events>(raw) : undefined;
    }
    return this.#context;
  }

  /** Calls another event and waits for its result. */
  call<Name extends IOEventName<Events>>(event: Name, ...payload: PayloadArguments<PayloadOf<Events, Name>>): Promise<ResultOf<Events, Name>> {
    return promised(event, () => {
      const lowered = lowerPayload(payload[0], `the payload of \`${event}\``);
      return chain(host.callFrom(this.#raw, event, lowered), liftPayload) as Maybe<ResultOf<Events, Name>>;
    });
  }

  /** Queues another event, and returns at once. */
  emit<Name extends EventName<Events>>(event: Name, ...payload: PayloadArguments<PayloadOf<Events, Name>>): this {
    direct(event, () => this.#raw.emit(event, lowerPayload(payload[0], `the payload of \`${event}\``)));
    return this;
  }

  /** @internal */
  close(): void {
    this.#context?.close();
    const raw = this.#delivery;
    this.#delivery = undefined;
    raw?.[Symbol.dispose]?.();
  }
}
