/**
 * The exports of a component. The entry that the build makes is
 * `import 'platform/install.js'; import { component } from 'component.js'; import module from './app.ts'; export const { … } = component(module, …)`.
 */

import context from 'pointwork:module/context@0.2.0';
import contextSync from 'pointwork:module/context-sync@0.2.0';
import environment from 'pointwork:module/environment@0.2.0';
import eventsSync from 'pointwork:module/events-sync@0.2.0';
import hostLog from 'pointwork:module/log@0.2.0';
import { reportOf } from './report.js';
import { Dispatcher, type Delivered } from './dispatch.js';
import { isGuardClass, type Guard } from './guards.js';
import { host, setHost, type Property, type RawContext, type RawDelivery, type RawOutcome, type RawPayload } from './host.js';
import { aroundOf, describe, type Manifest, type PackageFacts } from './manifest.js';
import { InjectError } from './inject.js';
import { Module } from './module.js';
import { keepPlaces, placed } from './places.js';
import { beginCall, endCall, inCall } from './platform/call-state.js';
import { dropJobs, runJobs, settled, takeUnhandled } from './platform/promise.js';
import { setLineTable, type LineTable } from './stack.js';

/** What the build learns of a module. */
export interface Declarations {
  manifest: Manifest;
  warnings: string[];
  problems: string[];
  guards: GuardSource[];
  places: ManifestPlaces;
}

/** The places of the declarations of a manifest, in its order: each is a prefix of messages. */
export interface ManifestPlaces {
  module: string;
  controllers: { own: string; routes: string[] }[];
  channels: { own: string; listeners: string[] }[];
}

/** How the build and the bundle talk to each other. */
interface BuildGlobals {
  __pointworkLines?: LineTable;
  /** What top-level code prints: it runs when the component is built. */
  __pointworkPrinted?: string[];
  __pointworkChecked?: () => Declarations;
}

const globals = globalThis as BuildGlobals;
if (globals.__pointworkLines) setLineTable(globals.__pointworkLines);
// The build alone keeps what is printed.
if (globals.__pointworkPrinted) keepPlaces();

let variables: Property[] | undefined;

setHost({
  body: contextSync.body,
  text: contextSync.text,
  call: contextSync.call,
  read: contextSync.read,
  write: contextSync.write,
  finish: contextSync.finish,
  handOver: context.handOver,
  callFrom: eventsSync.call,
  now: environment.now,
  monotonic: environment.monotonic,
  // The runtime gives and takes 32 bits with a sign.
  random: () => environment.random() >>> 0,
  // They are the same in each call of a version, and outside of a call there are none.
  variables: () => (inCall() ? (variables ??= environment.variables()) : []),
  log(level, target, message, fields) {
    if (inCall()) hostLog.write(level, target, message.toWellFormed(), fields.map(({ name, value }) => ({ name: name.toWellFormed(), value: value.toWellFormed() })));
    else globals.__pointworkPrinted?.push(message);
  },
  panicked: (error) => hostLog.panicked(reportOf(error)),
  raised: (error) => hostLog.raised(reportOf(error)),
});

/** An error of the engine is reported, and traps: the instance serves no other call. */
function trapped(error: unknown): never {
  host.panicked(error);
  throw error;
}

interface Exports {
  manifest: { describe(): Manifest };
  handlers: { handle(handler: number, context: RawContext): RawOutcome };
  listeners: { deliver(listener: number, delivery: RawDelivery, payload: RawPayload): RawPayload };
}

/**
 * The snapshot has what the compiler of the engine freed, a quarter of a megabyte. These buffers, which are zero, take its place, and
 * zeros cost nothing.
 */
function overwriteFreed(): void {
  const held: ArrayBuffer[] = [];
  for (const [size, count] of [[8192, 32], [2048, 64], [1024, 64]] as const) {
    for (let made = 0; made < count; made += 1) held.push(new ArrayBuffer(size));
  }
}

/** The source text of a guard, for the build. */
export interface GuardSource {
  /** The prefix of messages with the place that uses the guard. */
  place: string;
  name: string;
  source: string;
}

/**
 * What only the instances of classes tell: those that `inject` can never make, or that lack their function, and the source text of guards.
 * Constructors run for it, in the build alone; what else they throw may be due to a variable or a random number, which a build does not have.
 */
function instancesOf(module: Module): { problems: string[]; guards: GuardSource[] } {
  const { get } = module.instances();
  const needed = new Map<unknown, string | undefined>([...module.controllers, ...module.channels].map(({ of }) => [of, undefined]));
  const sources = new Map<Guard, GuardSource>();
  module.handlers.forEach((_, handler) => {
    const { guards, interceptors } = aroundOf(module, handler);
    for (const guard of guards) {
      if (isGuardClass(guard)) needed.set(guard, 'canActivate');
      else sources.set(guard, { place: placed('', guard, module), name: guard.name || 'a function', source: String(guard) });
    }
    for (const interceptor of interceptors) needed.set(interceptor, 'intercept');
  });
  const problems = new Set<string>();
  const printed = globals.__pointworkPrinted ?? [];
  globals.__pointworkPrinted = [];
  for (const [one, method] of needed) {
    const of = one as new () => object;
    let found: unknown = method === undefined ? undefined : (of.prototype as Record<string, unknown>)[method];
    try {
      const instance = get(of);
      if (method !== undefined) {
        found = instance[method];
        if (typeof found !== 'function') problems.add(placed(`\`${of.name}\` has no function \`${method}\``, of, module));
      }
    } catch (error) {
      if (error instanceof InjectError) problems.add(placed(`\`${of.name}\` cannot be made: ${error.message}`, of, module));
    }
    if (method === 'canActivate' && typeof found === 'function') sources.set(of as Guard, { place: placed('', of, module), name: of.name, source: String(found) });
  }
  globals.__pointworkPrinted = printed;
  return { problems: [...problems], guards: [...sources.values()] };
}

function placesOf(module: Module): ManifestPlaces {
  const prefix = (...of: unknown[]): string => placed('', ...of, module);
  return {
    module: prefix(),
    controllers: module.controllers.map(({ of, routes }) => ({ own: prefix(of), routes: routes.map(({ declared }) => prefix(declared)) })),
    channels: module.channels.map(({ of, listeners }) => ({ own: prefix(of), listeners: listeners.map((at) => prefix(module.listeners[at]?.declared)) })),
  };
}

export function component(module: unknown, facts: PackageFacts): Exports {
  if (!(module instanceof Module)) {
    throw new TypeError('the entry file has no module as its default export, expected `export default module({ controllers: [Products] })`');
  }
  const dispatcher = new Dispatcher(module, module.instances(), { settled, run: runJobs, takeUnhandled, drop: dropJobs });
  const manifest = describe(module, facts);
  // Jobs of top-level code.
  runJobs();
  for (const reason of takeUnhandled()) throw reason;
  overwriteFreed();
  globals.__pointworkChecked = () => ({ manifest, warnings: [...module.warnings, ...module.unlisted()], places: placesOf(module), ...instancesOf(module) });
  return {
    manifest: { describe: () => manifest },
    handlers: {
      handle(handler, context) {
        beginCall();
        try {
          return dispatcher.handle(handler, context) as RawOutcome;
        } catch (error) {
          return trapped(error);
        } finally {
          endCall();
        }
      },
    },
    listeners: {
      deliver(listener, delivery, payload) {
        let result: Delivered;
        beginCall();
        try {
          result = dispatcher.deliver(listener, delivery, payload) as Delivered;
        } catch (error) {
          return trapped(error);
        } finally {
          endCall();
        }
        // A thrown value is the `err` of the contract's result.
        if ('failed' in result) throw result.failed;
        return result.ok;
      },
    },
  };
}
