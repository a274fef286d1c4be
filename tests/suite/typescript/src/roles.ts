/** Runs the program of a handler, and that of a listener. */

import { Context, Delivery, HttpException, Payload, Reply } from '@pointwork/guest';
import { bytesOf, JSON_TYPE, payloadOf, stringOf, textOf, valueOf } from './payloads.js';
import type { Program, Step } from './program.js';
import { NONE, Run } from './run.js';

let firstDelivery: Delivery | undefined;

export class HandlerRun extends Run {
  constructor(ctx: Context, program: Program) {
    super(program);
    this.context = ctx;
  }

  protected door(): Context {
    return this.ctx;
  }

  protected ended({ end, status, headers, details }: Required<Program>): unknown {
    if (end[0] === 'throw') throw new HttpException({ ...details, message: stringOf(this.text) }, end[1], { headers });
    if (end[0] !== 'reply') throw new Error(`a handler cannot end with \`${end[0]}\``);
    const { text } = this;
    const isPlain = status === 200 && headers.length === 0;
    switch (end[1]) {
      case 'empty':
        return Reply.empty(status, { headers });
      case 'bytes':
        return isPlain ? bytesOf(text) : Reply.bytes(bytesOf(text), { status, headers });
      case 'json': {
        const { value } = valueOf(stringOf(text)) ?? { value: JSON.parse(stringOf(text)) as unknown };
        return isPlain && typeof value === 'object' && value !== null ? value : Reply.json(value, { status, headers });
      }
      default:
        return isPlain ? stringOf(text) : Reply.text(stringOf(text), { status, headers });
    }
  }
}

export class ListenerRun extends Run {
  #delivery: Delivery;
  readonly #contentType: string;

  constructor(payload: unknown, delivery: Delivery, program: Program) {
    super(program);
    this.#delivery = delivery;
    this.#contentType = payload instanceof Payload ? payload.contentType : JSON_TYPE;
    // A context that was handed over with `null` is the payload.
    this.text = payload instanceof Context ? 'null' : textOf(payload);
  }

  protected door(): Delivery {
    return this.#delivery;
  }

  protected override async step(step: Step): Promise<void> {
    switch (step[0]) {
      case 'take-context':
        this.context = this.#delivery.context;
        if (!this.context) this.text = NONE;
        return;
      case 'event-name':
        return this.say(this.#delivery.event);
      case 'payload-type':
        return this.say(this.#contentType);
      case 'event-id':
        return this.say(this.#delivery.id);
      case 'attempt':
        return this.say(this.#delivery.attempt);
      case 'use-first-delivery':
        this.#delivery = firstDelivery ??= this.#delivery;
        return;
      default:
        return super.step(step);
    }
  }

  protected ended({ end, headers, details }: Required<Program>): unknown {
    switch (end[0]) {
      case 'fail':
        throw new HttpException({ ...details, message: stringOf(this.text) }, end[2], { code: end[1], headers });
      case 'result':
        return new Payload(end[1], bytesOf(this.text));
      case 'reply':
        return payloadOf(this.text, JSON_TYPE);
      default:
        throw new Error(`a listener cannot end with \`${end[0]}\``);
    }
  }
}
