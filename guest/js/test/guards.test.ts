/** What the result of a guard means. */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { build } from '@pointwork/guest/build';
import { HEAD, project } from './project.js';
import { run } from './ran.js';

/** A controller with a handler `g0`, `g1` … behind each guard. */
function behind(guards: readonly string[]): string {
  const methods = guards.map((guard, at) => `@Get('g${at}') @UseGuards(${guard}) g${at}(ctx) { ran.push(${at}); return { value: typeof ctx.guarded(Object.values(used)[${at}]) }; }`);
  const named = guards.map((guard, at) => `g${at}: ${guard}`);
  return `const ran = [];\nconst used = { ${named.join(', ')} };\n@Controller() class Page {\n${methods.map((text, at) => text.replace(`@UseGuards(${guards[at]})`, `@UseGuards(used.g${at})`)).join('\n')}\n@Get('ran') ran() { return ran; } }\nexport default module({ controllers: [Page] });`;
}

test('a guard lets a request pass by `true` or a value, and by nothing else', async () => {
  const passes = ['() => true', "() => 'ada'", '() => 7', '() => ({ user: 1 })', '() => ({ status: 403 })', '() => []', '() => [false]', 'async () => true', 'class { canActivate() { return true; } }', 'class { canActivate = async () => ({ user: 1 }); }',
    '() => new Boolean(true)', '() => new Number(7)', "() => new String('ada')", '() => Object(7n)',
    '() => new Map()', '() => new Set()', '() => new Uint8Array(2)', '() => new Headers()', '() => new FormData()', "() => new URLSearchParams('')", '() => new Cookies([])', '() => new (class extends Map {})()',
  ];
  const refuses = [
    '() => {}', '() => undefined', '() => null', '() => false', '() => 0', "() => ''", '() => NaN', '() => 0n', 'async () => {}', '() => new Boolean(false)', '() => new Number(0)', '() => Object(NaN)', "() => new String('')", '() => Object(0n)', 'async () => new Number(0)', '() => new (class extends String {})()', 'async () => { await null; return false; }',
    'class { canActivate() {} }', 'class { async canActivate() { await null; return 0; } }', 'class { canActivate = () => null; }',
  ];
  const source = (guards: string[]): string => `import { Cookies, UseGuards } from '@pointwork/guest';\n${behind(guards)}`;
  const passed = await run(source(passes));
  for (const at of passes.keys()) assert.match(passed.request(`g${at}`), /^\{"value":/, passes[at]);
  const refused = await run(source(refuses));
  for (const at of refuses.keys()) assert.equal(refused.request(`g${at}`), '403 Forbidden resource', refuses[at]);
  assert.equal(refused.request('ran'), '[]');
  assert.deepEqual([passed.crashes, passed.raised, refused.crashes, refused.raised], [[], [], [], []]);
});

test('a promise that a guard returns is awaited, whatever is around the guard', async () => {
  const guards = [
    'wrapped(check)', 'check.bind(null)', 'new Proxy(check, {})', '(ctx) => later(check(ctx))', '(ctx) => ({ then: (resolve) => resolve(check(ctx)) })',
    '(ctx) => Promise.resolve({ then: (resolve) => resolve(false) })', 'class { canActivate(ctx) { return check(ctx); } }', 'Object.assign((ctx) => check(ctx), { x: 1 })',
    '(ctx) => Promise.all([check(ctx)]).then(([one]) => one)',
  ];
  const { request, crashes, raised } = await run(`import { UseGuards } from '@pointwork/guest';
    const check = async () => { await null; return false; };
    const wrapped = (guard) => (...args) => guard(...args);
    const later = (promise) => new Promise((resolve) => setTimeout(() => resolve(promise), 0));
    ${behind(guards)}`);
  for (const at of guards.keys()) assert.equal(request(`g${at}`), '403 Forbidden resource', guards[at]);
  assert.equal(request('ran'), '[]');
  assert.deepEqual([crashes, raised], [[], []]);
});

test('an object that is no value of a guard refuses the request, and says what was meant', async () => {
  const wrong: [guard: string, expected: RegExp][] = [
    ['(ctx) => new UnauthorizedException()', /^401 /],
    ['async () => new UnauthorizedException()', /^401 /],
    ['() => new RangeError()', /^500 /],
    ["() => Reply.redirect('/sign-in')", /returned a reply, expected `true` or a value: throw an `HttpException`/],
    ['() => Response.json({}, { status: 401 })', /returned a reply/],
    ["() => ({ status: 401, headers: new Headers(), arrayBuffer() {} })", /returned a reply/],
    ['() => [check()]', /an array that contains a promise, expected `true` or a value, as by/],
    ['async () => [true, { then() {} }]', /an array that contains a promise/],
    ['(ctx) => () => false', /returned a function, expected its result: call it/],
    ['function* (ctx) { return false; }', /a generator, whose code did not run/],
    ['async function* (ctx) { return false; }', /a generator, whose code did not run/],
    ['class { *canActivate() { return false; } }', /a generator, whose code did not run/],
    ['() => [].values()', /a generator, whose code did not run/],
    ['() => ({ next: () => ({ done: true, value: false }) })', /an iterator or iterable, whose items were not read, expected `true` or a value/],
    ['() => ({ [Symbol.iterator]: () => [].values() })', /an iterator or iterable/],
    ['() => ({ async *[Symbol.asyncIterator]() { yield false; } })', /an iterator or iterable/],
    ['() => Object.assign([], { [Symbol.asyncIterator]() {} })', /an iterator or iterable/],
    ['(ctx) => ctx.body', /an iterator or iterable/],
    ['() => ({ subscribe() {} })', /an Observable, expected a promise, as by `firstValueFrom`/],
    ['() => ({ subscribe() {}, pipe() {} })', /an Observable, expected a promise, as by `firstValueFrom`/],
    ['(ctx) => ctx', /returned the context, expected `true` or a value/],
  ];
  const { request, handle, crashes, raised } = await run(`import { Reply, UnauthorizedException, UseGuards } from '@pointwork/guest';\nconst check = async () => false;\n${behind([...wrong.map(([guard]) => guard), "(ctx) => ctx.send('no', 401)"])}`);
  wrong.forEach(([guard, expected], at) => {
    const answer = request(`g${at}`);
    const [report] = raised.splice(0);
    assert.match(`${answer} ${report?.message ?? ''}`, expected, guard);
  });
  // The guard has sent the reply.
  assert.equal(handle(`g${wrong.length}`).tag, 'deferred');
  assert.equal(raised.length, 1);
  assert.equal(request('ran'), '[]');
  assert.deepEqual(crashes, []);
});

test('the build warns of a guard that can end without a value', async () => {
  const warnings = async (guards: string): Promise<string[]> => {
    const folder = project({ 'src/module.ts': `${HEAD}import { UseGuards, UnauthorizedException } from '@pointwork/guest';\n${guards}\nexport default module({ controllers: [A] });` });
    try {
      const built = await build({ entry: join(folder, 'src/module.ts'), out: join(folder, 'a.wasm') });
      return built.warnings.map((warning) => /^src\/module\.ts:\d+: the guard `(.*)` can end without a value, which refuses the request with 403: end it with `return true`, or throw$/.exec(warning)?.[1] ?? warning);
    } finally {
      rmSync(folder, { recursive: true });
    }
  };
  const named = (names: readonly string[]): string => `@Controller() class A { ${names.map((name) => `@Get('${name}') @UseGuards(${name}) ${name}() {}`).join(' ')} }`;
  const endless = {
    Throws: "class Throws { canActivate(ctx) { if (!ctx.header('a')) throw new UnauthorizedException(); } }",
    Later: "class Later { async canActivate(ctx) { if (!(await ctx.call('a'))) throw new UnauthorizedException(); } }",
    Some: "const Some = (ctx) => { if (ctx.header('a')) return true; };",
    Bare: "const Bare = (ctx) => { if (ctx.header('a')) return true; return; };",
    Void: 'const Void = (ctx) => void ctx.path;',
    Chosen: "const Chosen = async (ctx) => (ctx.header('a') ? true : undefined);",
    Looped: "const Looped = (ctx) => { for (const part of ctx.path) if (part) return true; };",
    Broken: "const Broken = (ctx) => { for (;;) { if (ctx.path) break; } };",
    Switched: "const Switched = (ctx) => { switch (ctx.path) { case 'a': return true; case 'b': break; default: return true; } };",
    Tried: "const Tried = (ctx) => { try { return ctx.bearer(); } catch { ctx.header('a'); } };",
    Field: "class Field { canActivate = (ctx) => { ctx.bearer(); }; }",
    Private: "class Private { #a = 1; canActivate() { this.#a += 1; } }",
  };
  const ends = {
    Returns: "class Returns { canActivate(ctx) { if (!ctx.header('a')) throw new UnauthorizedException(); return true; } }",
    Awaits: "class Awaits { async canActivate(ctx) { const user = await ctx.call('a'); if (!user) throw new UnauthorizedException(); return user; } }",
    Short: "const Short = (ctx) => ctx.header('a') === 'b';",
    Context: "const Context = (ctx) => { if (ctx.header('a')) return true; ctx.throw(401); };",
    Both: "const Both = (ctx) => { if (ctx.header('a')) { return true; } else { throw new UnauthorizedException(); } };",
    Endless: "const Endless = async (ctx) => { while (true) { if (await ctx.call('a')) return true; } };",
    All: "const All = (ctx) => { switch (ctx.path) { case 'a': return true; default: throw new UnauthorizedException(); } };",
    Catches: "const Catches = async (ctx) => { try { return await ctx.call('a'); } catch { return false; } finally { ctx.header('a'); } };",
    Last: "const Last = async (ctx) => { for await (const chunk of ctx.body) if (chunk.length > 3) return false; return true; };",
    Inner: "const Inner = (ctx) => { const f = () => {}; f(); return true; };",
  };
  assert.deepEqual((await warnings(`${Object.values(endless).join("\n")}\n${named(Object.keys(endless))}`)).sort(), Object.keys(endless).sort());
  assert.deepEqual(await warnings(`${Object.values(ends).join('\n')}\n${named(Object.keys(ends))}`), []);
});

test('a guard that is a generator is refused by the build', async () => {
  const refused = async (guard: string): Promise<string> => {
    const folder = project({ 'src/module.ts': `${HEAD}import { UseGuards } from '@pointwork/guest';\n${guard}\n@Controller()\nclass A {\n  @UseGuards(G)\n  @Get()\n  a() {}\n}\nexport default module({ controllers: [A] });` });
    try {
      return (await build({ entry: join(folder, 'src/module.ts'), out: join(folder, 'a.wasm') })).warnings.join();
    } catch (error) {
      return (error as Error).message;
    } finally {
      rmSync(folder, { recursive: true });
    }
  };
  const expected = 'src/module.ts:6: the guard `G` is a generator, whose code never runs, expected a function without `*`';
  for (const guard of ['function* G() { return true; }', 'async function* G() { await null; return true; }', 'class G { *canActivate() { return true; } }', 'class G { async *canActivate() { return true; } }', 'class G { canActivate = async function* () { return true; }; }']) {
    assert.equal(await refused(guard), expected, guard);
  }
  assert.equal(await refused('async function G() { await null; return true; }'), '');
});

test('a promise that never settles is reported by the name of the guard, the interceptor or the handler that waits', async () => {
  const { request, raised } = await run(`import { UseGuards, UseInterceptors } from '@pointwork/guest';
    const never = () => new Promise(() => undefined);
    class Waits { async canActivate() { await never(); return true; } }
    class Passes { async canActivate() { await null; return true; } }
    class Around { async intercept(ctx, next) { const reply = await next(); await never(); return reply; } }
    class Thin { async intercept(ctx, next) { return await next(); } }
    const waits = async () => never();
    @Controller() class Page {
      @Get('a') @UseGuards(Passes, Waits) a() {}
      @Get('b') @UseGuards(waits) b() {}
      @Get('c') @UseGuards(Passes) @UseInterceptors(Thin) async c() { await never(); }
      @Get('d') @UseGuards(Passes) @UseInterceptors(Around) d() { return 'd'; }
      @Get('e') @UseInterceptors(Thin) async *e() { yield await never(); }
      @Get('f') @UseGuards((ctx) => never()) f() {}
    }
    export default module({ controllers: [Page] });`);
  for (const name of 'abcdef') assert.equal(request(name), '500 internal error');
  const names = raised.map(({ message }) => /^the promise of `(.*)` never settles/.exec(message)?.[1]);
  assert.deepEqual([...names], ['Waits.canActivate', 'waits', 'Page.c', 'Around.intercept', 'Page.e', 'a guard']);
});
