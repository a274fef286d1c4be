/** The module of the suite: its controllers and channels are those of the program in the component. */

import { Channel, Controller, module, On, RequestMapping, type Context, type Delivery, type Module } from '@pointwork/guest';
import type { Declared, Pairs } from './program.js';
import { HandlerRun, ListenerRun } from './roles.js';
import { program } from './slot.js';

const declared = (): Declared => program() as Declared;

/** Decorates a method as a compiler does that knows the older decorators. */
function method(of: { prototype: object }, name: string, value: (...args: never[]) => unknown, decorate: Function): void {
  Object.defineProperty(of.prototype, name, { value, configurable: true, writable: true });
  decorate(of.prototype, name, Object.getOwnPropertyDescriptor(of.prototype, name));
}

/** A name that no other method of the class has. Methods with a number as their name would come before the others. */
function unused(of: { prototype: object }, name: string): string {
  let found = /^\d+$/.test(name) ? `${name}'` : name;
  while (Object.hasOwn(of.prototype, found)) found += "'";
  return found;
}

const metadata = (pairs: Pairs): Record<string, string> => Object.fromEntries(pairs);

function controller({ name, prefix, routes, ...rest }: Declared['controllers'][0]): new () => object {
  const of = class {};
  for (const { name, method: verb, paths, body = 'whole', metadata: pairs = [], program } of routes) {
    const handler = (ctx: Context): unknown => new HandlerRun(ctx, program).run();
    method(of, unused(of, name), handler, RequestMapping({ path: paths, method: verb ?? 'ALL', body, metadata: metadata(pairs) }));
  }
  Controller(prefix, { name, metadata: metadata(rest.metadata) })(of);
  return of;
}

function channel({ name, listeners, ...rest }: Declared['channels'][0], number: number): new () => object {
  const of = class {};
  for (const { event, metadata: pairs = [], program } of listeners) {
    const run = (payload: unknown, delivery: Delivery): unknown => new ListenerRun(payload, delivery, program).run();
    method(of, unused(of, 'listener'), run, On(event, { metadata: metadata(pairs) }));
  }
  Channel(name, { name: `Channel${number}`, metadata: metadata(rest.metadata) })(of);
  return of;
}

export default {
  module(): Module {
    const { controllers, channels, uses, metadata: pairs } = declared();
    return module({ controllers: controllers.map(controller), channels: channels.map(channel), uses, metadata: metadata(pairs) });
  },
  facts: () => declared().package,
};
