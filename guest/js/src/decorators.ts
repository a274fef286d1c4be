/**
 * The decorators. Each works as a decorator of TC39 and as one of TypeScript's `experimentalDecorators`: the arguments tell which.
 * A decorator stores its declaration under the class and the name of the method, since another decorator may replace the function.
 */

import type { Context } from './context.js';
import { expect, expectClasses, expectGuards, expectHeader, expectOptions, flag, oneOf, text, textFields, texts, type Check } from './declared.js';
import type { Delivery } from './delivery.js';
import type { Guard, InterceptorClass } from './guards.js';
import { RequestMethod } from './http-status.js';
import { here, keepPlace, refuseAt } from './places.js';

/** How a handler takes the body: not at all, when the host has it whole, or as it arrives. */
export type BodyMode = 'none' | 'whole' | 'stream';

/** What a route declares besides its path. */
export interface RouteOptions {
  body?: BodyMode;
  summary?: string;
  description?: string;
  tags?: readonly string[];
  deprecated?: boolean;
  /** Further metadata of the manifest, such as `response-schema`. */
  metadata?: Readonly<Record<string, string>>;
}

const ABOUT: Readonly<Record<string, Check>> = { summary: text, description: text, metadata: textFields };
const OF_ROUTE: Readonly<Record<string, Check>> = { ...ABOUT, body: oneOf('none', 'whole', 'stream'), tags: texts, deprecated: flag };
const OF_CLASS: Readonly<Record<string, Check>> = { ...ABOUT, name: text };

/** What a controller or channel, or a listener, declares besides its name. */
export interface ClassOptions {
  /** The name for logs and the route table; the default is that of the class. */
  name?: string;
  summary?: string;
  description?: string;
  metadata?: Readonly<Record<string, string>>;
}

export interface RouteDeclaration {
  /** `null` is every method. */
  method: string | null;
  paths: readonly string[];
  options: RouteOptions;
}

export interface ListenerDeclaration {
  event: string;
  options: Omit<ClassOptions, 'name'>;
}

/** What the decorators of one method declare. */
export interface MethodDeclaration {
  routes: RouteDeclaration[];
  listeners: ListenerDeclaration[];
  guards: Guard[];
  skipsGuards: boolean;
  interceptors: InterceptorClass[];
  status: number | undefined;
  headers: [string, string][];
}

export type ClassKind = 'controller' | 'channel';

/** What the decorators of one class declare. */
export interface ClassDeclaration {
  kind: ClassKind | undefined;
  /** The prefix of a controller, the name of a channel. */
  path: string;
  name: string;
  options: ClassOptions;
  guards: Guard[];
  interceptors: InterceptorClass[];
  headers: [string, string][];
  methods: Map<PropertyKey, MethodDeclaration>;
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type AnyClass = abstract new (...args: any[]) => object;

// TC39's `context.metadata` exists where this symbol does. The SDK is evaluated before the classes that it decorates.
(Symbol as { metadata?: symbol }).metadata ??= Symbol.for('Symbol.metadata');

/** By the metadata of a class that TC39 decorates, or by the prototype of another one. */
const methodsOf = new WeakMap<object, Map<PropertyKey, MethodDeclaration>>();
const classes = new Map<AnyClass, ClassDeclaration>();

/** The classes with `@Controller` or `@Channel`, in the order of their evaluation. */
export function declaredClasses(): Iterable<[AnyClass, ClassDeclaration]> {
  return [...classes].filter(([, declared]) => declared.kind !== undefined);
}

export function declarationOf(of: AnyClass): ClassDeclaration | undefined {
  return classes.get(of);
}

/** What the decorators of methods declare in the body of a class, which may have no decorator itself. */
export function methodsIn(of: AnyClass): ReadonlyMap<PropertyKey, MethodDeclaration> {
  const metadata = Object.hasOwn(of, Symbol.metadata) ? (of as { [Symbol.metadata]?: object })[Symbol.metadata] : undefined;
  return methodsOf.get(metadata ?? (of.prototype as object)) ?? new Map<PropertyKey, MethodDeclaration>();
}

interface DecoratorContext {
  kind: string;
  name: string | symbol;
  static?: boolean;
  private?: boolean;
  metadata?: object;
}

/** A function of a class that answers requests. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Handler = (ctx: Context<any>) => unknown;

/** A function of a class that listens to an event. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Listener<Payload = any, Result = unknown> = (payload: Payload, delivery: Delivery<any>) => Result;

/** A decorator of functions of the type `Method`, of either kind. */
export interface MethodDecorator<Method> {
  (method: Method, context: ClassMethodDecoratorContext): void;
  (prototype: object, name: string | symbol, descriptor: { value?: Method }): void;
}

/** A decorator of classes, of either kind. */
export type ClassDecorator = (of: AnyClass, context?: ClassDecoratorContext) => void;

/** A decorator of classes and of functions, of either kind. */
export interface AnyDecorator {
  (of: AnyClass, context?: ClassDecoratorContext): void;
  (method: Handler, context: ClassMethodDecoratorContext): void;
  (prototype: object, name: string | symbol, descriptor: PropertyDescriptor): void;
}

function emptyMethod(): MethodDeclaration {
  return { routes: [], listeners: [], guards: [], skipsGuards: false, interceptors: [], status: undefined, headers: [] };
}

function methodIn(key: object, name: PropertyKey): MethodDeclaration {
  let methods = methodsOf.get(key);
  if (!methods) methodsOf.set(key, (methods = new Map()));
  let method = methods.get(name);
  if (!method) methods.set(name, (method = emptyMethod()));
  return method;
}

function isContext(value: unknown): value is DecoratorContext {
  return typeof value === 'object' && value !== null && 'kind' in value;
}

/** A decorator that was called, on the line of its `@`. */
interface Decorator {
  decorator: string;
  place: string | undefined;
}

/** The declaration of a decorated method. Anything that is no method of instances is refused, by its name. */
function methodOf({ decorator, place }: Decorator, target: unknown, second: unknown, descriptor: PropertyDescriptor | undefined): MethodDeclaration {
  const context = isContext(second) ? second : undefined;
  const name = (context?.name ?? second) as PropertyKey;
  const refuse = (what: string): never => {
    const of = context ? '' : `${(typeof target === 'function' ? target.name : (target as object).constructor.name) || 'a class'}.`;
    return refuseAt(place, `\`@${decorator}\` is on ${what} \`${of}${String(name)}\`, expected a method of a class`);
  };
  if (context) {
    if (context.kind !== 'method') refuse(`the ${context.kind}`);
    if (context.private) refuse('the private method');
    if (context.static) refuse('the static method');
    return placedMethod(context.metadata ?? refuse('a class without metadata: import `@pointwork/guest` before it'), name, place);
  }
  if (name === undefined) refuse('a class');
  if (descriptor?.get || descriptor?.set) refuse(descriptor.get ? 'the getter' : 'the setter');
  if (typeof target === 'function') refuse('the static method');
  if (typeof descriptor?.value !== 'function') refuse('the field');
  return placedMethod(target as object, name, place);
}

function placedMethod(key: object, name: PropertyKey, place: string | undefined): MethodDeclaration {
  const method = methodIn(key, name);
  keepPlace(method, place);
  return method;
}

/** The declaration of a decorated class. */
function classOf({ decorator, place }: Decorator, target: unknown, second: unknown): ClassDeclaration {
  const context = isContext(second) ? second : undefined;
  if (typeof target !== 'function' || (context && context.kind !== 'class') || (!context && second !== undefined)) {
    refuseAt(place, `\`@${decorator}\` is on \`${String(context?.name ?? second)}\`, expected a class`);
  }
  const of = target as unknown as AnyClass;
  let declared = classes.get(of);
  if (!declared) {
    const methods = methodsOf.get(context?.metadata ?? (of.prototype as object)) ?? new Map<PropertyKey, MethodDeclaration>();
    const name = String(context?.name ?? of.name);
    declared = { kind: undefined, path: '', name, options: {}, guards: [], interceptors: [], headers: [], methods };
    classes.set(of, declared);
  }
  keepPlace(of, place);
  return declared;
}

function isClass(target: unknown, second: unknown): boolean {
  return isContext(second) ? second.kind === 'class' : typeof target === 'function' && second === undefined;
}

function declareClass(kind: ClassKind, decorator: string, path: string, options: ClassOptions): ClassDecorator {
  const place = here();
  return (of, context) => {
    const declared = classOf({ decorator, place }, of, context);
    if (declared.kind) refuseAt(place, `the class \`${declared.name}\` has \`@${decorator}\` beside \`@Controller\` or \`@Channel\`, expected one of them`);
    Object.assign(declared, { kind, path, options, name: options.name ?? declared.name });
  };
}

/** A class whose methods answer requests below a path; the default is `/`. */
export function Controller(...given: [path?: string | (ClassOptions & { path?: string }), options?: ClassOptions]): ClassDecorator {
  const [path, options = {}] = given.length === 0 ? ['/'] : given;
  if (typeof path === 'object' && path !== null && !Array.isArray(path)) {
    expectOptions('`@Controller`', path, { ...OF_CLASS, path: text });
    expect('`@Controller` with an object', given.length, (count) => (count === 1 ? undefined : 'no second argument'));
    return declareClass('controller', 'Controller', path.path ?? '/', path);
  }
  expect('`@Controller`', path, (value) => (typeof value === 'string' ? undefined : 'one path, such as `products`; a class for each further prefix'));
  expectOptions('`@Controller`', options, OF_CLASS);
  return declareClass('controller', 'Controller', path as string, options);
}

/** A class whose methods listen to the events of a channel. */
export function Channel(name: string, options: ClassOptions = {}): ClassDecorator {
  expect('`@Channel`', name, (value) => (typeof value === 'string' ? undefined : 'the name of the channel, such as `db`'));
  expectOptions('`@Channel`', options, OF_CLASS);
  return declareClass('channel', 'Channel', name, options);
}

function methodDecorator<Method>(decorator: string, declare: (method: MethodDeclaration, place: string | undefined) => void): MethodDecorator<Method> {
  const place = here();
  // A decorator that returns a value replaces what it decorates.
  return (target: unknown, second: unknown, descriptor?: PropertyDescriptor): void => {
    declare(methodOf({ decorator, place }, target, second, descriptor), place);
  };
}

function anyDecorator(
  decorator: string,
  onClass: (of: ClassDeclaration) => void,
  onMethod: (method: MethodDeclaration) => void,
): AnyDecorator {
  const place = here();
  return (target: unknown, second?: unknown, descriptor?: PropertyDescriptor): void => {
    if (isClass(target, second)) onClass(classOf({ decorator, place }, target, second));
    else onMethod(methodOf({ decorator, place }, target, second, descriptor));
  };
}

/** Declares an event's listener: `@On('product:all')` in the channel `db` listens to `db:product:all`. */
export function On(event: string, options: Omit<ClassOptions, 'name'> = {}): MethodDecorator<Listener> {
  expect('`@On`', event, (value) => (typeof value === 'string' ? undefined : 'the name of the event within its channel, such as `product:all`'));
  expectOptions('`@On`', options, ABOUT);
  return methodDecorator('On', (method, place) => {
    const listener = { event, options };
    keepPlace(listener, place);
    method.listeners.unshift(listener);
  });
}

/** The paths of a route: none is the prefix of the controller, each of an array is a route of its own. */
export type Paths = string | readonly string[];

const isPath: Check = (value) => (text(value) === undefined || texts(value) === undefined ? undefined : 'a path such as `:id`, or an array of paths');

function mapped(decorator: string, method: string | null, path: Paths, options: RouteOptions): MethodDecorator<Handler> {
  expect(`\`@${decorator}\``, path, isPath);
  const paths = typeof path === 'string' ? (path === '' ? [] : [path]) : path;
  // Decorators run from the last to the first.
  return methodDecorator(decorator, (declared, place) => {
    const route = { method, paths, options };
    keepPlace(route, place);
    declared.routes.unshift(route);
  });
}

/** Binds a method of HTTP to a handler. `method` is any token; `RequestMethod` has those with a decorator of their own. */
export function RequestMapping(mapping: RouteOptions & { path?: Paths; method?: string }): MethodDecorator<Handler> {
  expectOptions('`@RequestMapping`', mapping, { ...OF_ROUTE, path: isPath, method: text });
  const method = mapping.method ?? RequestMethod.GET;
  return mapped('RequestMapping', method === RequestMethod.ALL ? null : method, mapping.path ?? '', mapping);
}

type RouteDecorator = (...given: [path?: Paths, options?: RouteOptions]) => MethodDecorator<Handler>;

function verb(decorator: string, method: string | null): RouteDecorator {
  return (...given) => {
    // A path that is `undefined`, as a constant that is not there, is no path of the prefix.
    const [path, options = {}] = given.length === 0 ? [''] : given;
    expectOptions(`\`@${decorator}\``, options, OF_ROUTE);
    return mapped(decorator, method, path as Paths, options);
  };
}

export const Get = verb('Get', 'GET');
export const Post = verb('Post', 'POST');
export const Put = verb('Put', 'PUT');
export const Patch = verb('Patch', 'PATCH');
export const Delete = verb('Delete', 'DELETE');
export const Head = verb('Head', 'HEAD');
export const Options = verb('Options', 'OPTIONS');
/** Every method, unless a route for that very method matches as well. */
export const All = verb('All', null);
export const Trace = verb('Trace', 'TRACE');
export const Connect = verb('Connect', 'CONNECT');
export const Purge = verb('Purge', 'PURGE');
export const Search = verb('Search', 'SEARCH');
export const Propfind = verb('Propfind', 'PROPFIND');
export const Proppatch = verb('Proppatch', 'PROPPATCH');
export const Mkcol = verb('Mkcol', 'MKCOL');
export const Copy = verb('Copy', 'COPY');
export const Move = verb('Move', 'MOVE');
export const Lock = verb('Lock', 'LOCK');
export const Unlock = verb('Unlock', 'UNLOCK');
export const Acl = verb('Acl', 'ACL');
export const Report = verb('Report', 'REPORT');

/** Guards of a controller or of one handler. Those of the module run first, then those of the class, in the order given. */
export function UseGuards(...guards: Guard[]): AnyDecorator {
  expect('`@UseGuards`', guards.length || undefined, (count) => (count ? undefined : 'a guard'));
  expectGuards('`@UseGuards`', guards);
  for (const guard of guards) keepPlace(guard, here());
  return anyDecorator(
    'UseGuards',
    (of) => of.guards.unshift(...guards),
    (method) => method.guards.unshift(...guards),
  );
}

/** Leaves out the guards of the controller for one handler. Those of the module still run, and those of the handler itself. */
export function SkipGuards(): MethodDecorator<Handler> {
  return methodDecorator('SkipGuards', (method) => {
    method.skipsGuards = true;
  });
}

/** Interceptors of a controller or of one handler. Those of the module are outermost. */
export function UseInterceptors(...interceptors: InterceptorClass[]): AnyDecorator {
  expect('`@UseInterceptors`', interceptors.length || undefined, (count) => (count ? undefined : 'an interceptor'));
  expectClasses('`@UseInterceptors`', interceptors, 'intercept');
  for (const interceptor of interceptors) keepPlace(interceptor, here());
  return anyDecorator(
    'UseInterceptors',
    (of) => of.interceptors.unshift(...interceptors),
    (method) => method.interceptors.unshift(...interceptors),
  );
}

/** The status of what the handler returns, instead of 200. Another status of a `Reply` or `Response` stays. */
export function HttpCode(status: number): MethodDecorator<Handler> {
  expect('`@HttpCode`', status, (value) => (Number.isInteger(value) && (value as number) >= 200 && (value as number) <= 599 ? undefined : 'a status from 200 to 599'));
  return methodDecorator('HttpCode', (method, place) => {
    if (method.status !== undefined) refuseAt(place, `a method has \`@HttpCode(${status})\` and \`@HttpCode(${method.status})\`, expected one of them`);
    method.status = status;
  });
}

/** A header of the reply of a handler, or of all of a controller. */
export function Header(name: string, value: string): AnyDecorator {
  expectHeader('`@Header`', name, value);
  return anyDecorator(
    'Header',
    (of) => of.headers.unshift([name, value]),
    (method) => method.headers.unshift([name, value]),
  );
}
