/** Components, as far as they run without a host: bundles evaluated in a context that has what QuickJS has, over a contract of the test. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run, TEXTS } from './ran.js';
import type { Ran } from './project.js';

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
      @Get('h') h() {
        const long = 'https://a.example/' + 'a'.repeat(16384);
        let told = '';
        try { new URL(long); } catch (error) { told = error.message; }
        return [URL.canParse(long), URL.canParse('/b', 'https://a.example'), URL.parse(long), URL.parse('b', 'https://a.example/c').href, told];
      }
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
  assert.equal(request('h'), '[false,true,null,"https://a.example/b","Invalid URL: it has more than 16384 characters"]');
  assert.deepEqual(crashes, []);
});

test('a component answers after the jobs that come before what awaits its handler, and before those that come later', async () => {
  const { request, lines, raised, crashes } = await run(`
    import { NotFoundException } from '@pointwork/guest';
    @Controller() class Page {
      @Get('before') async before() { const order = []; queueMicrotask(() => order.push('job')); setTimeout(() => order.push('timer'), 0); return order; }
      @Get('after') async after(ctx) {
        void (async () => { await null; await null; await null; try { ctx.path; } catch (error) { console.log(error.message); } })();
        return 'answered';
      }
      @Get('two') async two() {
        const order = [];
        const { promise, resolve } = Promise.withResolvers();
        const all = [1, 2, 3].map(async (one) => { order.push(one + (await promise)); });
        resolve('!');
        await Promise.all(all);
        return order;
      }
      @Get('threw') async threw() { queueMicrotask(() => { throw new NotFoundException('in a job'); }); await null; return 'answered'; }
      @Get('failed') async failed() { const failed = (async () => { throw new Error('lost'); })(); await null; return failed; }
    }
    export default module({ controllers: [Page] });`);
  assert.equal(request('before'), '["job"]');
  assert.equal(request('after'), 'answered');
  assert.deepEqual(lines, ['info: the context is closed: its handler has ended, or handed it over']);
  assert.equal(request('two'), '["1!","2!","3!"]');
  assert.deepEqual(crashes, []);
  for (const name of ['failed', 'threw']) assert.equal(request(name), '500 internal error');
  assert.deepEqual([crashes, raised.map(({ message }) => message)], [[], ['lost', 'in a job']]);
});

test('async generators end as in Node, and async functions reject for defaults that throw', async () => {
  const { request, crashes } = await run(`
    async function* rows(o: unknown[]) { try { yield 1; yield 2; } finally { o.push('begins'); await null; o.push('released'); } }
    async function* outer(o: unknown[]) { try { yield* rows(o); o.push('never'); } finally { yield* [await 'late']; o.push('outer'); } }
    async function* relayed(o: unknown[]) { try { yield 1; } finally { yield* outer(o); o.push('relayed'); } }
    async function* caught(o: unknown[]) { for (;;) try { o.push(await (yield Promise.reject(o.length))); } catch (error) { o.push(error); if (o.length > 2) return Promise.resolve('end'); } }
    const need = (): string => { throw new Error('no id'); };
    const load = async (id = need()) => id;
    @Controller() class Page {
      @Get('brk') async brk() { const o: unknown[] = []; for await (const r of rows(o)) { o.push('row ' + r); break; } return o; }
      @Get('thrown') async thrown() { const o: unknown[] = []; try { for await (const r of rows(o)) throw r; } catch (error) { o.push(error); } return o; }
      @Get('returned') async returned() { const o: unknown[] = []; const it = rows(o); await it.next(); return [await it.return(Promise.resolve('rv') as never), await it.next(), o]; }
      @Get('fresh') async fresh() { const o: unknown[] = []; return [await rows(o).return('rv' as never), await rows(o).throw(7).catch((error) => error), o]; }
      @Get('star') async star() { const o: unknown[] = []; const it = outer(o); await it.next(); return [await it.return('rv' as never), await it.next(), o]; }
      @Get('starThrow') async starThrow() { const o: unknown[] = []; const it = outer(o); await it.next(); return [await it.throw(7), await it.next().catch((error) => error), o]; }
      @Get('nested') async nested() { const o: unknown[] = []; const it = relayed(o); await it.next(); return [await it.return('rv' as never), await it.next(), await it.next(), await it.next(), await it.next(), o]; }
      @Get('queued') async queued() { const o: unknown[] = []; const it = rows(o); return [await Promise.all([it.next(), it.next(), it.next(), it.next()]), o]; }
      @Get('caught') async caught() { const o: unknown[] = []; return [await caught(o).next(), o]; }
      @Get('load') async load() { return load().catch(() => 'caught'); }
      @Get('written') async *written() { for await (const r of rows([])) yield String(r); }
    }
    export default module({ controllers: [Page] });`);
  const of = (name: string): unknown => JSON.parse(request(name));
  assert.deepEqual(of('brk'), ['row 1', 'begins', 'released']);
  assert.deepEqual(of('thrown'), ['begins', 'released', 1]);
  assert.deepEqual(of('returned'), [{ value: 'rv', done: true }, { done: true }, ['begins', 'released']]);
  assert.deepEqual(of('fresh'), [{ value: 'rv', done: true }, 7, []]);
  assert.deepEqual(of('star'), [{ value: 'late', done: false }, { value: 'rv', done: true }, ['begins', 'released', 'outer']]);
  assert.deepEqual(of('starThrow'), [{ value: 'late', done: false }, 7, ['begins', 'released', 'outer']]);
  assert.deepEqual(of('nested'), [
    ...[1, 2, 'late'].map((value) => ({ value, done: false })),
    { value: 'rv', done: true },
    { done: true },
    ['begins', 'released', 'never', 'outer', 'relayed'],
  ]);
  assert.deepEqual(of('queued'), [[{ value: 1, done: false }, { value: 2, done: false }, { done: true }, { done: true }], ['begins', 'released']]);
  assert.deepEqual(of('caught'), [{ value: 'end', done: true }, [0, 1, 2]]);
  assert.equal(request('load'), 'caught');
  assert.equal(request('written'), '12');
  assert.deepEqual(crashes, []);
});

test('the report of an exception names message, type, file and line', async () => {
  const { request, raised } = await run(`
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
  for (const name of ['a', 'b', 'c', 'd', 'e']) assert.equal(request(name), '500 internal error');
  // The values are of another realm.
  const plain = JSON.parse(JSON.stringify(raised[0])) as Ran['crashes'][0];
  assert.deepEqual([plain?.message, plain?.exception, plain?.stack[0]], ['lost; caused by Error: why at src/module.ts:4', 'RangeError', { function: 'inner', file: 'src/module.ts', line: 4 }]);
  assert.equal(raised[0]?.stack[1]?.line, 9);
  assert.match(raised[1]?.message ?? '', /the promise of `Page.b` never settles/);
  assert.match(raised[2]?.message ?? '', /`setTimeout` of 50 ms: .*ctx\.call\('clock:wait', 50\)/);
  assert.equal(raised[3]?.message, 'not an Error was thrown: "text"'.replaceAll('"', ''));
  assert.match(raised[4]?.message ?? '', /fetch is not defined: a module has none; call an event/);
});

test('what the host refuses as text, and the errors of a stream and of `toJSON`', async () => {
  const { request, lines, raised, crashes } = await run(`
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
      @Get('i') i() { return new RangeError('lost'); }
      @Get('j') j() { return [{ a: new Map([[1, 2]]) }]; }
      @Get('k') async k() { return new Set([1]); }
      @Get('l') l() { return { a: {}, b: this.k() }; }
      @Get('n') n() { return { p: Promise.resolve({ secret: 1 }) }; }
      @Get('o') o() { return { file: new Blob(['secret']) }; }
      @Get('p') p(ctx) { return { h: new URLSearchParams('a=b') }; }
      @Get('q') q() { return new DataView(new ArrayBuffer(1)); }
      @Get('r') r() { return [new FormData()]; }
      @Get('m') m() { return { a: {}, b: '{}', c: [], d: new (class extends Map { toJSON() { return [...this]; } })([[1, 2]]) }; }
    }
    export default module({ controllers: [Page] });`);
  assert.equal(request('a'), 'a\ufffdb');
  assert.deepEqual(lines.splice(0), ['info: a\ufffdb']);
  assert.equal(request('d'), 'a');
  for (const name of ['c', 'f', 'g', 'h']) request(name);
  assert.deepEqual(
    raised.map(({ message, stack }) => [message, stack[0]?.line]),
    [['late', 8], ['a\ufffdb', 7], ['early', 10], ['of toJSON', 12], ['what was returned by `Page.h` cannot be written as JSON: `a.b` is the BigInt 1n, expected a number or a text', raised[4]?.stack[0]?.line]],
  );
  assert.deepEqual(lines, []);
  raised.length = 0;
  for (const name of ['i', 'j', 'k', 'l', 'n', 'o', 'p', 'q', 'r']) request(name);
  assert.deepEqual(
    raised.map(({ message }) => message),
    [
      'what was returned by `Page.i` cannot be written as JSON: the value is the error `RangeError: lost`, expected to be thrown, or its message',
      'what was returned by `Page.j` cannot be written as JSON: `0.a` is a Map, expected an object, as by `Object.fromEntries(map)`',
      'what was returned by `Page.k` cannot be written as JSON: the value is a Set, expected an array, as by `[...set]`',
      'what was returned by `Page.l` cannot be written as JSON: `b` is a Promise, expected its value: `await` it',
      'what was returned by `Page.n` cannot be written as JSON: `p` is a Promise, expected its value: `await` it',
      'what was returned by `Page.o` cannot be written as JSON: `file` is a Blob, expected its content, as by `await blob.text()`',
      'what was returned by `Page.p` cannot be written as JSON: `h` is a URLSearchParams, expected an object, as by `Object.fromEntries(it)`',
      'what was returned by `Page.q` cannot be written as JSON: the value is bytes, expected a text or an array, as by `[...new Uint8Array(buffer)]`',
      'what was returned by `Page.r` cannot be written as JSON: `0` is a FormData, expected an object, as by `Object.fromEntries(it)`',
    ],
  );
  assert.deepEqual(crashes, []);
  assert.equal(request('m'), '{"a":{},"b":"{}","c":[],"d":[[1,2]]}');
});

test('what a handler forgot, and what the host cannot take, is told', async () => {
  const { request, lines, raised, crashes } = await run(`
    import { Payload, Reply, sse, UseInterceptors } from '@pointwork/guest';
    class Around { intercept(_, next) { return next(); } }
    @Controller() class Page {
      @Get('opened') async opened(ctx) { await ctx.openReply().write('a'); }
      @Get('left') async left(ctx) { const writer = ctx.openReply(); await writer.write('LEAVE').catch(() => undefined); }
      @Get('finished') async finished(ctx) { const writer = ctx.openReply(); await writer.write('a'); await writer.finish(); return ctx; }
      @Get('nothing') nothing() {}
      @Get('around') @UseInterceptors(Around) async around(ctx) { return ctx; }
      @Get('sent') sent(ctx) { return ctx.send('a'); }
      @Get('handed') handed(ctx) { return ctx.emit('response:send', ctx); }
      @Get('piece') async *piece() { yield 'a'; yield 7 as never; }
      @Get('event') event() { return sse([{ data: 'a' }, { data: 7n }]); }
      @Get('type') type() { return new Payload('a\\nb', new Uint8Array(1)); }
      @Get('name') name(ctx) { return ctx.call('a\\ud800b'); }
      @Get('number') number(ctx) { return ctx.emit(7); }
      @Get('bytes') bytes() { return Reply.bytes('text' as never); }
      @Get('payload') payload(ctx) { return ctx.call('x', new Payload('a/b', 'text' as never)); }
      @Get('extension') extension(ctx) { return ctx.setExtension('a\\ud800', 'b'); }
      @Get('all') all() { return Promise.any([Promise.reject(new RangeError('one')), Promise.reject('two')]); }
    }
    export default module({ controllers: [Page] });`);
  // In a component no test is part of a stack.
  const withoutTest = (line: string): string => line.replace(/(?:; it is made)? at \S*ran\.js:\d+$/, '');
  const linesOf = (name: string): string[] => { request(name); return lines.splice(0).map(withoutTest); };
  assert.deepEqual(linesOf('opened'), ['error: `Page.opened` ended before `finish`: the reply that `openReply` began is broken off']);
  for (const name of ['left', 'finished', 'sent', 'handed']) assert.deepEqual(linesOf(name), [], name);
  for (const name of ['nothing', 'around']) {
    assert.deepEqual(linesOf(name), [`error: \`Page.${name}\` returned no reply, sent none, and did not hand the context over: look for a missing \`return\``]);
  }
  const exception = (name: string): string => { request(name); return raised.splice(0).map(({ message }) => message).join(); };
  assert.equal(exception('piece'), 'a piece of the reply is a number, expected a string or a `Uint8Array`');
  assert.equal(exception('event'), 'the data of a server-sent event cannot be written as JSON: the value is the BigInt 7n, expected a number or a text');
  assert.equal(request('type'), '500 the server could not answer the request');
  assert.deepEqual(lines.splice(0).map(withoutTest), ['error: the reply is not valid: the value of header `content-type` has the byte 10 at position 1, which a header cannot have']);
  assert.equal(exception('name'), 'the name of an event is "a\\ud800b", expected a text of whole characters');
  assert.equal(exception('number'), 'the name of an event is a value of the type number, expected a text of whole characters');
  assert.equal(exception('bytes'), '`Reply.bytes` was given a value of the type string, expected a `Uint8Array`');
  assert.equal(exception('payload'), '`Payload` was given a value of the type string, expected a `Uint8Array`');
  assert.equal(exception('extension'), 'the key of an extension is "a\\ud800", expected a text of whole characters');
  assert.equal(exception('all'), 'all promises were rejected; its errors are RangeError: one at src/module.ts:21, two');
  assert.deepEqual(crashes, []);
});

test('payloads and results that are no JSON are failures, and no crashes', async () => {
  const { request, listeners, crashes, raised, lines } = await run(`
    @Controller() class Page {
      @Get('a') async a(ctx) { try { return await ctx.call('torn'); } catch (error) { return [error.code, error.getStatus(), error.message]; } }
      @Get('b') async b(ctx) { try { return await ctx.call('deep'); } catch (error) { return [error.code, error.message]; } }
      @Get('c') c(ctx) { return ctx.call('torn'); }
    }
    @Channel('db') class Db { @On('one') one(payload) { return payload; } }
    export default module({ controllers: [Page], channels: [Db] });`);
  const torn = 'expected a name in quotation marks at line 1 column 2';
  assert.equal(request('a'), JSON.stringify(['bad-payload', 500, `the result of \`torn\`: ${torn}`]));
  assert.equal(request('b'), JSON.stringify(['bad-payload', 'the result of `deep`: it is nested more than 128 deep at line 1 column 129']));
  assert.equal(request('c'), '500 internal error');
  assert.deepEqual([raised.map(({ message }) => message), lines], [[`the result of \`torn\`: ${torn}`], []]);
  const deliver = (val: string): unknown => {
    try {
      return listeners.deliver(0, {}, { tag: 'json', val }).val;
    } catch (error) {
      const { code, status, message } = error as { code: string; status: number; message: string };
      return [code, status, message];
    }
  };
  assert.equal(deliver('[1]'), '[1]');
  assert.deepEqual(deliver(TEXTS.torn!), ['bad-payload', 400, `payload: ${torn}`]);
  assert.deepEqual(deliver(TEXTS.deep!), ['bad-payload', 400, 'payload: it is nested more than 128 deep at line 1 column 129']);
  assert.deepEqual(crashes, []);
});

test('ArkType and TypeBox validate in a component', async () => {
  const { request } = await run(`
    import { type } from 'arktype';
    import { Type } from 'typebox';
    import { Compile } from 'typebox/compile';
    const ark = type({ n: 'number.integer >= 1' });
    const box = Compile(Type.Object({ n: Type.Integer({ minimum: 1 }) }));
    @Controller() class Page {
      @Get('a') a() { return [1, 1.5].map((n) => [ark({ n }) instanceof type.errors, box.Check({ n })]); }
    }
    export default module({ controllers: [Page] });`);
  assert.equal(request('a'), '[[false,true],[true,false]]');
});
