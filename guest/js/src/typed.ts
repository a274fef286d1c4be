import { On, type ClassOptions, type MethodDecorator } from './decorators.js';
import type { Delivery } from './delivery.js';
import type { AnswerOf, EventName, PayloadOf } from './events.js';

/**
 * `@On` by an event map: `const { On } = typed<Events>()('db')`. Another payload or result of a listener does not compile. The names are
 * those within the channel.
 */
export function typed<Events>(): <Channel extends string>(
  channel: Channel,
) => {
  On: <Name extends EventIn<Events, Channel>>(event: Name, options?: Omit<ClassOptions, 'name'>) => MethodDecorator<ListenerOfEvent<Events, `${Channel}:${Name}` & EventName<Events>>>;
} {
  return () => ({ On: On as never });
}

type EventIn<Events, Channel extends string> = {
  [Name in EventName<Events>]: Name extends `${Channel}:${infer Event}` ? Event : never;
}[EventName<Events>];

type ListenerOfEvent<Events, Name extends EventName<Events>> = (payload: PayloadOf<Events, Name>, delivery: Delivery<Events>) => AnswerOf<Events, Name>;
