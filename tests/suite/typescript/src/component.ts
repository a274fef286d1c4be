/**
 * Takes the place of the SDK's `component` in the bundle. The SDK reads a module's declarations when the component is built; here they
 * come with the program, which the suite writes into the built component.
 */

import log from 'pointwork:module/log@0.2.0';
import { component as componentOf, type RawPayload } from 'suite:component';
import { raw } from './payloads.js';
import type { Module } from '@pointwork/guest';

type Exports = ReturnType<typeof componentOf>;

export function component(make: { module(): Module; facts(): object }): Exports {
  let made: Exports | undefined;
  const exports = (): Exports => {
    try {
      return (made ??= componentOf(make.module(), make.facts()));
    } catch (error) {
      // What the build would tell.
      log.panicked({ message: String(error), exception: null, stack: [] });
      throw error;
    }
  };
  return {
    manifest: { describe: () => exports().manifest.describe() },
    handlers: { handle: (handler, context) => exports().handlers.handle(handler, context) },
    listeners: { deliver: (listener, delivery, payload: RawPayload) => exports().listeners.deliver(listener, delivery, raw(payload)) },
  };
}
