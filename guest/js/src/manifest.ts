import type { AnyClass, ClassOptions, RouteOptions } from './decorators.js';
import type { Guard, InterceptorClass } from './guards.js';
import type { Property } from './host.js';
import type { ControllerOf, Module, Route } from './module.js';
import { schemaOf } from './variables.js';

/** The manifest of `wit/manifest.wit`. */
export interface Manifest {
  name: string | null;
  version: string | null;
  sdk: string;
  language: string;
  controllers: { name: string; prefix: string; routes: RouteRecord[]; metadata: Property[] }[];
  channels: { name: string; listeners: { listener: number; name: string; event: string; metadata: Property[] }[]; metadata: Property[] }[];
  eventsUsed: string[];
  metadata: Property[];
}

interface RouteRecord {
  handler: number;
  name: string;
  method: string | null;
  paths: string[];
  body: string;
  metadata: Property[];
}

/** Name, version and description of the package of a module. */
export interface PackageFacts {
  name?: string;
  version?: string;
  description?: string;
}

export const SDK_VERSION = '0.2.0';

export function describe(module: Module, facts: PackageFacts): Manifest {
  const { options } = module;
  return {
    name: facts.name?.replace(/^@[^/]*\//, '') ?? null,
    version: facts.version ?? null,
    sdk: `@pointwork/guest ${SDK_VERSION}`,
    language: 'javascript',
    controllers: module.controllers.map((controller) => ({
      name: controller.name,
      prefix: controller.declared.path === '' ? '/' : controller.declared.path,
      routes: controller.routes.map((route) => routeRecord(module, controller, route)),
      metadata: classMetadata(controller.declared.options),
    })),
    channels: module.channels.map((channel) => ({
      name: channel.name,
      listeners: channel.listeners.flatMap((listener) => {
        const found = module.listeners[listener];
        return found ? [{ listener, name: found.name, event: found.event, metadata: properties(found.summary) }] : [];
      }),
      metadata: classMetadata(channel.declared.options),
    })),
    eventsUsed: eventsUsed(module),
    metadata: properties({
      description: facts.description || undefined,
      'variables-schema': options.variables ? schemaOf(options.variables) : undefined,
      ...options.metadata,
    }),
  };
}

function properties(values: Readonly<Record<string, string | undefined>>): Property[] {
  return Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]));
}

function classMetadata({ summary, description, metadata }: ClassOptions): Property[] {
  return properties({ summary, description, ...metadata });
}

function routeRecord(module: Module, controller: ControllerOf, route: Route): RouteRecord {
  const handler = module.handlers[route.handler];
  return {
    handler: route.handler,
    name: handler?.name ?? '',
    method: route.declared.method,
    paths: [...route.declared.paths],
    body: route.declared.options.body ?? 'whole',
    metadata: [...routeMetadata(route.declared.options), ...around(module, controller, route)],
  };
}

function routeMetadata({ summary, description, tags, deprecated, metadata }: RouteOptions): Property[] {
  return [
    ...properties({ summary, description, deprecated: deprecated ? 'true' : undefined, ...metadata }),
    ...(tags ?? []).map((value) => ({ name: 'tag', value })),
  ];
}

/** The guards and interceptors of a handler, from the outermost to the innermost. */
export function aroundOf(module: Module, handler: number): { guards: Guard[]; interceptors: InterceptorClass[] } {
  const found = module.handlers[handler];
  if (!found) return { guards: [], interceptors: [] };
  const { declared } = found.controller;
  return {
    guards: [...(module.options.guards ?? []), ...(found.method.skipsGuards ? [] : declared.guards), ...found.method.guards],
    interceptors: [...(module.options.interceptors ?? []), ...declared.interceptors, ...found.method.interceptors],
  };
}

function around(module: Module, _controller: ControllerOf, route: Route): Property[] {
  const { guards, interceptors } = aroundOf(module, route.handler);
  return [
    ...guards.map(({ name }) => ({ name: 'guard', value: name || 'a function' })),
    ...interceptors.map(({ name }) => ({ name: 'after', value: name })),
  ];
}

/** `.call('db:product:one'`, also as the bundler writes it. */
const USE = /\.\s*(?:call|emit|handOver)\s*(?:<[^()]*>)?\(\s*(?:"([^"\\\n]+)"|'([^'\\\n]+)'|`([^`\\$\n]+)`)\s*[,)]/g;

/** The events that the module uses, from the source text of its classes, and those that it names. */
function eventsUsed(module: Module): string[] {
  const found = new Set(module.options.uses ?? []);
  const { handlers, options } = module;
  const used = new Set<AnyClass | Guard>([...module.controllers, ...module.channels].map(({ of }) => of));
  handlers.forEach((_, handler) => {
    const { guards, interceptors } = aroundOf(module, handler);
    for (const one of [...guards, ...interceptors]) used.add(one);
  });
  for (const provider of options.providers ?? []) {
    if (typeof provider === 'function') used.add(provider);
    else if ('useClass' in provider) used.add(provider.useClass);
  }
  for (const of of used) {
    for (const [, double, single, template] of Function.prototype.toString.call(of).matchAll(USE)) {
      found.add((double ?? single ?? template) as string);
    }
  }
  return [...found].sort();
}
