/** Builds: what is told, what is made, and the examples of the README. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { test } from 'node:test';
import { createContext, runInContext } from 'node:vm';
import { build as esbuild } from 'esbuild';
import { build, bundle, develop } from '@pointwork/guest/build';
import { HEAD, project, root, type Ran } from './project.js';

test('what is wrong is told at build, with its place', async () => {
  const refused = async (source: string, expected: RegExp, more: Record<string, string> = {}): Promise<void> => {
    const folder = project({ 'src/module.ts': HEAD + source, ...more });
    await assert.rejects(build({ entry: join(folder, 'src/module.ts'), out: join(folder, 'a.wasm') }), expected);
    rmSync(folder, { recursive: true });
  };
  await refused(`@Controller() class A { @Get() static a() {} }\nexport default module({ controllers: [A] });`, /src\/module\.ts:2: `@Get` is on the static method `a`/);
  await refused(`@Controller() class A { @Get() get a() { return 1; } }\nexport default module({ controllers: [A] });`, /`@Get` is on the getter `a`/);
  await refused(`export const a = 1;`, /the entry file has no default export/);
  await refused(`export default 7;`, /the entry file has no module as its default export/);
  await refused(`import fs from 'node:fs';\nexport default fs;`, /src\/module\.ts:2: `node:fs` is a part of Node, which a module does not have/);
  await refused(`const a = await 1;\nexport default a;`, /src\/module\.ts:2: `await` in top-level code does not work in a module/);
  await refused(`const a = 1;\nconst b = Math.random();\nexport default b;`, /src\/module\.ts:3: `Math\.random` is called when the module is built/);
  await refused(`import wall from 'wasi:clocks/wall-clock@0.2.0';\nexport default wall;`, /src\/module\.ts:2: `wasi:clocks\/wall-clock@0\.2\.0` is an interface of WASI: import `@pointwork\/guest\/files`/);
  await refused(`const b = crypto.randomUUID();\nexport default b;`, /src\/module\.ts:2: `crypto\.getRandomValues` is called when the module is built/);
});

test('what only the engine refuses is told with its place', async () => {
  const folder = project({ 'src/module.ts': `${HEAD}@Controller() class A { @Get() a() {} }\nconst make = (): unknown =>\n  new Intl.NumberFormat('de');\nmake();\nexport default module({ controllers: [A] });` });
  await assert.rejects(build({ entry: join(folder, 'src/module.ts'), out: join(folder, 'a.wasm') }), /^BuildError: src\/module\.ts:4: the module threw `\w*Error: '?Intl'? is not defined` while it was built$/);
  rmSync(folder, { recursive: true });
});

test('a component that cannot be written is told', { skip: process.platform !== 'linux' }, async () => {
  const folder = project({ 'src/module.ts': `${HEAD}@Controller() class A { @Get() a() {} }\nexport default module({ controllers: [A] });` });
  await assert.rejects(build({ entry: join(folder, 'src/module.ts'), out: '/proc/none/a.wasm' }), /^BuildError: the component cannot be written: ENOENT.*\/proc\/none/);
  rmSync(folder, { recursive: true });
});

test('files and clock of WASI are imports of the component, and functions of Node in unit tests', async () => {
  const source = `${HEAD}import { readDirectory, readTextFile, FileError } from '@pointwork/guest/files';\nimport { realTime } from '@pointwork/guest/clock';
    @Channel('a') class A { @On('b') b() { return [readDirectory('/'), readTextFile('/a'), realTime()]; } }\nexport default module({ channels: [A] });`;
  const folder = project({ 'src/module.ts': source });
  const { wasi } = await bundle({ entry: join(folder, 'src/module.ts') });
  assert.deepEqual(wasi, ['wasi:clocks/wall-clock@0.2.0', 'wasi:filesystem/preopens@0.2.0']);
  const engine = { entry: join(folder, 'src/module.ts'), folder: join(folder, 'target') };
  const developed = await develop(engine);
  assert.equal(developed.program, undefined);
  assert.ok(readFileSync(developed.engine).includes('wasi:filesystem/preopens@'));
  const files = await import('@pointwork/guest/files');
  assert.throws(() => files.readTextFile(join(folder, 'none')), (error) => error instanceof files.FileError && error.code === 'no-entry' && error.message.endsWith('/none`: no entry'));
  files.writeFile(join(folder, 'tea.txt'), 'Assam');
  assert.deepEqual([files.readTextFile(join(folder, 'tea.txt')), files.readDirectory(folder).includes('tea.txt')], ['Assam', true]);
  const { realTime } = await import('@pointwork/guest/clock');
  assert.ok(Math.abs(realTime() - Date.now()) < 60_000);
  rmSync(folder, { recursive: true });
});

test('what a base class declares is no part, which is told', async () => {
  const source = `${HEAD}import { UseGuards } from '@pointwork/guest';
    @UseGuards(() => true) class Base { @Get('base') base() {} @Get('again') again() {} @Get('lost') lost() {} }
    class Between extends Base { @On('x') x() {} }
    @Controller('a') class A extends Between { @Get('again') again() {} lost() {} }
    @Channel('c') class C extends Between { @On('y') y() {} }
    export default module({ controllers: [A], channels: [C] });`;
  const folder = project({ 'src/module.ts': source });
  for (const experimentalDecorators of [false, true]) {
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: { experimentalDecorators } }));
    const { warnings, routes } = await develop({ entry: join(folder, 'src/module.ts'), folder: join(folder, 'target') });
    assert.deepEqual(routes, ['GET /a/again']);
    assert.deepEqual(warnings.filter((warning) => warning.includes('`')), [
      'src/module.ts:5: `A` has no route by `Base.base`, which it inherits: decorate a method of `A` itself',
      'src/module.ts:5: `A` has no route by `Base.lost`, which it inherits: decorate a method of `A` itself',
      'src/module.ts:5: the decorators of the class `Base` do not apply to `A`, which extends it: give it its own',
      'src/module.ts:6: `C` has no listener by `Between.x`, which it inherits: decorate a method of `C` itself',
      'src/module.ts:6: the decorators of the class `Base` do not apply to `C`, which extends it: give it its own',
    ]);
  }
  rmSync(folder, { recursive: true });
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
    'src/other.ts:2: the controller `Other` takes no part: the module does not list it in `controllers`',
    'src/other.ts:3: the channel `Listed` takes no part: the module does not list it in `channels`',
    'src/forgotten.ts:2: it has a class with `@Controller`, and the module does not import it',
  ]);
  rmSync(folder, { recursive: true });
});

test('the package contains the contract', () => {
  // `--ignore-scripts`, because the build has run, and would replace the files of tests that run now.
  const packed = JSON.parse(execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: root, encoding: 'utf8' }));
  const files: string[] = packed[0].files.map((file: { path: string }) => file.path);
  for (const name of readdirSync(join(root, 'wit'))) {
    assert.ok(files.includes(`dist/wit/${name}`), name);
    assert.equal(readFileSync(join(root, 'dist/wit', name), 'utf8'), readFileSync(join(root, 'wit', name), 'utf8'), name);
  }
});

test('the examples of the README run', async () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const [example, unit, reports] = [...readme.matchAll(/^```ts\n(.*?)^```/gms)].map((block) => block[1]);
  const folder = project({
    'src/module.ts': example!,
    'src/test.ts': `${example}\nimport assert from 'node:assert/strict';\n${unit}`,
    'src/reports.ts': reports!,
    'src/more.ts': `import { testApp } from '@pointwork/guest/testing';
      import module from './reports';
      const app = testApp(module, { variables: { COOKIE_SECRET: 'x'.repeat(32) } });
      const user = (await app.get('/reports/sign-in')).cookie('user');
      const put = (headers) => app.request('PUT', '/reports/1', { headers, cookies: { user } });
      export const found = [
        (await app.get('/reports/1/rows')).text(),
        (await app.get('/reports/1', { headers: { 'if-none-match': '"7"' } })).status,
        (await put({ 'if-match': '"6"' })).status,
        (await put({ 'if-match': '"7"' })).json().by,
        (await app.request('PUT', '/reports/1')).status,
      ];`,
  });
  const { code } = await bundle({ entry: join(folder, 'src/module.ts') });
  assert.match(code, /product:one/);
  await bundle({ entry: join(folder, 'src/reports.ts') });
  const ran = async (name: string): Promise<object> => {
    const out = join(folder, `${name}.mjs`);
    await esbuild({ entryPoints: [join(folder, `src/${name}.ts`)], outfile: out, bundle: true, packages: 'external', platform: 'node', format: 'esm', target: 'es2022', logLevel: 'silent' });
    return (await import(pathToFileURL(out).href)) as object;
  };
  await ran('test');
  const { found } = (await ran('more')) as { found: unknown[] };
  assert.deepEqual(found, ['1\n2\n3\n', 304, 412, 'Ada', 401]);
  rmSync(folder, { recursive: true });
});

test('a build for development makes the engine once, and the program as a script', async () => {
  const source = (name: string): string => `${HEAD}@Controller() class Page { @Get('a') ${name}() { return 'a'; } }\nexport default module({ controllers: [Page] });`;
  const folder = project({ 'src/module.ts': source('one') });
  const options = { entry: join(folder, 'src/module.ts'), folder: join(folder, 'target') };
  writeFileSync(join(mkdirIn(folder, 'target'), 'engine-0.1.0-00000000.wasm'), 'of another version');
  const first = await develop(options);
  const made = statSync(first.engine);
  assert.deepEqual(readdirSync(join(folder, 'target')), [first.engine.slice(join(folder, 'target/').length)]);
  writeFileSync(options.entry, source('two'));
  const second = await develop(options);
  assert.deepEqual([second.engine, statSync(second.engine).mtimeMs, second.routes], [first.engine, made.mtimeMs, ['GET /a']]);
  const interfaces = { context: {}, 'context-sync': {}, environment: {}, 'events-sync': {}, log: {} };
  const globals = createContext({ __pointworkInterfaces: interfaces, __pointworkExported: undefined, btoa, atob, DOMException });
  runInContext(second.program!, globals);
  const { manifest } = (globals as { __pointworkExported: Ran }).__pointworkExported;
  assert.equal(manifest.describe().controllers[0]?.routes[0]?.name, 'two');
  rmSync(folder, { recursive: true });
});

function mkdirIn(folder: string, name: string): string {
  mkdirSync(join(folder, name));
  return join(folder, name);
}
