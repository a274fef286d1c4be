/** Components, as far as they run without a host: bundles evaluated in a context that has what QuickJS has, over a contract of the test. */
import assert from 'node:assert/strict';
import { mkdtempSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync, readdirSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { test } from 'node:test';
import { createContext, runInContext } from 'node:vm';
import { build as esbuild } from 'esbuild';
import { build, bundle } from '@pointwork/guest/build';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A project with these sources; its package is the SDK itself. */
function project(files: Record<string, string>): string {
  mkdirSync(join(root, '.build/projects'), { recursive: true });
  const folder = mkdtempSync(join(root, '.build/projects/p-'));
  mkdirSync(join(folder, 'node_modules/@pointwork'), { recursive: true });
  symlinkSync(root, join(folder, 'node_modules/@pointwork/guest'), 'dir');
  for (const [name, text] of Object.entries({ 'package.json': '{"name":"@acme/shop","version":"1.2.3","description":"a shop"}', ...files })) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

const HEAD = `import { Channel, Controller, Get, On, module } from '@pointwork/guest';\n`;

interface Ran {
  manifest: { describe(): { name: string; controllers: { routes: { name: string }[] }[] } };
  handlers: { handle(handler: number, context: object): { tag: string; val: { status: number; body: { tag: string; val: string } } } };
  crashes: { message: string; exception: string | null; stack: { function: string; file: string; line: number }[] }[];
  lines: string[];
  request(name: string): string;
}

async function run(source: string): Promise<Ran> {
  const folder = project({ 'src/module.ts': HEAD + source });
  const { code } = await bundle({ entry: join(folder, 'src/module.ts') });
  const crashes: Ran['crashes'] = [];
  const lines: string[] = [];
  const contract: Record<string, object> = {
    context: { handOver: () => undefined },
    'context-sync': { call: (_: unknown, event: string) => ({ tag: 'json', val: JSON.stringify(event) }), write: (writer: string[], chunk: Uint8Array) => void writer.push(String.fromCharCode(...chunk)), finish: () => undefined },
    environment: { now: () => ({ seconds: 1, nanoseconds: 5e8 }), monotonic: () => ({ seconds: 2, nanoseconds: 0 }), random: () => -5, variables: () => [{ name: 'A', value: 'b' }] },
    'events-sync': {},
    log: { write: (level: string, _: string, message: string) => void lines.push(`${level}: ${message}`), panicked: (crash: Ran['crashes'][0]) => void crashes.push(crash) },
  };
  const script = code
    .replace(/import (\w+) from ?"pointwork:module\/([a-z-]+)@0\.2\.0";/g, 'const $1=__contract["$2"];')
    .replace(/export ?\{(\w+) as handlers,(\w+) as listeners,(\w+) as manifest\};?\s*$/, 'globalThis.__ran={handlers:$1,listeners:$2,manifest:$3};')
    .replace(/export ?\{handlers,listeners,manifest\};?\s*$/, 'globalThis.__ran={handlers,listeners,manifest};');
  const globals = createContext({ __contract: contract, btoa, atob, DOMException });
  runInContext(script, globals, { filename: 'componentize-qjs:user.js' });
  const ran = (globals as { __ran: Ran }).__ran;
  rmSync(folder, { recursive: true });
  const written: string[] = [];
  const raw = { route: () => '/', param: () => '7', openReply: () => written, [Symbol.dispose]: () => undefined };
  const request = (name: string): string => {
    const handler = ran.manifest.describe().controllers[0]?.routes.findIndex((route) => route.name === name) ?? -1;
    const outcome = ran.handlers.handle(handler, raw);
    return outcome.tag === 'deferred' ? written.splice(0).join('') : String(outcome.val.body.val);
  };
  return { ...ran, crashes, lines, request };
}

test('promises, timers, time and random bits of a component', async () => {
  const { manifest, request, lines, crashes } = await run(`
    const before = [Date.now()];
    const order: string[] = [];
    @Controller() class Page {
      @Get('a') async a(ctx) { const found = []; for (const event of ['x', 'y']) found.push(await ctx.call(event)); return found; }
      @Get('b') async b() {
        setTimeout(() => order.push('timer'), 0);
        queueMicrotask(() => order.push('micro'));
        await Promise.all([1, Promise.resolve(2), (async () => { await null; order.push('async'); })()]);
        await new Promise((resolve) => setTimeout(resolve, 0));
        return [order, await Promise.allSettled([Promise.reject(1)]), await Promise.any([Promise.reject(1), 2]), await Promise.race([3, 4])];
      }
      @Get('c') c() { return [before[0], Date.now(), new Date().toISOString(), new Date(5).getTime(), new Date() instanceof Date, performance.now(), Math.random() < 1, crypto.randomUUID().length]; }
      @Get('d') async *d() { for await (const n of (async function* () { yield 1; yield 2; })()) yield String(n); }
      @Get('e') e() { void (async () => { throw new TypeError('lost'); })(); console.log('%s %d', 'a', 1, { b: [1] }); return 'e'; }
      @Get('f') f() { return new URL('../x?y=ä', 'https://a.example/b/c').href + structuredClone({ a: 1 }).a + new TextDecoder().decode(new TextEncoder().encode('ä')) + new URLSearchParams('a=b+c').get('a'); }
      @Get('g') async g() { try { await Promise.reject(new Error('x')); } catch (error) { return error.message; } finally { order.length = 0; } }
    }
    export default module({ controllers: [Page] });`);
  assert.equal(manifest.describe().name, 'shop');
  assert.equal(request('a'), '["x","y"]');
  assert.equal(request('b'), '[["micro","async","timer"],[{"status":"rejected","reason":1}],2,3]');
  assert.equal(request('c'), '[0,1500,"1970-01-01T00:00:01.500Z",5,true,2000,true,36]');
  assert.equal(request('d'), '12');
  assert.equal(request('e'), 'e');
  assert.deepEqual(lines, ['info: a 1 { b: [1] }', 'error: nothing handled the rejection of a promise in `Page.e`: TypeError: lost at src/module.ts:16']);
  assert.equal(request('f'), 'https://a.example/x?y=%C3%A41äb c');
  assert.equal(request('g'), 'x');
  assert.deepEqual(crashes, []);
});

test('a crash names message, type, file and line', async () => {
  const { request, crashes } = await run(`
    function inner() {
      throw new RangeError('lost', { cause: new Error('why') });
    }
    @Controller() class Page {
      @Get('a') async a(ctx) {
        await ctx.call('x');
        inner();
      }
      @Get('b') b() { return new Promise(() => undefined); }
      @Get('c') c() { setTimeout(() => undefined, 50); }
      @Get('d') d() { throw 'text'; }
      @Get('e') e() { return fetch('http://x'); }
    }
    export default module({ controllers: [Page] });`);
  for (const name of ['a', 'b', 'c', 'd', 'e']) assert.throws(() => request(name));
  // The values are of another realm.
  const plain = JSON.parse(JSON.stringify(crashes[0])) as Ran['crashes'][0];
  assert.deepEqual([plain?.message, plain?.exception, plain?.stack[0]], ['lost; caused by Error: why', 'RangeError', { function: 'inner', file: 'src/module.ts', line: 4 }]);
  assert.equal(crashes[0]?.stack[1]?.line, 9);
  assert.match(crashes[1]?.message ?? '', /the promise of `Page.b` never settles/);
  assert.match(crashes[2]?.message ?? '', /`setTimeout` of 50 ms: .*ctx\.call\('clock:wait', 50\)/);
  assert.equal(crashes[3]?.message, 'not an Error was thrown: "text"'.replaceAll('"', ''));
  assert.match(crashes[4]?.message ?? '', /fetch is not defined: a module has none; call an event/);
});

test('what the host refuses as text, and the errors of a stream and of `toJSON`', async () => {
  const { request, lines, crashes } = await run(`
    import { NotFoundException } from '@pointwork/guest';
    @Controller() class Page {
      @Get('a') a() { console.log('a\\ud800b'); return 'a\\ud800b'; }
      @Get('b') b() { throw new NotFoundException('a\\ud800b'); }
      @Get('c') c() { throw new Error('a\\ud800b'); }
      @Get('d') async *d() { yield 'a'; throw new RangeError('late'); }
      @Get('e') async *e() { throw new NotFoundException('early'); }
      @Get('f') *f() { throw new RangeError('early'); }
      @Get('g') g() {
        return { a: { toJSON() { throw new TypeError('of toJSON'); } } };
      }
      @Get('h') h() { return { a: { toJSON: () => ({ b: 1n }) } }; }
    }
    export default module({ controllers: [Page] });`);
  const outcome = (name: string): unknown => JSON.parse(JSON.stringify(raw(name)));
  const raw = (name: string): unknown => { try { return request(name); } catch (error) { return String(error); } };
  assert.equal(outcome('a'), 'a\ufffdb');
  assert.deepEqual(lines.splice(0), ['info: a\ufffdb']);
  assert.equal(outcome('d'), 'a');
  assert.deepEqual(lines.splice(0), ['error: the reply is broken off: RangeError: late at src/module.ts:8']);
  for (const name of ['c', 'f', 'g', 'h']) raw(name);
  assert.deepEqual(
    crashes.map(({ message, stack }) => [message, stack[0]?.line]),
    [['a\ufffdb', 7], ['early', 10], ['of toJSON', 12], ['what was returned by `Page.h` cannot be written as JSON: `a.b` is the BigInt 1n, expected a number or a text', crashes[3]?.stack[0]?.line]],
  );
  assert.deepEqual(lines, []);
});

test('what is wrong is told at build, with its place', async () => {
  const refused = async (source: string, expected: RegExp, more: Record<string, string> = {}): Promise<void> => {
    const folder = project({ 'src/module.ts': HEAD + source, ...more });
    await assert.rejects(build({ entry: join(folder, 'src/module.ts'), out: join(folder, 'a.wasm') }), expected);
    rmSync(folder, { recursive: true });
  };
  await refused(`@Controller() class A { @Get() static a() {} }\nexport default module({ controllers: [A] });`, /src\/module\.ts:2: `@Get` is on the static method `a`/);
  await refused(`@Controller() class A { @Get() get a() { return 1; } }\nexport default module({ controllers: [A] });`, /`@Get` is on the getter `a`/);
  await refused(`export const a = 1;`, /No matching export|no module as its default export/);
  await refused(`export default 7;`, /the entry file has no module as its default export/);
  await refused(`import fs from 'node:fs';\nexport default fs;`, /src\/module\.ts:2: `node:fs` is a part of Node, which a module does not have/);
  await refused(`const a = await 1;\nexport default a;`, /src\/module\.ts:2: `await` in top-level code does not work in a module/);
  await refused(`const a = 1;\nconst b = Math.random();\nexport default b;`, /src\/module\.ts:3: `Math\.random` is called when the module is built/);
  await refused(`const b = crypto.randomUUID();\nexport default b;`, /src\/module\.ts:2: `crypto\.getRandomValues` is called when the module is built/);
});

test('a component is made, and what is no part of it is told', async () => {
  const folder = project({
    'src/module.ts': `${HEAD}import './other';\n@Controller('a') class A { @Get(':id') a(ctx) { return ctx.param('id'); } }\nconsole.log('built');\nexport default module({ controllers: [A] });`,
    'src/other.ts': `${HEAD}@Controller('b') class Other { @Get() b() {} }\n@Channel('c') class Listed { @On('d') d() {} }`,
    'src/forgotten.ts': `${HEAD}@Controller('b')\nexport class Forgotten {}`,
  });
  const out = join(folder, 'a.wasm');
  const built = await build({ entry: join(folder, 'src/module.ts'), out });
  const bytes = readFileSync(out);
  assert.equal(bytes.length, built.size);
  assert.ok(bytes.includes('pointwork:module/handlers@0.2.0'));
  assert.deepEqual(built.routes, ['GET /a/:id']);
  assert.deepEqual(built.printed, ['built']);
  assert.deepEqual(built.warnings, [
    'the controller `Other` takes no part: the module does not list it in `controllers`',
    'the channel `Listed` takes no part: the module does not list it in `channels`',
    'src/forgotten.ts: it has a class with `@Controller`, and the module does not import it',
  ]);
  rmSync(folder, { recursive: true });
});

test('the copy of the contract is that of the repository', { skip: !existsSync(join(root, '../../wit')) }, () => {
  for (const name of readdirSync(join(root, '../../wit'))) {
    assert.equal(readFileSync(join(root, 'wit', name), 'utf8'), readFileSync(join(root, '../../wit', name), 'utf8'), name);
  }
});

test('the examples of the README run', async () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const [example, unit] = [...readme.matchAll(/^```ts\n(.*?)^```/gms)].map((block) => block[1]);
  const folder = project({
    'src/module.ts': example!,
    'src/test.ts': `${example}\nimport assert from 'node:assert/strict';\n${unit}`,
  });
  const { code } = await bundle({ entry: join(folder, 'src/module.ts') });
  assert.match(code, /product:one/);
  const out = join(folder, 'test.mjs');
  await esbuild({ entryPoints: [join(folder, 'src/test.ts')], outfile: out, bundle: true, packages: 'external', platform: 'node', format: 'esm', target: 'es2022', logLevel: 'silent' });
  await import(pathToFileURL(out).href);
  rmSync(folder, { recursive: true });
});
