import type { Context } from './context.js';
import { anything, constructorProblem, expectClasses, expectGuards, expectOptions, shown, textFields, texts, type Check } from './declared.js';
import { declarationOf, declaredClasses, methodsIn, type AnyClass, type ClassDeclaration, type ClassKind, type ListenerDeclaration, type MethodDeclaration, type RouteDeclaration } from './decorators.js';
import type { MapOfClasses } from './events.js';
import type { HttpException } from './exceptions.js';
import { isGuardClass, type Guard, type InterceptorClass } from './guards.js';
import { Injector, type Provider } from './inject.js';
import { aroundOf } from './manifest.js';
import { DeclarationError, here, keepPlace, placed } from './places.js';
import { isVariables, type Variables } from './variables.js';

type Constructor = new () => object;

/** What a module consists of. */
export interface ModuleOptions {
  /** The controllers, in the order of their routes. A class that is not listed takes no part. */
  controllers?: readonly Constructor[];
  channels?: readonly Constructor[];
  /** Guards of every handler. */
  guards?: readonly Guard[];
  /** Interceptors of every handler. */
  interceptors?: readonly InterceptorClass[];
  /** Makes the body of every error of handlers, guards and interceptors. Status and headers stay. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  errors?: (error: HttpException, ctx: Context<any>) => unknown;
  providers?: readonly Provider[];
  /** The variables that the module needs. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  variables?: Variables<any>;
  /** Events that the module uses by names that are not written where it calls them. */
  uses?: readonly string[];
  /** Metadata of the manifest. */
  metadata?: Readonly<Record<string, string>>;
}

const list: Check = (value) => (Array.isArray(value) ? undefined : 'an array');

const OPTIONS: Readonly<Record<keyof ModuleOptions, Check>> = {
  controllers: list,
  channels: list,
  guards: list,
  interceptors: list,
  errors: (value) => (typeof value === 'function' ? undefined : 'a function, such as `(error) => Reply.json({ title: error.message })`'),
  providers: list,
  variables: (value) => (isVariables(value) ? undefined : 'what `variables({ … })` returns'),
  uses: texts,
  metadata: textFields,
};

function expectProvider(provider: unknown): void {
  if (typeof provider === 'function') return;
  const where = 'a provider of `module`';
  const token: Check = (value) => (['function', 'symbol', 'string'].includes(typeof value) ? undefined : 'a class, a symbol or a text');
  const constructor: Check = (value) => (typeof value === 'function' ? undefined : 'a class');
  const factory: Check = (value) => (typeof value === 'function' && value.length === 0 ? undefined : 'a function without parameters, which calls `inject` for what it needs');
  expectOptions(where, provider, { provide: token, useClass: constructor, useValue: anything, useFactory: factory });
  const made = ['useClass', 'useValue', 'useFactory'].filter((name) => name in (provider as object));
  if (made.length !== 1 || !('provide' in (provider as object))) {
    throw new TypeError(`${where} has ${made.length === 0 ? 'nothing' : made.map((name) => `\`${name}\``).join(' and ')} to provide, expected \`provide\` and one of \`useClass\`, \`useValue\`, \`useFactory\``);
  }
}

function expectModuleOptions(options: ModuleOptions): void {
  expectOptions('`module`', options, OPTIONS);
  expectGuards('`guards` of `module`', options.guards ?? []);
  expectClasses('`interceptors` of `module`', options.interceptors ?? [], 'intercept');
  for (const provider of options.providers ?? []) expectProvider(provider);
}

/** One way to reach one handler. */
export interface Route {
  /** The number of its handler. */
  handler: number;
  declared: RouteDeclaration;
}

export interface HandlerOf {
  controller: ControllerOf;
  name: string;
  method: MethodDeclaration;
}

export interface ListenerOf {
  channel: ChannelOf;
  name: string;
  event: string;
  declared: ListenerDeclaration;
  summary: Readonly<Record<string, string | undefined>>;
}

interface ClassOf {
  of: Constructor;
  declared: ClassDeclaration;
  name: string;
}

export interface ControllerOf extends ClassOf {
  routes: Route[];
}

export interface ChannelOf extends ClassOf {
  listeners: number[];
}

/** Options without others beside. */
export type KnownOptions<Options> = Options & { readonly [Name in Exclude<keyof Options, keyof ModuleOptions>]: never };

/** The event map of the classes that a module lists. */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type
export type MapOfOptions<Options> = MapOf<Options, 'controllers'> & MapOf<Options, 'channels'>;

type MapOf<Options, Name extends string> = Options extends { readonly [Key in Name]: readonly (infer Class)[] } ? MapOfClasses<Class> : unknown;

/** A module: its declarations, checked. `Events` is the event map that its classes take. */
// eslint-disable-next-line @typescript-eslint/no-unused-vars
export class Module<Events = unknown> {
  /** There at compile time alone. */
  declare readonly events?: Events;
  readonly options: ModuleOptions;
  readonly controllers: ControllerOf[] = [];
  readonly channels: ChannelOf[] = [];
  readonly handlers: HandlerOf[] = [];
  readonly listeners: ListenerOf[] = [];
  /** What is probably a mistake, and hinders nothing. */
  readonly warnings: string[] = [];

  constructor(options: ModuleOptions) {
    expectModuleOptions(options);
    keepPlace(this, here());
    this.options = options;
    const problems: string[] = [];
    for (const of of options.controllers ?? []) this.#addController(of, problems);
    for (const of of options.channels ?? []) this.#addChannel(of, problems);
    problems.push(...this.#constructors());
    for (const name of ['guards', 'interceptors', 'errors'] as const) {
      const given = options[name];
      if (this.controllers.length === 0 && (typeof given === 'function' || (given?.length ?? 0) > 0)) problems.push(placed(`\`module\` has \`${name}\`, which are for the handlers of controllers, and lists none`, this));
    }
    problems.push(...sameNames('controllers', this.controllers), ...sameNames('channels', this.channels), ...this.#sameRoutes());
    if (this.controllers.length + this.channels.length === 0 && problems.length === 0) {
      problems.push(placed('the module lists no controllers and no channels, expected `module({ controllers: [Products] })`', this));
    }
    if (problems.length > 0) throw new DeclarationError(problems);
  }

  /** Classes with decorators that the module does not list. Known when all files are evaluated. */
  unlisted(): string[] {
    const listed = new Set<AnyClass>([...this.controllers, ...this.channels].map(({ of }) => of));
    const others = [...declaredClasses()].filter(([of]) => !listed.has(of));
    return others.map(([of, { kind, name }]) => placed(`the ${kind} \`${name}\` takes no part: the module does not list it in \`${kind}s\``, of));
  }

  #declaredAs(kind: ClassKind, of: Constructor, problems: string[]): ClassDeclaration | undefined {
    const declared = typeof of === 'function' ? declarationOf(of) : undefined;
    if (declared?.kind === kind) return declared;
    const name = typeof of === 'function' ? `\`${of.name}\`` : shown(of);
    problems.push(placed(`${name} is listed in \`${kind}s\` and has no \`${kind === 'controller' ? '@Controller' : '@Channel'}\``, this));
    return undefined;
  }

  #addController(of: Constructor, problems: string[]): void {
    const declared = this.#declaredAs('controller', of, problems);
    if (!declared) return;
    const controller: ControllerOf = { of, declared, name: declared.name, routes: [] };
    this.controllers.push(controller);
    for (const [key, method] of ownMethods(of, declared)) {
      const name = String(key);
      const place = `\`${declared.name}.${name}\``;
      const refuse = (message: string): number => problems.push(placed(message, method));
      if (method.listeners.length > 0) refuse(`${place} has \`@On\`, which belongs in a class with \`@Channel\``);
      else if (method.routes.length === 0) refuse(`${place} has \`${aroundNames(method).join('`, `')}\` and no route, expected a decorator such as \`@Get\` beside`);
      if (method.skipsGuards && declared.guards.length === 0) {
        refuse(`${place} has \`@SkipGuards\`, and \`${declared.name}\` has no guards; those of the module run for every handler`);
      }
      if (parametersOf(of, key) > 1) {
        refuse(`${place} has ${parametersOf(of, key)} parameters, expected the context alone: \`ctx.param('id')\`, \`ctx.query\` and \`ctx.json()\` read the request`);
      }
      if (method.routes.length === 0) continue;
      this.handlers.push({ controller, name, method });
      for (const declared of method.routes) controller.routes.push({ handler: this.handlers.length - 1, declared });
    }
    this.warnings.push(...leftOut(of, declared, ({ routes }) => routes.length > 0));
    if (controller.routes.length === 0) this.warnings.push(placed(`the controller \`${declared.name}\` has no routes of its own`, of));
  }

  #addChannel(of: Constructor, problems: string[]): void {
    const declared = this.#declaredAs('channel', of, problems);
    if (!declared) return;
    const channel: ChannelOf = { of, declared, name: declared.path, listeners: [] };
    this.channels.push(channel);
    if (aroundNames(declared).length > 0) problems.push(placed(`the channel \`${declared.name}\` has \`${aroundNames(declared).join('`, `')}\`, which are for handlers of requests`, of));
    const events = new Map<string, string>();
    for (const [key, method] of ownMethods(of, declared)) {
      const name = String(key);
      const place = `\`${declared.name}.${name}\``;
      const refuse = (message: string): number => problems.push(placed(message, method));
      if (method.routes.length > 0) refuse(`${place} has a route, which belongs in a class with \`@Controller\``);
      else if (aroundNames(method).length > 0) refuse(`${place} has \`${aroundNames(method).join('`, `')}\`, which are for handlers of requests`);
      if (parametersOf(of, key) > 2) refuse(`${place} has ${parametersOf(of, key)} parameters, expected at most the payload and the delivery`);
      for (const listener of method.listeners) {
        const { event, options } = listener;
        const before = events.get(event);
        if (before !== undefined) problems.push(placed(`\`${declared.name}.${before}\` and \`${declared.name}.${name}\` both listen to \`${declared.path}:${event}\``, listener));
        events.set(event, name);
        channel.listeners.push(this.listeners.length);
        this.listeners.push({ channel, name, event, declared: listener, summary: { summary: options.summary, description: options.description, ...options.metadata } });
      }
    }
    this.warnings.push(...leftOut(of, declared, ({ listeners }) => listeners.length > 0));
    if (channel.listeners.length === 0) this.warnings.push(placed(`the channel \`${declared.name}\` has no listeners of its own`, of));
  }

  /** Classes that the SDK makes, and whose constructors have parameters. */
  #constructors(): string[] {
    const classes = new Set<unknown>([...this.controllers, ...this.channels].map(({ of }) => of));
    this.handlers.forEach((_, handler) => {
      const { guards, interceptors } = aroundOf(this, handler);
      for (const one of [...guards.filter(isGuardClass), ...interceptors]) classes.add(one);
    });
    for (const provider of this.options.providers ?? []) classes.add(typeof provider === 'function' ? provider : 'useClass' in provider ? provider.useClass : undefined);
    return [...classes].flatMap((of) => {
      const problem = typeof of === 'function' ? constructorProblem(of) : undefined;
      return problem === undefined ? [] : placed(problem, of, this);
    });
  }

  #sameRoutes(): string[] {
    const owners = new Map<string, string>();
    const problems: string[] = [];
    for (const { declared, routes } of this.controllers) {
      for (const { handler, declared: route } of routes) {
        const { method, paths } = route;
        for (const path of paths.length === 0 ? [''] : paths) {
          const full = joinPath(declared.path, path);
          const shape = `${method ?? 'ALL'} ${full.replace(/\/([:*])[^/]*/g, '/$1')}`;
          const owner = `\`${declared.name}.${this.handlers[handler]?.name}\``;
          const before = owners.get(shape);
          if (before !== undefined) problems.push(placed(`the route ${method ?? 'ALL'} ${full} is declared twice, by ${before} and by ${owner}`, route));
          owners.set(shape, owner);
        }
      }
    }
    return problems;
  }

  /** The instances of the listed classes, made by an injector of the module's providers and those of a test. */
  instances(providers: readonly Provider[] = []): Instances {
    const injector = new Injector([...(this.options.providers ?? []), ...providers]);
    return { get: (of) => injector.get(of) as Record<string, unknown> };
  }
}

export interface Instances {
  get(of: new () => object): Record<string, unknown>;
}

/** The full path of a route. */
export function joinPath(prefix: string, path: string): string {
  const parts = [prefix, path].map((part) => part.replace(/^\/+|\/+$/g, '')).filter((part) => part !== '');
  return `/${parts.join('/')}`;
}

/** The decorators around handlers that a class or a method has. */
function aroundNames({ guards, interceptors, headers, ...method }: Pick<MethodDeclaration, 'guards' | 'interceptors' | 'headers'> & Partial<MethodDeclaration>): string[] {
  const found = { '@UseGuards': guards.length > 0, '@UseInterceptors': interceptors.length > 0, '@Header': headers.length > 0, '@HttpCode': method.status !== undefined, '@SkipGuards': method.skipsGuards };
  return Object.entries(found).flatMap(([name, has]) => (has ? [name] : []));
}

function parametersOf(of: Constructor, key: PropertyKey): number {
  return (of.prototype as Record<PropertyKey, Function>)[key]?.length ?? 0;
}

/** The decorated methods that the prototype itself has, in their order. */
function ownMethods(of: Constructor, declared: ClassDeclaration): [PropertyKey, MethodDeclaration][] {
  const found: [PropertyKey, MethodDeclaration][] = [];
  for (const key of Reflect.ownKeys(of.prototype as object)) {
    const descriptor = Object.getOwnPropertyDescriptor(of.prototype, key);
    const method = typeof descriptor?.value === 'function' ? declared.methods.get(key) : undefined;
    if (method) found.push([key, method]);
  }
  return found;
}

/** What the base classes of a class declare: it takes no part, though the functions are inherited (spec D7). */
function leftOut(of: Constructor, declared: ClassDeclaration, isMeant: (method: MethodDeclaration) => boolean): string[] {
  const found: string[] = [];
  for (let base = Object.getPrototypeOf(of) as AnyClass; typeof base === 'function' && base.prototype; base = Object.getPrototypeOf(base) as AnyClass) {
    for (const [key, method] of methodsIn(base)) {
      const isDeclaredAgain = declared.methods.has(key) && Object.hasOwn(of.prototype as object, key);
      if (!isMeant(method) || isDeclaredAgain) continue;
      const what = method.routes.length > 0 ? 'route' : 'listener';
      found.push(placed(`\`${declared.name}\` has no ${what} by \`${base.name}.${String(key)}\`, which it inherits: decorate a method of \`${declared.name}\` itself`, of));
    }
    const { guards = [], interceptors = [], headers = [] } = declarationOf(base) ?? {};
    if (guards.length + interceptors.length + headers.length > 0) {
      found.push(placed(`the decorators of the class \`${base.name}\` do not apply to \`${declared.name}\`, which extends it: give it its own`, of));
    }
  }
  return found;
}

function sameNames(what: string, classes: readonly ClassOf[]): string[] {
  const repeated = classes.filter(({ name }, at) => classes.findIndex((one) => one.name === name) < at);
  return repeated.map(({ name, of }) => placed(`two ${what} have the name \`${name}\`, expected one: rename a class, or give it a \`name\` in its decorator`, of));
}

/** The default export of an entry file: `export default module({ controllers: [Products], channels: [Stock] })`. */
export function module<const Options extends ModuleOptions>(options: KnownOptions<Options>): Module<MapOfOptions<Options>> {
  return new Module(options);
}
