/** Declarations that cannot work, or that the SDK would ignore: each is refused with the right form. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { develop } from '@pointwork/guest/build';
import { Controller, Get, Post, Reply, sse, variables, type Context, type Variable } from '@pointwork/guest';
import { testApp } from '@pointwork/guest/testing';
import { project, root } from './project.js';

const HEAD = `import * as guest from '@pointwork/guest';
const { Acl, Channel, Controller, Get, Header, HttpCode, inject, module, On, Post, RequestMapping, SkipGuards, UseGuards, UseInterceptors, variables } = guest;\n`;

/** What the build says about a module: its error, or its warnings. */
async function told(source: string): Promise<string> {
  const folder = project({ 'src/module.js': HEAD + source });
  try {
    // The engine without a program is made once for all.
    return (await develop({ entry: join(folder, 'src/module.js'), folder: join(root, '.build/engine') })).warnings.join('\n');
  } catch (error) {
    return (error as Error).message.replace(/^src\/module\.js:\d+: /, '');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const method = (decorators: string, more = ''): Promise<string> => told(`class Passes { canActivate() { return true; } }\n${more}\n@Controller('c') class A { ${decorators} x(ctx) {} }\nexport default module({ controllers: [A] });`);
const whole = (options: string, more = ''): Promise<string> => told(`${more}\n@Controller('c') class A { @Get() x(ctx) {} }\n@Channel('d') class D { @On('x') x() {} }\nexport default module(${options});`);

test('arguments and options of decorators', async () => {
  const cases: Record<string, string> = {
    "@Get({ summary: 'a' })": '`@Get` was given an object, expected a path such as `:id`, or an array of paths',
    '@Get(undefined)': '`@Get` was given `undefined`, expected a path such as `:id`, or an array of paths',
    "@Get(['a', 7])": '`@Get` was given an array, expected a path such as `:id`, or an array of paths',
    "@Get('', { body: 'all' })": 'the option `body` of `@Get` was given `"all"`, expected `none` or `whole` or `stream`',
    "@Get('', { version: '1' })": '`@Get` has no option `version`, expected one of `summary`, `description`, `metadata`, `body`, `tags`, `deprecated`: write the version into the path',
    "@Get('', { tags: 'a' })": 'the option `tags` of `@Get` was given `"a"`, expected an array of texts',
    "@Get('', { deprecated: 'yes' })": 'the option `deprecated` of `@Get` was given `"yes"`, expected `true` or `false`',
    "@Get('', { metadata: { a: 1 } })": 'the option `metadata` of `@Get` was given an object, expected an object whose values are texts',
    "@Get('', 'a')": '`@Get` was given `"a"`, expected an object of options',
    "@RequestMapping({ path: '', methods: ['GET'] })": '`@RequestMapping` has no option `methods`, expected one of `summary`, `description`, `metadata`, `body`, `tags`, `deprecated`, `path`, `method`',
    "@RequestMapping({ method: 0 })": 'the option `method` of `@RequestMapping` was given `0`, expected a text',
    "@Get() @HttpCode(99)": '`@HttpCode` was given `99`, expected a status from 200 to 599',
    "@Get() @HttpCode('201')": '`@HttpCode` was given `"201"`, expected a status from 200 to 599',
    '@Get() @HttpCode(201) @HttpCode(202)': 'a method has `@HttpCode(201)` and `@HttpCode(202)`, expected one of them',
    "@Get() @Header('a b', 'c')": '`@Header`: `a b` cannot be the name of a header, expected a token such as `x-name`',
    "@Get() @Header('a', 7)": 'the value of `@Header` was given `7`, expected a text',
    "@Get() @Header('Content-Length', '7')": '`@Header` sets `Content-Length`, which the server alone sets',
    '@Get() @UseGuards()': '`@UseGuards` was given `undefined`, expected a guard',
    '@Get() @UseGuards(undefined)': '`@UseGuards` was given `undefined`, expected a class with `canActivate` or a function; two files that import each other give `undefined`',
    '@Get() @UseGuards(Passes, null)': '`@UseGuards` was given `null`, expected a class with `canActivate` or a function',
    '@Get() @UseGuards(new Passes())': '`@UseGuards` was given an object of the class `Passes`, expected a class with `canActivate` or a function, such as `(ctx) => guard.canActivate(ctx)`',
    '@Get() @UseInterceptors((ctx, next) => next())': '`@UseInterceptors` was given a function, expected a class with `intercept`',
    '@Get() @UseInterceptors(undefined)': '`@UseInterceptors` was given `undefined`, expected a class with `intercept`; two files that import each other give `undefined`',
  };
  for (const [decorators, expected] of Object.entries(cases)) assert.equal(await method(decorators), expected, decorators);
  const classes: Record<string, string> = {
    "@Controller(['a', 'b'])": '`@Controller` was given an array, expected one path, such as `products`; a class for each further prefix',
    '@Controller(undefined)': '`@Controller` was given `undefined`, expected one path, such as `products`; a class for each further prefix',
    "@Controller({ path: 'a', host: 'b' })": '`@Controller` has no option `host`, expected one of `summary`, `description`, `metadata`, `name`, `path`: compare `ctx.authority` in a guard',
    "@Controller('a', { name: 7 })": 'the option `name` of `@Controller` was given `7`, expected a text',
    '@Channel()': '`@Channel` was given `undefined`, expected the name of the channel, such as `db`',
    "@Channel('a', { prefix: 'b' })": '`@Channel` has no option `prefix`, expected one of `summary`, `description`, `metadata`, `name`',
  };
  for (const [decorator, expected] of Object.entries(classes)) assert.equal(await told(`${decorator} class A {}\nexport default module({ controllers: [A] });`), expected, decorator);
  const on = (decorator: string): Promise<string> => told(`@Channel('d') class D { ${decorator} x() {} }\nexport default module({ channels: [D] });`);
  assert.match(await on('@On(undefined)'), /`@On` was given `undefined`, expected the name of the event within its channel, such as `product:all`$/);
  assert.match(await on("@On('x', { name: 'y' })"), /`@On` has no option `name`, expected one of `summary`, `description`, `metadata`$/);
  assert.equal(await method("@Get('a', { summary: 's', description: 'd', tags: ['t'], deprecated: true, metadata: { a: 'b' }, body: 'stream' }) @HttpCode(204) @Header('x-a', 'b') @UseGuards(Passes)"), '');
});

test('decorators that would have no effect', async () => {
  assert.equal(await method('@UseGuards(Passes) y() {} @Get()'), '`A.y` has `@UseGuards` and no route, expected a decorator such as `@Get` beside');
  assert.equal(await method("@HttpCode(201) @Header('a', 'b') y() {} @Get()"), '`A.y` has `@Header`, `@HttpCode` and no route, expected a decorator such as `@Get` beside');
  assert.equal(await method('@Get() @SkipGuards()'), '`A.x` has `@SkipGuards`, and `A` has no guards; those of the module run for every handler');
  const channel = (decorators: string, of = ''): Promise<string> => told(`${of} @Channel('d') class D { @On('x') ${decorators} x() {} }\nexport default module({ channels: [D] });`);
  assert.equal(await channel('@UseGuards(() => true)'), '`D.x` has `@UseGuards`, which are for handlers of requests');
  assert.equal(await channel('', '@UseGuards(() => true)'), 'the channel `D` has `@UseGuards`, which are for handlers of requests');
  assert.equal(await channel('@HttpCode(201)'), '`D.x` has `@HttpCode`, which are for handlers of requests');
});

test('patterns of other frameworks', async () => {
  const path = async (text: string): Promise<string> => (await method(`@Get(${JSON.stringify(text)})`)).replace(`\`A.x\`: the path ${JSON.stringify(text)} is not valid: `, '');
  assert.equal(await path('{id}'), '`{id}` would be a text and no parameter, expected `:id` for a parameter, or `%7B` in place of `{`');
  assert.equal(await path('a/{user-id}/b'), '`{user-id}` would be a text and no parameter, expected `:user-id` for a parameter, or `%7B` in place of `{`');
  assert.equal(await path('a{b}c'), '`a{b}c` would be a text and no parameter, expected `:name` for a parameter, or `%7B` in place of `{`');
  assert.equal(await path('<int:id>'), '`<int:id>` would be a text and no parameter, expected `:id` for a parameter, or `%3C` in place of `<`');
  assert.match(await path(':id?'), /`:id\?` has no valid name/);
  assert.match(await path(':id(\\d+)'), /`:id\(\\d\+\)` has no valid name/);
  assert.match(await path('*'), /`\*` has no valid name/);
  assert.match(await path('files/:name.json'), /`:name\.json` has no valid name/);
  assert.equal(await path('%7Bid%7D'), '');
  assert.equal(await method("@RequestMapping({ method: 'get' })"), '`A.x`: no client sends the method "get", expected `GET`');
  assert.equal(await method("@RequestMapping({ method: 'MKWORKSPACE' })"), '');
});

test('parameters that nothing fills', async () => {
  const constructor = (of: string, by = 'controllers: [A]'): Promise<string> => told(`class P {}\n${of}\nexport default module({ ${by} });`);
  const one = (name: string): string => `the constructor of \`${name}\` has a parameter, which is \`undefined\` at run time, expected a field for each: \`prices = inject(Prices)\``;
  const a = '@Get() x() {} }';
  assert.match(await constructor(`@Controller() class A { constructor(p) { this.p = p; } ${a}`), new RegExp(`${escaped(one('A'))}$`));
  assert.match(await constructor(`@Controller() class A { constructor(p, q) { this.p = p; } ${a}`), /has 2 parameters, which are `undefined`/);
  assert.match(await constructor(`class B { constructor(p) { this.p = p; } }\n@Controller() class A extends B { ${a}`), /the constructor of `A` has a parameter/);
  assert.match(await constructor("@Channel('d') class A { constructor(p) { this.p = p; } @On('x') x() {} }", 'channels: [A]'), /the constructor of `A` has a parameter/);
  assert.match(await constructor(`class G { constructor(p) { this.p = p; } canActivate() { return true; } }\n@Controller() @UseGuards(G) class A { ${a}`), /the constructor of `G` has a parameter/);
  assert.match(await constructor(`class I { constructor(p) { this.p = p; } intercept(ctx, next) { return next(); } }\n@Controller() class A { ${a}`, 'controllers: [A], interceptors: [I]'), /the constructor of `I` has a parameter/);
  assert.match(await constructor(`class S { constructor(p) { this.p = p; } }\n@Controller() class A { s = inject(S); ${a}`), /`A` cannot be made: the constructor of `S` has a parameter/);
  assert.match(await constructor(`class S { constructor(p) { this.p = p; } }\n@Controller() class A { ${a}`, 'controllers: [A], providers: [S]'), /the constructor of `S` has a parameter/);
  for (const fine of ['constructor(p = 1) { this.p = p; }', 'constructor(...all) { this.p = all; }', 'constructor() { this.p = 1; }', 'p = inject(P);']) {
    assert.equal(await constructor(`@Controller() class A { ${fine} ${a}`), '', fine);
  }
  assert.equal(await constructor(`class B { constructor(p) { this.p = p; } }\n@Controller() class A extends B { constructor() { super(7); } ${a}`), '');
  assert.equal(await method('@Get() y(ctx, id) {} @Post()'), "`A.y` has 2 parameters, expected the context alone: `ctx.param('id')`, `ctx.query` and `ctx.json()` read the request");
  assert.equal(await told("@Channel('d') class D { @On('x') x(a, b, c) {} }\nexport default module({ channels: [D] });"), '`D.x` has 3 parameters, expected at most the payload and the delivery');
});

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

test('options of `module` and providers', async () => {
  const cases: Record<string, string> = {
    '{ controllers: [A], imports: [] }': '`module` has no option `imports`, expected one of `controllers`, `channels`, `guards`, `interceptors`, `errors`, `providers`, `variables`, `uses`, `metadata`: list the controllers, channels and providers of all folders themselves',
    '{ controllers: A }': 'the option `controllers` of `module` was given the class `A`, expected an array',
    '{ controllers: [undefined] }': '`undefined` is listed in `controllers` and has no `@Controller`',
    '{ controllers: [A], guards: [undefined] }': '`guards` of `module` was given `undefined`, expected a class with `canActivate` or a function; two files that import each other give `undefined`',
    '{ controllers: [A], interceptors: [() => 1] }': '`interceptors` of `module` was given a function, expected a class with `intercept`',
    '{ controllers: [A], errors: { TypeError: () => 1 } }': 'the option `errors` of `module` was given an object, expected a function, such as `(error) => Reply.json({ title: error.message })`',
    "{ controllers: [A], variables: { SIZE: { type: 'integer' } } }": 'the option `variables` of `module` was given an object, expected what `variables({ … })` returns',
    "{ controllers: [A], uses: 'db:one' }": 'the option `uses` of `module` was given `"db:one"`, expected an array of texts',
    "{ controllers: [A], uses: ['db one'] }": 'the event "db one" that the module uses is not valid, expected a text without white space, such as `db:product:one`',
    "{ controllers: [A], metadata: { a: 1 } }": 'the option `metadata` of `module` was given an object, expected an object whose values are texts',
    "{ controllers: [A], providers: [{ provide: 'a', useFactory: (b) => b, inject: ['b'] }] }": 'the option `useFactory` of a provider of `module` was given a function, expected a function without parameters, which calls `inject` for what it needs',
    "{ controllers: [A], providers: [{ provide: 'a', useExisting: A }] }": 'a provider of `module` has no option `useExisting`, expected one of `provide`, `useClass`, `useValue`, `useFactory`: use `useFactory: () => inject(…)`',
    "{ controllers: [A], providers: [{ provide: 'a' }] }": 'a provider of `module` has nothing to provide, expected `provide` and one of `useClass`, `useValue`, `useFactory`',
    "{ controllers: [A], providers: [{ provide: 'a', useClass: A, useValue: 1 }] }": 'a provider of `module` has `useClass` and `useValue` to provide, expected `provide` and one of `useClass`, `useValue`, `useFactory`',
    "{ controllers: [A], providers: [undefined] }": 'a provider of `module` was given `undefined`, expected an object of options',
    '{ channels: [D], guards: [() => true] }': '`module` has `guards`, which are for the handlers of controllers, and lists none',
    '{ channels: [D], errors: (error) => error }': '`module` has `errors`, which are for the handlers of controllers, and lists none',
    '{ controllers: [D] }': '`D` is listed in `controllers` and has no `@Controller`',
  };
  for (const [options, expected] of Object.entries(cases)) assert.equal(await whole(options), expected, options);
  assert.equal(await whole('{ controllers: [A], channels: [D], guards: [G] }', 'class G {}'), '`G` has no function `canActivate`');
  assert.equal(await whole('{ controllers: [A], channels: [D], interceptors: [I] }', 'class I {}'), '`I` has no function `intercept`');
  const later = await told(`@Controller() class A { p = inject('p'); @Get() x() {} }\nexport default module({ controllers: [A], providers: [{ provide: 'p', useFactory: async () => 1 }] });`);
  assert.equal(later, '`A` cannot be made: the factory of `p` returned a promise, for which nothing waits: provide a function, and await its result in the handler');
  assert.equal(await whole("{ controllers: [A], channels: [D], guards: [], interceptors: [], errors: (error) => error, providers: [{ provide: 'a', useValue: undefined }, A], uses: ['a:b'], metadata: {} }"), '');
});

test('schemas of variables', () => {
  const refused = (schema: object, expected: RegExp): void => assert.throws(() => variables(schema as Record<string, Variable>), expected, JSON.stringify(schema));
  refused({ A: { type: 'int' } }, /the `type` of the variable `A` was given `"int"`, expected `string` or `integer` or `number` or `boolean`/);
  refused({ A: {} }, /the `type` of the variable `A` was given `undefined`/);
  refused({ A: 'string' }, /the option `A` of `variables` was given `"string"`, expected a schema such as `\{ type: 'string' \}`/);
  refused({ A: { type: 'string', pattern: 'a+' } }, /the variable `A` has no option `pattern`, expected one of `description`, `optional`, `type`, `minLength`, `maxLength`, `enum`, `default`/);
  refused({ A: { type: 'integer', exclusiveMinimum: 1 } }, /the variable `A` has no option `exclusiveMinimum`/);
  refused({ A: { type: 'integer', minLength: 1 } }, /the variable `A` has no option `minLength`/);
  refused({ A: { type: 'integer', minimum: '1' } }, /the option `minimum` of the variable `A` was given `"1"`, expected a number/);
  refused({ A: { type: 'string', enum: [1] } }, /the option `enum` of the variable `A` was given an array, expected an array of texts/);
  refused({ A: { type: 'integer', minimum: 1, default: 0 } }, /the default `0` of the variable `A` does not fit its own schema/);
  refused({ A: { type: 'integer', default: 1.5 } }, /the default `1\.5` of the variable `A`/);
  refused({ A: { type: 'string', enum: ['a'], default: 'b' } }, /the default `"b"` of the variable `A`/);
  refused({ A: { type: 'boolean', default: 'true' } }, /the option `default` of the variable `A` was given `"true"`, expected `true` or `false`/);
  variables({ A: { type: 'integer', minimum: 1, maximum: 9, default: 5, description: 'd' }, B: { type: 'string', enum: ['a', 'b'], optional: true }, C: { type: 'number', default: 0.5 }, D: { type: 'boolean', default: false } });
});

test('schemas and cookies that are none', async () => {
  const schemas = {} as Record<string, never>;
  @Controller()
  class Page {
    @Post('json') json(ctx: Context) { return ctx.json(schemas['user'] as never); }
    @Post('form') form(ctx: Context) { return ctx.form(schemas['user'] as never); }
    @Post('class') class(ctx: Context) { return ctx.json(Page as never); }
    @Get('query') query(ctx: Context) { return ctx.readQuery({ type: 'object' } as never); }
    @Get('param/:id') param(ctx: Context) { return ctx.param('id', 7 as never); }
    @Get('later/:id') later(ctx: Context) { return ctx.param('id', (async (text: string) => text) as never); }
    @Get('cookie') cookie() { return Reply.text('').cookie('a', 'b', { httponly: true } as never); }
    @Get('same') same() { return Reply.text('').cookie('a', 'b', { sameSite: 'Strict' as never }); }
  }
  const app = testApp({ controllers: [Page] });
  const exception = async (method: string, path: string, request = {}): Promise<string> => {
    const answer = await app.request(method, path, request);
    assert.equal(answer.status, 500);
    return String(answer.exception ?? answer.lines[0]?.message);
  };
  const wrong = (shown: string): string => `TypeError: a value was to be validated by ${shown}, expected a Standard Schema, such as one of zod, or \`fromTypeBox(…)\``;
  assert.equal(await exception('POST', '/json', { json: {} }), wrong('`undefined`'));
  assert.equal(await exception('POST', '/form', { form: {} }), wrong('`undefined`'));
  assert.equal(await exception('POST', '/class', { json: {} }), wrong('the class `Page`'));
  assert.equal(await exception('GET', '/query'), wrong('an object'));
  assert.equal(await exception('GET', '/param/7'), wrong('`7`'));
  assert.match(await exception('GET', '/later/7'), /path parameter `id`: the pipe is asynchronous, expected one that answers at once/);
  assert.match(await exception('GET', '/cookie'), /cookie `a` has the option `httponly`, expected one of `path`, .*`httpOnly`/);
  assert.match(await exception('GET', '/same'), /the `sameSite` of cookie `a` is "Strict", expected `strict`, `lax` or `none`/);
});

test('options of the test app, and fields of events that are sent', async () => {
  @Controller()
  class Page {
    @Get() events() { return sse([{ event: 'x', data: 1 } as never]); }
  }
  const app = testApp({ controllers: [Page] });
  assert.throws(() => testApp({ controllers: [Page] }, { vars: {} } as never), /`testApp` has no option `vars`, expected one of `providers`, `variables`/);
  await assert.rejects(app.get('/', { header: {} } as never), /a request of a test has no option `header`, expected one of `headers`/);
  await assert.rejects(app.get('/', { json: 1, body: '2' }), /a request of a test has `json` and `body`, expected one body/);
  const answer = await app.get('/');
  assert.deepEqual([answer.status, String(answer.exception)], [500, 'TypeError: a server-sent event has the field `event`, expected `data`, `type`, `id`, `retry` or `comment`']);
});

/** The lines that the command prints about a module. */
function printed(source: string, compilerOptions: object = {}): string[] {
  const folder = project({ 'src/module.ts': source, 'tsconfig.json': JSON.stringify({ compilerOptions }) });
  try {
    return spawnSync(process.execPath, [join(root, 'dist/build/cli.js'), join(folder, 'src/module.ts'), '--engine', join(root, '.build/engine')], { encoding: 'utf8' }).stderr.split('\n').filter((line) => /^[a-z]+: /.test(line));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('each mistake of a declaration has its file and line', () => {
  const head = `import * as guest from '@pointwork/guest';\nconst { Channel, Controller, Get, HttpCode, inject, module, On, Post, UseGuards, UseInterceptors } = guest;`;
  const parameters = `@Controller() // 3
    class A {
      @Get('a') // 5
      a(ctx, id) {}
      @Post('b') // 7
      b(ctx, id) {}
    }
    @Channel('d')
    class D {
      @On('x')
      x() {}
      @On('x') // 14
      y() {}
    }
    export default module({ controllers: [A, undefined], channels: [D] }); // 17`;
  const names = `@Controller() // 3
    class A {
      @Get('a b') // 5
      a() {}
      @Get(['ok', '//']) // 7
      b() {}
    }
    @Channel('d e') // 10
    class D {
      @On('x')
      x() {}
    }
    @Channel('d')
    class E {
      @On('x y') // 17
      x() {}
    }
    export default module({ controllers: [A], channels: [D, E] });`;
  const guards = `class G { canActivate(ctx) { if (ctx.path) return true; } }
    @Controller()
    class A {
      @Get()
      @UseGuards(G) // 7
      a() {}
    }
    @Controller('b') // 10
    class B {}
    export default module({ controllers: [A] });`;
  const classes = `class I {}
    @UseInterceptors(I) // 4
    @Controller() // 5
    class A {
      p = inject('p');
      @Get()
      a() {}
    }
    export default module({ controllers: [A] });`;
  const on = (decorator: string): string => `@Controller()\nclass A {\n  @Get()\n  ${decorator} // 6\n  x(ctx) {}\n}\nexport default module({ controllers: [A] });`;
  const cases: [source: string, expected: string[]][] = [
    [on('@UseGuards(undefined)'), ['error: src/module.ts:6: `@UseGuards` was given `undefined`']],
    [on('@HttpCode(700)'), ['error: src/module.ts:6: `@HttpCode` was given `700`']],
    [on('@HttpCode(201) @HttpCode(202)'), ['error: src/module.ts:6: a method has `@HttpCode(201)`']],
    [on('@Get() static y() {} @Get()'), ['error: src/module.ts:6: `@Get` is on the static method']],
    [parameters, ['error: src/module.ts:5: `A.a` has 2', 'error: src/module.ts:7: `A.b` has 2', 'error: src/module.ts:17: `undefined` is listed', 'error: src/module.ts:14: `D.x` and `D.y` both']],
    [names, ['error: src/module.ts:5: `A.a`: the path', 'error: src/module.ts:7: `A.b`: the path', 'error: src/module.ts:10: the channel "d e"', 'error: src/module.ts:17: `d`: the event']],
    [guards, ['warning: src/module.ts:10: the controller `B`', 'warning: src/module.ts:7: the guard `G`']],
    [classes, ['error: src/module.ts:5: `A` cannot be made', 'error: src/module.ts:4: `I` has no function']],
  ];
  for (const experimentalDecorators of [false, true]) {
    for (const [source, expected] of cases) {
      const lines = printed(`${head}\n${source}`, { experimentalDecorators });
      assert.deepEqual(lines.map((line, at) => line.slice(0, expected[at]?.length)), expected, lines.join('\n'));
    }
  }
});

test('what top-level code throws has its type and its place', () => {
  const lines = (source: string): string[] => printed(`import { inject, module, variables } from '@pointwork/guest';\n${source}`);
  assert.deepEqual(lines(`const go = () => {\n  throw new Error('top');\n};\ngo();\nexport default 1;`), ['error: src/module.ts:3: the module threw `Error: top` while it was built']);
  assert.deepEqual(lines('const none: any = undefined;\nexport default none.x;'), ["error: src/module.ts:3: the module threw `TypeError: Cannot read properties of undefined (reading 'x')` while it was built"]);
  assert.deepEqual(lines(`throw 'text';\nexport default 1;`), ['error: src/module.ts: the module threw `text` while it was built']);
  assert.deepEqual(lines('\nexport default inject(Date);'), ['error: src/module.ts:3: `inject` works in the fields and the constructor of a controller, channel, guard, interceptor or provider']);
  assert.deepEqual(lines(`variables({ A: { type: 'integer', default: 0.5 } });\nexport default 1;`), ['error: src/module.ts:2: the default `0.5` of the variable `A` does not fit its own schema']);
  assert.deepEqual(lines('export default 1;'), ['error: src/module.ts: the entry file has no module as its default export, expected `export default module({ controllers: [Products] })`']);
  assert.deepEqual(lines(`import './one';\nimport './two';\nexport default 1;`), ['error: src/module.ts:2: Could not resolve "./one"', 'error: src/module.ts:3: Could not resolve "./two"']);
});

test('the table of declarations names tests that exist', () => {
  const folder = join(root, 'test');
  const sources = readdirSync(folder).filter((name) => name.endsWith('.test.ts')).map((name) => readFileSync(join(folder, name), 'utf8'));
  const names = new Set(sources.flatMap((source) => [...source.matchAll(/^ *test\((['"`])(.*?)\1, /gm)].map((found) => found[2]?.replaceAll('`', ''))));
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const rows = readme.slice(readme.indexOf('## What is declared'), readme.indexOf('## From NestJS')).split('\n').filter((line) => line.startsWith('| ')).slice(1);
  const cited = rows.map((row) => row.split(' | ').at(-1) ?? '').flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map((found) => found[1]));
  assert.ok(rows.length > 20 && cited.length > rows.length);
  assert.deepEqual(cited.filter((name) => !names.has(name) && !['events.ts', 'test/types'].includes(name ?? '')), []);
});
