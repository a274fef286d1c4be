/** The frames of exceptions in QuickJS, which keeps the places of some expressions only. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BuildOptions } from 'esbuild';
import { reportsOf } from './engine.js';
import { HEAD, type Ran } from './project.js';
import { run } from './ran.js';

const IMPORTS = `import { UseGuards, UseInterceptors } from '@pointwork/guest';`;

/** Frames as `function file:line`. */
function framesIn({ stack }: Ran['raised'][0]): string[] {
  return stack.map(({ function: name, file, line }) => `${name} ${file}:${line}`.trim());
}

/**
 * Calls handlers, and compares the frames of their exceptions: each line of the sources that ends with a comment such as `// name 2` is the
 * place of the second frame of the handler `name`; without a number it is the first one.
 */
async function expectPlaces(files: Record<string, string>, names: readonly (string | number)[], esbuild: BuildOptions = {}, isEvaluated = false): Promise<void> {
  const reports = await reportsOf(files, names, { esbuild, isEvaluated });
  const expected = names.map((): string[] => []);
  for (const [file, source] of Object.entries({ ...files, 'src/module.ts': HEAD + files['src/module.ts'] })) {
    source.split('\n').forEach((text, at) => {
      for (const [, name, number = '1'] of text.replace(/^.*\/\/ /, '').matchAll(/([\p{L}\d]+)(?: (\d))?(?:, |$)/gu)) {
        const found = text.includes('// ') ? expected[names.map(String).indexOf(name ?? '')] : undefined;
        if (found) found[Number(number) - 1] = `${file}:${at + 1}`;
      }
    });
  }
  const found = reports.map((report) => framesIn(report).map((frame) => frame.split(' ').at(-1)));
  assert.ok(expected.every((places) => places.length > 0));
  names.forEach((name, at) => assert.deepEqual(found[at]?.slice(0, expected[at]?.length), expected[at], `${name}: ${framesIn(reports[at] as Ran['raised'][0]).join(', ')}; ${reports[at]?.message}`));
}

const ONE_LINE = `${IMPORTS}
const none = (): any => undefined;
class Guard { canActivate() { const x: any = undefined; return x.name; } } // guarded
class Around { async intercept(ctx, next) { return this.none.x; } none: any; } // around, around 2
class Old { value: any = null; read() { return this.value.x; } } // old
class New extends Old { read() { return super.read().x; } get of() { return super.read; } } // old 2
class Sets { constructor(public at: any) { this.at.x = 1; } } // sets
@Controller() class Page {
  none: any;
  @Get('constant') constant() { const x: any = undefined; return x.name; } // constant
  @Get('member') member() { return this.none.x; } // member
  @Get('called') called() { return this.none.find(1); } // called
  @Get('assigned') assigned() { this.none.x = 1; } // assigned
  @Get('mapped') mapped() { return [this].map((page) => this.none.x); } // mapped, mapped 2
  field = () => this.none.x; // fields
  @Get('fields') fields() { return this.field(); } // fields 2
  get got(): any { return this.none.x; } // getter
  @Get('getter') getter() { return this.got; } // getter 2
  @Get('inner') inner() { function f(this: any) { return this.none.x; } return f.call(this); } // inner, inner 2
  @Get('later') async later() { return this.none.x; } // later, later 2
  @Get('awaited') async awaited() { await null; return this.none.x; } // awaited
  @Get('taken') taken() { const { a } = none(); return a; } // taken
  @Get('given') given() { return ((({ a }) => 1) as any)(); } // given, given 2
  #own() { return this.none.x; } // own
  @Get('own') own() { return this.#own(); } // own 2
  static made() { return (this as any).none.x; } // made
  @Get('made') made() { return Page.made(); } // made 2
  @Get('old') old() { return new New().read(); } // old 3
  @Get('sets') sets() { return new Sets(undefined); } // sets 2
  @Get('guarded') @UseGuards(Guard) guarded() {}
  @Get('around') @UseInterceptors(Around) around() {}
  @Get('rows') *rows() { yield this.none.x; } // rows
  @Get('pieces') async *pieces() { yield await this.none.x; } // pieces
  @Get('parsed') parsed() { return JSON.parse('{'); } // parsed
  @Get('text') text() { return \`\${this.none.x}\`; } // text
  @Get('deleted') deleted() { delete this.none.x; } // deleted
  @Get('optional') optional() { return this.none?.x || this?.none.y; } // optional
  @Get('literal') literal() { return ([] as any)[0].x; } // literal
  @Get('größe') größe() { return this.none.länge; } // größe
}
@Channel('db') class Db { none: any; @On('one') one() { return this.none.x; } } // 0
export default module({ controllers: [Page], channels: [Db] });`;

const MANY_LINES = `${IMPORTS}
const id = (x?: any): any => x;
const fail = (...all: any[]): any => {
  throw new Error('failed'); // call, chain, callback, last
};
@Controller() class Page {
  none: any;
  title = 'größer als 😀, ' + '日本語';
  @Get('behind') behind() {
    const y = id(7);

    return this.none.x + y; // behind
  }
  @Get('taken') taken() {
    const y = id(7);

    const { a, b = id(1) } = id(); // taken
    return [a, b, y];
  }
  @Get('second') second() {
    let y = id(7),
      z = y + 1,
      [a] = id(); // second
    return a + z;
  }
  @Get('given') given() {
    let a, b;
    b = id(1);
    ({ a } = id()); // given
    return [a, b];
  }
  @Get('loop') loop() {
    const all = [undefined];

    for (const { a } of all as any[]) { // loop
      id(a);
    }
  }
  @Get('alone') alone() {
    const all = [undefined];
    if (id(1))
      for (const [a] of all as any[]) id(a); // alone
  }
  @Get('items') items() {
    id(1);

    for (const x of this.none.items) { // items
      id(x);
    }
  }
  @Get('test') test() {
    id(1);
    if (id(2) === 2) {
      id(3);
    } else if (
      this.none.x // never
    ) id(4);
    if (
      this.none.x // test
    ) id(4);
    return 1;
  }
  @Get('object') object() {
    return {
      a: id(1),
      b: this.none.x, // object
    };
  }
  @Get('call') call() {
    id(1);
    return fail({ // call 2
      a: id(1),
      b: id(this.title),
    });
  }
  @Get('last') last() {
    return fail(id(1), // last 2
      id(2),
      (x: any) => x);
  }
  @Get('chain') chain() {
    return id([1])
      .map((x: any) => x)
      .map(fail); // chain 2
  }
  @Get('callback') callback() {
    return [1].map((x) => { // callback 3
      const y = x;

      return fail( // callback 2
        y);
    });
  }
  @Get('later') async later() {
    const y = await id(1);

    const { a } = await id(); // later
    return [a, y];
  }
  @Get('caught') async caught() {
    try {
      await id(1);
    } finally {
      this.none.x; // caught
    }
  }
  @Get('switched') switched() {
    switch (id(1)) {
      case 1:
        id(2);
        return this.none.x; // switched
    }
    return 1;
  }
  @Get('either') either(): any {
    return id(0)
      ? id(1)
      : this.none.x; // either
  }
}
export default module({ controllers: [Page] });`;

const names = (source: string): string[] => [...source.matchAll(/@Get\('([\p{L}\d]+)'\)/gu)].map((found) => found[1] ?? '');

test('a function on one line has its place', async () => {
  await expectPlaces({ 'src/module.ts': ONE_LINE }, [...names(ONE_LINE), 0]);
});

test('each frame has the line of its own expression, and no line of a statement before', async () => {
  await expectPlaces({ 'src/module.ts': MANY_LINES }, names(MANY_LINES));
});

test('places are the same in a program that `pointwork dev` gives to the engine', async () => {
  await expectPlaces({ 'src/module.ts': ONE_LINE }, [...names(ONE_LINE), 0], {}, true);
  await expectPlaces({ 'src/module.ts': MANY_LINES }, names(MANY_LINES), {}, true);
});

test('places are the same whatever esbuild makes shorter', async () => {
  for (const options of [{ minify: true, charset: 'ascii' }, { minifyWhitespace: false, minifySyntax: false, target: 'es2020' }] as BuildOptions[]) {
    await expectPlaces({ 'src/module.ts': ONE_LINE }, [...names(ONE_LINE), 0], options);
    await expectPlaces({ 'src/module.ts': MANY_LINES }, names(MANY_LINES), options);
  }
});

const VALUES = `
import { deep, later, run } from 'dep';
class Gone { stack: any; constructor() { this.stack = new Error('gone').stack; } }
const inner = (): Error => {
  return new RangeError('inner');
};
@Controller() class Page {
  none: any;
  @Get('ofPackage') ofPackage() { return run(this.none); }
  @Get('deep') deep() {
    return deep(30, () => {
      return this.none.x;
    });
  }
  @Get('ofLater') async ofLater() { await later(this.none); }
  @Get('text') text() { throw 'text'; }
  @Get('nothing') nothing() { throw null; }
  @Get('object') object() { throw { status: 400 }; }
  @Get('gone') gone() { throw new Gone(); }
  @Get('replaced') replaced() { throw Object.assign(new Error('a'), { stack: 'a\\n    at x (y' + '\\n'.repeat(200_000) }); }
  @Get('hidden') hidden() { throw Object.defineProperty(new Error('a'), 'stack', { get() { throw 1; } }); }
  @Get('wrapped') wrapped() { throw new Error('outer', { cause: new TypeError('between', { cause: inner() }) }); }
  @Get('any') any() { return Promise.any([Promise.reject(inner()), Promise.reject('two')]); }
  @Get('many') many() { throw new AggregateError([inner(), 'two'], 'many'); }
}
export default module({ controllers: [Page] });`;

const PACKAGE = {
  'node_modules/dep/package.json': '{"name":"dep","version":"1.0.0","type":"module","main":"index.js"}',
  'node_modules/dep/index.js': `export function run(x) { return x.y; }
export function deep(count, f) { return count === 0 ? f() : deep(count - 1, f); }
export async function later(x) { await null; return x.y; }`,
};

test('any thrown value is reported, with the frames that it has', async () => {
  const calls = names(VALUES);
  const reports = await reportsOf({ 'src/module.ts': VALUES, ...PACKAGE }, calls);
  const frames = (name: string): string[] => framesIn(reports[calls.indexOf(name)] as Ran['raised'][0]);
  const message = (name: string): string | undefined => reports[calls.indexOf(name)]?.message;
  const dep = 'node_modules/dep/index.js';
  assert.deepEqual(frames('ofPackage'), [`run ${dep}:1`, 'ofPackage src/module.ts:10']);
  const recursive = frames('deep');
  assert.deepEqual([recursive.length, recursive[0], recursive[1], recursive.at(-1)], [33, 'src/module.ts:13', `deep ${dep}:2`, 'deep src/module.ts:12']);
  assert.deepEqual(frames('ofLater'), [`${dep}:3`]);
  for (const name of ['text', 'nothing', 'object', 'replaced', 'hidden']) assert.deepEqual(frames(name), [], name);
  assert.deepEqual(['text', 'nothing', 'object'].map(message), ['not an Error was thrown: text', 'not an Error was thrown: null', 'not an Error was thrown: {"status":400}']);
  assert.deepEqual(frames('gone'), ['Gone src/module.ts:4', 'gone src/module.ts:20']);
  assert.equal(message('wrapped'), 'outer; caused by TypeError: between at src/module.ts:23; caused by RangeError: inner at src/module.ts:6');
  assert.equal(message('any'), 'all promises were rejected; its errors are RangeError: inner at src/module.ts:6, two');
  assert.deepEqual(frames('any'), ['inner src/module.ts:6', 'any src/module.ts:24']);
  assert.deepEqual(frames('many'), ['many src/module.ts:25']);
});

test('a call on several lines has its event in the manifest', async () => {
  const { manifest } = await run(`
    @Controller() class Page {
      @Get('a') a(ctx) {
        return ctx.call(
          'db:one',
        );
      }
      @Get('b') b(ctx) {
        return ctx.call(
          'db:two',
          { a: this.b },
        );
      }
    }
    export default module({ controllers: [Page] });`);
  assert.deepEqual([...(manifest.describe() as unknown as { eventsUsed: string[] }).eventsUsed], ['db:one', 'db:two']);
});

test('an event that cannot be sent has the place of `sse`', async () => {
  const reports = await reportsOf({ 'src/module.ts': `import { sse } from '@pointwork/guest';
@Controller() class Page {
  @Get('unknown') unknown() {
    return sse([{ event: 'a' }] as any); // unknown
  }
  @Get('text') async text() {
    const made = sse((async function* () { yield 'a'; })() as any); // text
    return made;
  }
  @Get('value') value() {
    return sse([{ data: 1n }]); // value
  }
  @Get('own') own() {
    return sse([{ data: { toJSON() { throw new RangeError('own'); } } }]); // own
  }
}
export default module({ controllers: [Page] });` }, ['unknown', 'text', 'value', 'own']);
  assert.deepEqual(reports.map((report) => framesIn(report)[0]?.split(' ').at(-1)), ['src/module.ts:5', 'src/module.ts:8', 'src/module.ts:12', 'src/module.ts:15']);
  assert.match(reports[0]?.message ?? '', /has the field `event`, expected `data`, `type`/);
});
