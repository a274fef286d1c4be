/** Checks of what an author declares: a declaration that the SDK would ignore, or that cannot work, is refused with the right form. */

import { headerProblem } from './header.js';

/** What is expected of a value that does not fit; `undefined` if it fits. */
export type Check = (value: unknown) => string | undefined;

export const text: Check = (value) => (typeof value === 'string' ? undefined : 'a text');
export const flag: Check = (value) => (typeof value === 'boolean' ? undefined : '`true` or `false`');
export const number: Check = (value) => (typeof value === 'number' && Number.isFinite(value) ? undefined : 'a number');
export const texts: Check = (value) => (Array.isArray(value) && value.every((one) => typeof one === 'string') ? undefined : 'an array of texts');
export const textFields: Check = (value) =>
  isObject(value) && Object.values(value).every((one) => typeof one === 'string') ? undefined : 'an object whose values are texts';
export const anything: Check = () => undefined;

export function oneOf(...words: readonly string[]): Check {
  return (value) => (words.includes(value as string) ? undefined : words.map((word) => `\`${word}\``).join(' or '));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value in a message. */
export function shown(value: unknown): string {
  if (typeof value === 'function') return /^class\b/.test(Function.prototype.toString.call(value)) ? `the class \`${value.name}\`` : 'a function';
  if (Array.isArray(value)) return 'an array';
  if (!isObject(value)) return `\`${typeof value === 'string' ? JSON.stringify(value) : String(value)}\``;
  const name = (value.constructor as { name?: string } | undefined)?.name;
  return name === undefined || name === 'Object' ? 'an object' : `an object of the class \`${name}\``;
}

/** Refuses an argument that does not fit. */
export function expect(where: string, value: unknown, check: Check): void {
  const expected = check(value);
  if (expected !== undefined) throw new TypeError(`${where} was given ${shown(value)}, expected ${expected}`);
}

/** Instead of options of other frameworks. */
const INSTEAD: Record<string, string> = {
  imports: ': list the controllers, channels and providers of all folders themselves',
  exports: ': every provider of a module is there for all of its classes',
  version: ': write the version into the path',
  host: ': compare `ctx.authority` in a guard',
  scope: ': a provider is made once for each instance of the module',
  inject: ': call `inject(…)` within `useFactory`',
  useExisting: ': use `useFactory: () => inject(…)`',
};

/** Refuses options that do not exist, and values of the wrong type. `undefined` is an option that is not there. */
export function expectOptions(where: string, options: unknown, checks: Readonly<Record<string, Check>>): void {
  if (!isObject(options)) throw new TypeError(`${where} was given ${shown(options)}, expected an object of options`);
  for (const [name, value] of Object.entries(options)) {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (!check) {
      const known = Object.keys(checks).map((one) => `\`${one}\``);
      throw new TypeError(`${where} has no option \`${name}\`, expected ${known.length === 1 ? '' : 'one of '}${known.join(', ')}${INSTEAD[name] ?? ''}`);
    }
    if (value !== undefined) expect(`the option \`${name}\` of ${where}`, value, check);
  }
}

const CYCLE = '; two files that import each other give `undefined`';

/** A list of guards: functions, and classes with `canActivate`. */
export function expectGuards(where: string, guards: readonly unknown[]): void {
  for (const guard of guards) {
    if (typeof guard === 'function') continue;
    const hint = guard === undefined ? CYCLE : isObject(guard) && 'canActivate' in guard ? ', such as `(ctx) => guard.canActivate(ctx)`' : '';
    throw new TypeError(`${where} was given ${shown(guard)}, expected a class with \`canActivate\` or a function${hint}`);
  }
}

/** A list of interceptors: classes with `intercept`. */
export function expectClasses(where: string, classes: readonly unknown[], method: string): void {
  for (const of of classes) {
    if (typeof of === 'function' && (of as { prototype?: unknown }).prototype) continue;
    throw new TypeError(`${where} was given ${shown(of)}, expected a class with \`${method}\`${of === undefined ? CYCLE : ''}`);
  }
}

/** Headers that only the server may set: the host leaves them out of every reply. */
const OF_SERVER = ['connection', 'content-length', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'];

export function expectHeader(where: string, name: unknown, value: unknown): void {
  expect(`the name of ${where}`, name, text);
  expect(`the value of ${where}`, value, text);
  const problem = headerProblem(name as string, value as string);
  if (problem !== undefined) throw new TypeError(`${where}: ${problem}`);
  if (OF_SERVER.includes((name as string).toLowerCase())) throw new TypeError(`${where} sets \`${name as string}\`, which the server alone sets`);
}

/** How many parameters a constructor has that no injector fills. A class without a constructor of its own has those of its base class. */
function constructorParameters(of: Function): number {
  for (let at: unknown = of; typeof at === 'function' && at !== Function.prototype; at = Object.getPrototypeOf(at)) {
    if (at.length > 0) return at.length;
    const source = Function.prototype.toString.call(at);
    // What the bundler writes for a class with decorators passes all arguments on.
    if (/\bconstructor\s*\((?!\)\s*\{\s*super\(\.\.\.arguments\))/.test(source)) return 0;
  }
  return 0;
}

/** What is wrong with the constructor of a class that the SDK makes: types do not exist at run time, so that nothing can fill parameters. */
export function constructorProblem(of: Function): string | undefined {
  const count = constructorParameters(of);
  if (count === 0) return undefined;
  return `the constructor of \`${of.name}\` has ${count === 1 ? 'a parameter, which is' : `${count} parameters, which are`} \`undefined\` at run time, expected a field for each: \`prices = inject(Prices)\``;
}
