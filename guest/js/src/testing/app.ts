import { anything, expectOptions, type Check } from '../declared.js';
import { Dispatcher } from '../dispatch.js';
import { CallException, ReplyException, thrown } from '../exceptions.js';
import { headerProblem, pairs, rawHeader, type HeadersLike } from '../header.js';
import type { RawHeader, RawOutcome } from '../host.js';
import type { Provider } from '../inject.js';
import type { AnswerOf, EventName, PayloadOf } from '../events.js';
import { describe, type Manifest } from '../manifest.js';
import { joinPath, module, Module, type KnownOptions, type MapOfOptions, type ModuleOptions } from '../module.js';
import { liftPayload, lowerPayload } from '../payload.js';
import { fromUtf8, utf8 } from '../platform/utf8.js';
import { inWorld, installTestHost, TestContext, TestDelivery, TestWorld, type TestListener } from './host.js';
import { TestResponse } from './response.js';

/** What a test changes of the module. */
export interface TestOptions {
  providers?: readonly Provider[];
  variables?: Readonly<Record<string, string>>;
}

/** A request; its body is at most one of `json`, `form`, `formData` and `body`. */
export interface TestRequest {
  headers?: HeadersLike;
  cookies?: Readonly<Record<string, string>>;
  json?: unknown;
  form?: Readonly<Record<string, string>>;
  formData?: FormData;
  body?: string | Uint8Array;
  /** Whether the client has left. */
  cancelled?: boolean;
}

function named(...names: readonly string[]): Readonly<Record<string, Check>> {
  return Object.fromEntries(names.map((name) => [name, anything]));
}

const BODIES = ['json', 'form', 'formData', 'body'] as const;
const OF_APP = named('providers', 'variables');
const OF_REQUEST = named('headers', 'cookies', ...BODIES, 'cancelled');
const OF_DELIVERY = named('attempt', 'request');

interface Candidate {
  handler: number;
  method: string | null;
  pattern: string;
  segments: string[];
}

/** A module under test. `Events` is the event map that its classes take. */
export class TestApp<Events = unknown> {
  readonly #module: Module;
  readonly #dispatcher: Dispatcher;
  readonly #listeners = new Map<string, TestListener>();
  readonly #variables: Record<string, string>;
  readonly #routes: Candidate[];

  constructor(tested: Module | ModuleOptions, options: TestOptions = {}) {
    expectOptions('`testApp`', options, OF_APP);
    installTestHost();
    this.#module = tested instanceof Module ? tested : module(tested);
    this.#dispatcher = new Dispatcher(this.#module, this.#module.instances(options.providers));
    this.#variables = { ...options.variables };
    this.#routes = this.#module.controllers.flatMap(({ declared, routes }) =>
      routes.flatMap(({ handler, declared: { method, paths } }) =>
        (paths.length === 0 ? [''] : paths).map((path) => {
          const pattern = joinPath(declared.path, path);
          return { handler, method, pattern, segments: segmentsOf(pattern) };
        }),
      ),
    );
  }

  /** The declarations, as the host reads them. */
  get manifest(): Manifest {
    return describe(this.#module, {});
  }

  /** What answers an event that the code under test calls. Of an event of the map, it takes the payload and gives the result. */
  on<Name extends EventName<Events>>(event: Name, listener: (payload: PayloadOf<Events, Name>) => AnswerOf<Events, Name>): this;
  on<Name extends string>(event: Name extends keyof Events ? never : Name, listener: TestListener): this;
  on(event: string, listener: TestListener): this {
    this.#listeners.set(event, listener);
    return this;
  }

  #world(): TestWorld {
    return new TestWorld(this.#listeners, this.#variables);
  }

  /** Sends a request to the handler that the host would choose. An exception that nothing catches is 500, and `exception` of the answer. */
  async request(method: string, target: string, request: TestRequest = {}): Promise<TestResponse> {
    const [path = '', query] = split(target);
    const found = this.#find(method, path);
    if (!found) {
      const all = this.#routes.map((route) => `\n  ${route.method ?? 'ALL'} ${route.pattern}`).join('');
      throw new Error(`no handler answers \`${method} ${path}\`, expected one of:${all}`);
    }
    const { headers, body } = await contentOf(request);
    const parts = { method, path, query: query ?? null, headers, body, route: found.route.pattern, params: found.params, cancelled: request.cancelled ?? false };
    const context = new TestContext(this.#world(), parts);
    const outcome = await inWorld(context.world, async () => this.#dispatcher.handle(found.route.handler, context));
    inWorld(context.world, () => keep(outcome, context));
    return new TestResponse(context);
  }

  get(target: string, request?: TestRequest): Promise<TestResponse> {
    return this.request('GET', target, request);
  }

  post(target: string, request?: TestRequest): Promise<TestResponse> {
    return this.request('POST', target, request);
  }

  put(target: string, request?: TestRequest): Promise<TestResponse> {
    return this.request('PUT', target, request);
  }

  patch(target: string, request?: TestRequest): Promise<TestResponse> {
    return this.request('PATCH', target, request);
  }

  delete(target: string, request?: TestRequest): Promise<TestResponse> {
    return this.request('DELETE', target, request);
  }

  /**
   * Delivers an event, `db:product:all`, to its listener. The result is that of the caller; a failure is thrown as to the caller, and has an
   * exception that nothing caught as its `cause`.
   */
  async deliver(event: string, payload?: unknown, options: { attempt?: number; request?: TestRequest } = {}): Promise<unknown> {
    return (await this.deliverAll(event, payload, options)).result;
  }

  /** As {@link deliver}, with what the listener did; `reply` is that of the context that `options.request` hands over. */
  async deliverAll(
    event: string,
    payload?: unknown,
    options: { attempt?: number; request?: TestRequest } = {},
  ): Promise<{ result: unknown; reply: TestResponse }> {
    expectOptions('a delivery of a test', options, OF_DELIVERY);
    const at = this.#module.listeners.findIndex(({ channel, event: name }) => `${channel.name}:${name}` === event);
    const listener = this.#module.listeners[at];
    if (!listener) {
      const all = this.#module.listeners.map(({ channel, event }) => `\n  ${channel.name}:${event}`).join('');
      throw new Error(`no listener has the event \`${event}\`, expected one of:${all}`);
    }
    const world = this.#world();
    const { headers, body } = await contentOf(options.request ?? {});
    const context = new TestContext(world, { method: 'GET', path: '/', query: null, headers, body, route: '/', params: [], cancelled: false });
    const delivery = new TestDelivery(world, listener.event, options.attempt ?? 1, options.request ? context : null);
    const delivered = await inWorld(world, async () => this.#dispatcher.deliver(at, delivery, lowerPayload(payload, 'the payload of', event)));
    if ('failed' in delivered) {
      const [cause] = world.exceptions;
      throw Object.assign(new CallException(event, delivered.failed), cause !== undefined && { cause });
    }
    return { result: liftPayload(delivered.ok), reply: new TestResponse(context) };
  }

  /** The route that the host chooses: a literal beats a parameter, a parameter beats the rest, and a method beats every method. */
  #find(method: string, path: string): { route: Candidate; params: { name: string; value: string }[] } | undefined {
    const wanted = path === '/' ? [] : path.split('/').slice(1);
    let best: { route: Candidate; params: { name: string; value: string }[]; rank: string } | undefined;
    for (const route of this.#routes) {
      const isHead = method === 'HEAD' && route.method === 'GET';
      if (route.method !== null && route.method !== method && !isHead) continue;
      const params = match(route.segments, wanted);
      if (!params) continue;
      const kinds = route.segments.map((segment) => (segment.startsWith('*') ? 'c' : segment.startsWith(':') ? 'b' : 'a')).join('');
      const rank = `${kinds}${route.method === null ? '2' : isHead ? '1' : '0'}`;
      if (!best || rank < best.rank) best = { route, params, rank };
    }
    return best;
  }
}

function split(target: string): [string, string | undefined] {
  const at = target.indexOf('?');
  return at < 0 ? [target, undefined] : [target.slice(0, at), target.slice(at + 1)];
}

function segmentsOf(pattern: string): string[] {
  return pattern === '/' ? [] : pattern.slice(1).split('/');
}

function match(segments: readonly string[], wanted: readonly string[]): { name: string; value: string }[] | undefined {
  const params: { name: string; value: string }[] = [];
  for (const [at, segment] of segments.entries()) {
    const text = wanted[at];
    if (text === undefined) return undefined;
    if (segment.startsWith('*')) {
      const rest = wanted.slice(at).map(decodeURIComponent).join('/');
      return [...params, { name: segment.slice(1), value: rest }];
    }
    if (!segment.startsWith(':')) {
      if (decodeURIComponent(text) !== decodeURIComponent(segment)) return undefined;
    } else if (text === '') return undefined;
    else params.push({ name: segment.slice(1), value: decodeURIComponent(text) });
  }
  return segments.length === wanted.length ? params : undefined;
}

async function contentOf(request: TestRequest): Promise<{ headers: RawHeader[]; body: Uint8Array }> {
  expectOptions('a request of a test', request, OF_REQUEST);
  const bodies = BODIES.filter((name) => request[name] !== undefined);
  if (bodies.length > 1) throw new TypeError(`a request of a test has \`${bodies.join('` and `')}\`, expected one body`);
  const headers = new Map(pairs(request.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
  let body: Uint8Array = new Uint8Array(0);
  let type: string | undefined;
  if ('json' in request) {
    body = utf8(JSON.stringify(request.json));
    type = 'application/json';
  } else if (request.form) {
    body = utf8(new URLSearchParams(request.form).toString());
    type = 'application/x-www-form-urlencoded';
  } else if (request.formData) {
    const made = new Response(request.formData);
    body = new Uint8Array(await made.arrayBuffer());
    type = made.headers.get('content-type') ?? undefined;
  } else if (request.body !== undefined) {
    body = typeof request.body === 'string' ? utf8(request.body) : request.body;
  }
  if (type !== undefined && !headers.has('content-type')) headers.set('content-type', type);
  if (request.cookies) {
    const all = Object.entries(request.cookies).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
    headers.set('cookie', all.join('; '));
  }
  return { headers: [...headers].map(([name, value]) => rawHeader(name, value)), body };
}

/** Takes the outcome as the host does: a reply that is not valid is an error. */
function keep(outcome: RawOutcome, context: TestContext): void {
  if (outcome.tag === 'deferred') return;
  if (outcome.tag === 'thrown') {
    context.throw(outcome.val);
    return;
  }
  const { status, headers } = outcome.val;
  const wrong = headers.map(({ name, value }) => headerProblem(name, fromUtf8(value) ?? '')).find((problem) => problem !== undefined);
  const isStatus = Number.isInteger(status) && status >= 200 && status <= 599;
  if (wrong === undefined && isStatus) context.send(outcome.val);
  else context.throw(thrown(new ReplyException(wrong ?? `the status of the reply is ${status}, expected 200 to 599`, new Error())));
}

/** A module, or its parts, under test: `const app = testApp({ controllers: [Products] })`. */
export function testApp<Events>(tested: Module<Events>, options?: TestOptions): TestApp<Events>;
export function testApp<const Options extends ModuleOptions>(tested: KnownOptions<Options>, options?: TestOptions): TestApp<MapOfOptions<Options>>;
export function testApp(tested: Module | ModuleOptions, options?: TestOptions): TestApp {
  return new TestApp(tested, options);
}
