/** Event maps: the names of events with the types of their payloads and results. */

import type { Context } from './context.js';
import type { Delivery } from './delivery.js';

declare const io: unique symbol;

/** An event with a result, in an event map. An event whose type is a plain payload can only be emitted. */
export interface IOEvent<Payload, Result> {
  readonly [io]: [Payload, Result];
}

/** The events of a context without an event map: any name, with any types. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type AnyEvents = Record<string, IOEvent<any, any>>;

/** The names of the events of a map. */
export type EventName<Events> = keyof Events & string;

/** The names of those that have a result. */
export type IOEventName<Events> = {
  [Name in EventName<Events>]: Events[Name] extends IOEvent<unknown, unknown> ? Name : never;
}[EventName<Events>];

/** The payload of an event. */
export type PayloadOf<Events, Name extends keyof Events> = Events[Name] extends IOEvent<infer Payload, unknown> ? Payload : Events[Name];

/** The result of an event. */
export type ResultOf<Events, Name extends keyof Events> = Events[Name] extends IOEvent<never, infer Result>
  ? Result
  : Events[Name] extends IOEvent<infer _, infer Result>
    ? Result
    : never;

/** What may answer an event: a result, now or later; for an event without one, anything. */
export type AnswerOf<Events, Name extends keyof Events> =
  Events[Name] extends IOEvent<never, unknown> | IOEvent<unknown, unknown> ? ResultOf<Events, Name> | Promise<ResultOf<Events, Name>> : unknown;

/** All of a union at once. */
type Intersection<Union> = (Union extends unknown ? (of: Union) => void : never) extends (of: infer All) => void ? All : never;

/** The event map of the context or the delivery that a function takes; `unknown` without one. */
type MapOfFunction<Member> = [Member] extends [never]
  ? unknown
  : Member extends (...args: infer Args) => unknown
  ? Args extends [Context<infer Events>, ...unknown[]] | [unknown, Delivery<infer Events>, ...unknown[]]
    ? string extends keyof Events
      ? unknown
      : Events
    : unknown
  : unknown;

/** The event maps that the functions of classes take, as one map: `{}` if none takes one. */
export type MapOfClasses<Class> = Class extends new () => infer Instance
  ? Intersection<{ [Name in keyof Instance]: { map: MapOfFunction<Instance[Name]> } }[keyof Instance]> extends { map: infer Events } ? Events : never
  : never;

/** A payload that may be absent can be left out. */
export type PayloadArguments<Payload> = undefined extends Payload ? [payload?: Payload] : null extends Payload ? [payload?: Payload] : [payload: Payload];
