import { constructorProblem } from './declared.js';
import { isThenable } from './host.js';

/** What is made for a token: a class, or an object. */
export type Provider =
  | (new () => object)
  | { provide: Token; useClass: new () => object }
  | { provide: Token; useValue: unknown }
  | { provide: Token; useFactory: () => unknown };

/** A class, a symbol or a text by which `inject` finds a provider. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Token<T = any> = (new () => T) | symbol | string;

/** A dependency that no injector can make. */
export class InjectError extends TypeError {}

/** Makes each provider once, when it is first injected. */
export class Injector {
  readonly #providers = new Map<Token, Provider>();
  readonly #made = new Map<Token, unknown>();
  readonly #making: Token[] = [];

  constructor(providers: readonly Provider[] = []) {
    for (const provider of providers) this.#providers.set(typeof provider === 'function' ? provider : provider.provide, provider);
  }

  get(token: Token): unknown {
    if (this.#made.has(token)) return this.#made.get(token);
    if (this.#making.includes(token)) {
      throw new InjectError(`\`${[...this.#making, token].map(nameOf).join('` needs `')}\`: a provider cannot need itself`);
    }
    this.#making.push(token);
    try {
      const value = this.run(() => this.#make(token));
      this.#made.set(token, value);
      return value;
    } finally {
      this.#making.pop();
    }
  }

  #make(token: Token): unknown {
    const provider = this.#providers.get(token);
    if (provider === undefined) {
      if (typeof token === 'function') return made(token);
      throw new InjectError(`no provider has the token \`${nameOf(token)}\`, expected one in \`providers\` of the module`);
    }
    if (typeof provider === 'function') return made(provider);
    if ('useValue' in provider) return provider.useValue;
    if ('useClass' in provider) return made(provider.useClass);
    const value = provider.useFactory();
    if (!isThenable(value)) return value;
    throw new InjectError(`the factory of \`${nameOf(token)}\` returned a promise, for which nothing waits: provide a function, and await its result in the handler`);
  }

  /** Runs code in which `inject` finds the providers of this injector. */
  run<T>(make: () => T): T {
    const before = current;
    current = this;
    try {
      return make();
    } finally {
      current = before;
    }
  }
}

function made(of: new () => unknown): unknown {
  const problem = constructorProblem(of);
  if (problem !== undefined) throw new InjectError(problem);
  return new of();
}

function nameOf(token: Token): string {
  return typeof token === 'function' ? token.name : String(token);
}

let current: Injector | undefined;

/**
 * A dependency of a controller, channel, guard or provider, in a field: `prices = inject(Prices)`. A class is made once for each
 * instance of the module; `providers` of the module, or of a test, say what is made for another token, or instead of a class.
 */
export function inject<T>(token: Token<T>): T {
  if (!current) {
    throw new TypeError('`inject` works in the fields and the constructor of a controller, channel, guard, interceptor or provider');
  }
  return current.get(token) as T;
}
