/**
 * Where declarations are written, for the messages of the build.
 *
 * The function that makes a decorator runs on the line of the decorator, so that its stack has the place. The decorator keeps the place for what it
 * declares: a class, a method, a route, a listener, or a guard. A mistake that is found later, when `module` compares all declarations, names that
 * place. Instances of a component keep no places, because a stack costs time and memory: only the build asks for them.
 */
import { placeOf } from './stack.js';

let isKept = false;
const places = new WeakMap<object, string>();

/** Declarations keep their places from now on. */
export function keepPlaces(): void {
  isKept = true;
}

/** The innermost place of the author's code on the stack as `file:line`, in the build; `undefined` elsewhere. */
export function here(): string | undefined {
  return (isKept && placeOf(new Error()).slice(' at '.length)) || undefined;
}

/** Keeps the place of a declaration. The first place stays. */
export function keepPlace(of: object, place: string | undefined): void {
  if (place !== undefined && !places.has(of)) places.set(of, place);
}

/** A message behind the place of the first declaration that has one. */
export function placed(message: string, ...of: unknown[]): string {
  const found = of.map((one) => (typeof one === 'object' || typeof one === 'function' ? places.get(one as object) : undefined));
  return at(found.find((place) => place !== undefined), message);
}

function at(place: string | undefined, message: string): string {
  return place === undefined ? message : `${place}: ${message}`;
}

/** Declarations that cannot be: a line for each mistake, with its place in the build. */
export class DeclarationError extends TypeError {
  readonly declarationProblems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.declarationProblems = problems;
  }
}

/** Refuses a declaration of that place. */
export function refuseAt(place: string | undefined, message: string): never {
  throw new DeclarationError([at(place, message)]);
}
