/** Exceptions that the code of a module does not catch: 500 and a report, and the instance serves the next call. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallException, Controller, Channel, Get, module, NotFoundException, On, Reply, UncaughtException, UseInterceptors, type Context } from '@pointwork/guest';
import { testApp } from '@pointwork/guest/testing';
import { run } from './ran.js';

test('an exception is 500 without details and a report, and the instance serves the next call', async () => {
  const { request, handle, crashes, raised, lines } = await run(`
    import { UseGuards, UseInterceptors, NotFoundException } from '@pointwork/guest';
    const fails = () => { throw new RangeError('of a guard'); };
    class Around { intercept() { throw new RangeError('of an interceptor'); } }
    class Field { field = fails(); canActivate() { return true; } }
    @Controller() class Page {
      @Get('thrown') thrown() { throw new TypeError('lost', { cause: new Error('why') }); }
      @Get('text') text() { throw 'text'; }
      @Get('nothing') nothing() { throw undefined; }
      @Get('null') null() { return Promise.reject(null); }
      @Get('later') async later() { await null; throw new TypeError('later'); }
      @Get('guarded') @UseGuards(fails) guarded() {}
      @Get('made') @UseGuards(Field) made() {}
      @Get('around') @UseInterceptors(Around) around() {}
      @Get('revoked') revoked() { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); throw proxy; }
      @Get('getters') getters() { throw Object.defineProperties(new RangeError(), { message: { get: fails }, cause: { get: fails } }); }
      @Get('never') never() { return new Promise(() => undefined); }
      @Get('job') async job() { queueMicrotask(() => { throw new NotFoundException('of a job'); }); await null; return 'a'; }
      @Get('late') late() { queueMicrotask(() => { throw new Error('of a late job'); }); return 'a'; }
      @Get('timer') timer() { setTimeout(fails, 0); return 'a'; }
      @Get('body') body() { throw new NotFoundException({ count: 1n }); }
      @Get('named') named() { throw Object.assign(new Error('x'), { name: 7 }); }
      @Get('half') half() { throw Object.assign(new Error('x'), { name: 'a\\ud800' }); }
      @Get('torn') torn() { return { status: 200, headers: new Headers(), arrayBuffer: async () => { throw new RangeError('of a body'); } }; }
      @Get('meant') meant() { return { status: 200, headers: new Headers(), arrayBuffer: async () => { throw new NotFoundException('none'); } }; }
      @Get('sent') sent(ctx) { ctx.send('sent'); throw new Error('after the reply'); }
      @Get('handed') handed(ctx) { ctx.handOver('response:send', 1); throw new Error('after the hand-over'); }
      @Get('opened') async opened(ctx) { await ctx.openReply().write('a'); throw new Error('within the body'); }
      @Get('ok') ok() { return 'ok'; }
    }
    export default module({ controllers: [Page] });`);
  const message = (name: string): string => { request(name); return raised.splice(0).map(({ message, exception }) => `${exception}: ${message}`).join('; '); };
  const before: Record<string, string> = {
    thrown: 'TypeError: lost; caused by Error: why at src/module.ts:8', text: 'null: not an Error was thrown: text', nothing: 'null: not an Error was thrown: undefined', null: 'null: not an Error was thrown: null',
    later: 'TypeError: later', guarded: 'RangeError: of a guard', made: 'RangeError: of a guard', around: 'RangeError: of an interceptor',
    revoked: 'null: an error was thrown whose fields cannot be read', getters: 'null: an error was thrown whose fields cannot be read',
    body: 'TypeError: the body of NotFoundException cannot be written as JSON: `count` is the BigInt 1n, expected a number or a text', torn: 'RangeError: of a body', named: '7: x', half: 'a\ufffd: x',
    never: 'Error: the promise of `Page.never` never settles: nothing is left to run that could settle it', job: 'NotFoundException: of a job', late: 'Error: of a late job', timer: 'RangeError: of a guard',
  };
  for (const [name, expected] of Object.entries(before)) {
    assert.equal(request(name), '500 internal error', name);
    assert.ok(raised.every(({ exception }) => exception === null || typeof exception === 'string'));
    assert.equal(raised.splice(0).map(({ message, exception }) => `${exception}: ${message}`).join('; '), expected);
    assert.equal(request('ok'), 'ok');
  }
  // The reply was sent before, or is another's: a second one would be a fault of its own.
  for (const [name, expected] of [['sent', 'after the reply'], ['handed', 'after the hand-over'], ['opened', 'within the body']] as const) {
    assert.equal(handle(name).tag, 'deferred');
    assert.equal(raised.splice(0).map(({ message }) => message).join('; '), expected);
  }
  assert.equal(request('meant'), '404 none');
  assert.equal(message('ok'), '');
  assert.deepEqual([crashes, lines], [[], []]);
});

test('an exception within a stream breaks the stream off, and one of its cleanup is reported', async () => {
  const { request, handle, crashes, raised, lines } = await run(`
    import { NotFoundException, sse } from '@pointwork/guest';
    @Controller() class Page {
      @Get('async') async *async() { yield 'a'; throw new RangeError('late'); }
      @Get('sync') *sync() { yield 'a'; throw new RangeError('late'); }
      @Get('events') events() { return sse((async function* () { yield { data: 1 }; throw new RangeError('late'); })()); }
      @Get('readable') readable() { return new Response(new ReadableStream({ pull(c) { if (this.second) throw new RangeError('late'); this.second = true; c.enqueue(new Uint8Array([97])); } })); }
      @Get('meant') async *meant() { yield 'a'; throw new NotFoundException('late'); }
      @Get('left') async *left() { try { yield 'a'; yield 'LEAVE'; } finally { throw new RangeError('of the cleanup'); } }
      @Get('twice') twice() { return { next: () => { throw new RangeError('late'); }, return: () => { throw new TypeError('of the cleanup'); }, [Symbol.iterator]() { return this; } }; }
      @Get('later') later() { let at = 0; return { next: () => { if (at++) throw new RangeError('late'); return { value: 'a' }; }, return: () => { throw new TypeError('of the cleanup'); }, [Symbol.iterator]() { return this; } }; }
    }
    export default module({ controllers: [Page] });`);
  for (const name of ['async', 'sync', 'events', 'readable']) {
    assert.equal(handle(name).tag, 'deferred');
    assert.deepEqual(raised.splice(0).map(({ message, exception }) => [exception, message]), [['RangeError', 'late']], name);
  }
  handle('left');
  assert.deepEqual(raised.splice(0).map(({ message }) => message), ['of the cleanup']);
  assert.deepEqual(lines, []);
  handle('meant');
  assert.deepEqual([raised, lines.splice(0)], [[], ['error: the reply of `Page.meant` is broken off: NotFoundException: late at src/module.ts:9']]);
  assert.equal(handle('twice').val.status, 500);
  assert.deepEqual(raised.splice(0).map(({ message }) => message), ['of the cleanup']);
  handle('later');
  assert.deepEqual(raised.map(({ message }) => message), ['late']);
  assert.deepEqual(lines, ['error: another exception after the one that ended the call: TypeError: of the cleanup at src/module.ts:12']);
  assert.deepEqual(crashes, []);
});

test('a report has the frames of the author alone', async () => {
  const { request, raised } = await run(`
    function inner() { return JSON.parse('{'); }
    @Controller() class Page {
      @Get('a') async a(ctx) {
        await ctx.call('x');
        [1].map(inner);
      }
      @Get('b') b() { return { a: 1n }; }
    }
    export default module({ controllers: [Page] });`);
  for (const name of ['a', 'b']) request(name);
  // In a component no test is part of a stack.
  const places = raised.map(({ stack }) => stack.filter(({ file }) => !file.startsWith('file:')).map(({ file, line }) => `${file}:${line}`));
  assert.deepEqual(JSON.parse(JSON.stringify(places)), [['src/module.ts:3', 'src/module.ts:7'], []]);
  assert.match(raised[1]?.message ?? '', /`a` is the BigInt 1n/);
});

test('what the engine throws at the end of its memory or stack traps, wherever it is among the causes', async () => {
  const { request, listeners, crashes, raised } = await run(`
    import { NotFoundException, int, HttpException, UseInterceptors, UseGuards } from '@pointwork/guest';
    const memory = () => new InternalError('out of memory');
    const caught = () => { try { throw memory(); } catch (cause) { return cause; } };
    class Around { async intercept(ctx, next) { return next(); } }
    @Controller() class Page {
      @Get('a') a() { throw memory(); }
      @Get('b') b() { throw new RangeError('Maximum call stack size exceeded'); }
      @Get('c') c() { throw new Error('c', { cause: new Error('d', { cause: caught() }) }); }
      @Get('d') d() { throw new NotFoundException('d', { cause: caught() }); }
      @Get('e') e() { return new NotFoundException('e', { cause: caught() }); }
      @Get('f') async f() { return Promise.any([Promise.reject(caught())]); }
      @Get('g') g() { const error = new Error('g'); error.cause = error; error.cause = { cause: caught() }; throw error; }
      @Get('h') @UseInterceptors(Around) async h() { await null; throw memory(); }
      @Get('i') @UseGuards(() => { throw memory(); }) i() {}
      @Get('j') async *j() { yield 'a'; throw memory(); }
      @Get('k') k() { void (async () => { throw memory(); })(); return 'k'; }
      @Get('l') l(ctx) { return ctx.param('id', (text) => { throw memory(); }); }
      @Get('n') n() { return { toJSON() { throw memory(); } }; }
      @Get('m') m() { queueMicrotask(() => { throw memory(); }); return 'm'; }
      @Get('cycle') cycle() { const error = new Error('cycle'); error.cause = error; throw error; }
      @Get('endless') endless() { throw { get cause() { return Object.create(this); } }; }
      @Get('swallowed') swallowed() { caught(); return 'swallowed'; }
    }
    @Channel('db') class Db { @On('one') one() { throw new Error('of a listener', { cause: memory() }); } }
    export default module({ controllers: [Page], channels: [Db] });`);
  for (const name of 'abcdefghijklmn') {
    assert.throws(() => request(name));
    assert.equal(crashes.splice(0).length, 1, name);
  }
  assert.throws(() => listeners.deliver(0, {}, { tag: 'json', val: '1' }));
  assert.equal(crashes.splice(0)[0]?.message, 'of a listener; caused by InternalError: out of memory at src/module.ts:4');
  assert.deepEqual(raised, []);
  assert.equal(request('swallowed'), 'swallowed');
  for (const name of ['cycle', 'endless']) assert.equal(request(name), '500 internal error');
  assert.deepEqual([crashes, raised.length], [[], 2]);
});

test('an exception of a listener is the failure `failed` of status 500 for the caller', async () => {
  const { listeners, crashes, raised } = await run(`
    import { HttpException } from '@pointwork/guest';
    @Channel('db') class Db {
      @On('one') one() { throw new TypeError('lost'); }
      @On('two') async two() { await null; throw new TypeError('lost'); }
      @On('three') three() { return 1n; }
      @On('four') four() { queueMicrotask(() => { throw new Error('of a job'); }); return 1; }
      @On('five') five() { return 5; }
      @On('six') six() { throw new HttpException('x', 400, { code: 7 }); }
    }
    export default module({ channels: [Db] });`);
  for (const at of [0, 1, 2, 3, 5]) {
    let failure: unknown;
    try { listeners.deliver(at, {}, { tag: 'json', val: '1' }); } catch (error) { failure = error; }
    assert.deepEqual(JSON.parse(JSON.stringify(failure)), { code: 'failed', status: 500, headers: [], message: 'internal error', details: null });
  }
  assert.equal(listeners.deliver(4, {}, { tag: 'json', val: '1' }).val, '5');
  assert.deepEqual([crashes, raised.map(({ message }) => message)], [[], ['lost', 'lost', 'what was returned by `Db.three` cannot be written as JSON: the value is the BigInt 1n, expected a number or a text', 'of a job', 'the code of `HttpException` is a value of the type number, expected a text of whole characters']]);
});

test('an exception passes through interceptors and `errors` as an error of status 500', async () => {
  const { handle, raised, crashes, lines } = await run(`
    import { HttpException, Reply, UncaughtException, UseInterceptors } from '@pointwork/guest';
    class Adds { async intercept(ctx, next) { try { return await next(); } catch (error) { throw error.header('x-status', String(error.getStatus())); } } }
    class Maps { async intercept(ctx, next) { try { return await next(); } catch (error) { if (error instanceof UncaughtException && error.cause instanceof RangeError) return Reply.text('mapped', { status: 409 }); throw error; } } }
    class Fails { async intercept(ctx, next) { await next().catch(() => undefined); throw new TypeError('of the interceptor'); } }
    @Controller() @UseInterceptors(Adds) class Page {
      @Get('a') a() { throw new TypeError('secret'); }
      @Get('b') @UseInterceptors(Maps) b() { throw new RangeError('secret'); }
      @Get('c') @UseInterceptors(Fails) c() { throw new RangeError('secret'); }
      @Get('d') async d() { queueMicrotask(() => { throw new TypeError('of a job'); }); await null; }
    }
    export default module({ controllers: [Page], errors: async (error) => { await null; return Reply.json({ title: error.message, kind: error.name }); } });`);
  const outcome = (name: string): unknown => {
    const { tag, val } = handle(name) as unknown as { tag: string; val: { status: number; headers: { name: string; value: Uint8Array }[]; body: { val: string } } };
    return JSON.parse(JSON.stringify([tag, val.status, val.headers.map(({ name, value }) => `${name}=${String.fromCharCode(...value)}`), val.body.val]));
  };
  const body = '{"title":"internal error","kind":"UncaughtException"}';
  assert.deepEqual(outcome('a'), ['reply', 500, ['x-status=500'], body]);
  assert.deepEqual(outcome('b'), ['reply', 409, [], 'mapped']);
  assert.deepEqual(outcome('c'), ['reply', 500, ['x-status=500'], body]);
  assert.deepEqual(outcome('d'), ['reply', 500, [], body]);
  assert.deepEqual(raised.map(({ message }) => message), ['secret', 'of the interceptor', 'of a job']);
  assert.deepEqual([crashes, lines], [[], []]);
});

test('an error keeps its status and body if `errors` fails, and the log has the fault', async () => {
  const fails = async (errors: string): Promise<[string, string[]]> => {
    const { request, lines, crashes } = await run(`
      import { NotFoundException } from '@pointwork/guest';
      @Controller() class Page { @Get('a') a() { throw new NotFoundException('none'); } }
      export default module({ controllers: [Page], errors: ${errors} });`);
    const answer = request('a');
    assert.deepEqual(crashes, []);
    return [answer, lines];
  };
  assert.deepEqual(await fails(`() => { throw new TypeError('lost'); }`), ['404 none', ['error: the function behind `errors:` failed: TypeError: lost at src/module.ts:5']]);
  assert.deepEqual(await fails(`async () => { await null; throw 'lost'; }`), ['404 none', ['error: the function behind `errors:` failed: not an Error was thrown: lost']]);
  assert.deepEqual((await fails(`() => new Promise(() => undefined)`))[0], '404 none');
  assert.deepEqual((await fails(`async () => { queueMicrotask(() => { throw new Error('job'); }); await null; }`))[0], '404 none');
});

class Maps {
  async intercept(_ctx: Context, next: () => Promise<Reply | undefined>) {
    try {
      return await next();
    } catch (error) {
      if (error instanceof UncaughtException && error.cause instanceof SyntaxError) return Reply.text('mapped', { status: 400 });
      throw error;
    }
  }
}

@Controller()
class Page {
  @Get('a') a() { throw new TypeError('lost'); }
  @Get('b') async *b() { yield 'a'; throw new RangeError('late'); }
  @Get('c') @UseInterceptors(Maps) async c() { await null; throw new SyntaxError('of JSON'); }
  @Get('d') d(ctx: Context) { return ctx.call('db:one', 1); }
  @Get('e') e() { throw new NotFoundException({ count: 1n }); }
}

@Channel('db')
class Db {
  @On('one') one() { throw new TypeError('lost'); }
}

test('the test app answers 500 for an exception, and has it', async () => {
  const app = testApp(module({ controllers: [Page], channels: [Db] }));
  const a = await app.get('/a');
  assert.deepEqual([a.status, a.json(), (a.exception as Error).message], [500, { message: 'internal error' }, 'lost']);
  const b = await app.get('/b');
  assert.deepEqual([b.status, b.text(), b.isFinished, (b.exception as Error).message], [200, 'a', false, 'late']);
  const c = await app.get('/c');
  assert.deepEqual([c.status, c.text(), c.exception], [400, 'mapped', undefined]);
  const d = await app.on('db:one', () => { throw new TypeError('of the test'); }).get('/d');
  assert.deepEqual([d.status, (d.exception as Error).message], [500, 'of the test']);
  const e = await app.get('/e');
  assert.deepEqual([e.status, (e.exception as Error).name], [500, 'TypeError']);
  const failure = await app.deliver('db:one', 1).catch((error: unknown) => error);
  assert.ok(failure instanceof CallException);
  assert.deepEqual([failure.code, failure.getStatus(), failure.message, (failure.cause as Error).message], ['failed', 500, 'internal error', 'lost']);
});

test('a schema that runs out of memory is 422, and no other failure of the engine is', async () => {
  const schemas: Record<string, string> = {
    memory: "() => { throw new InternalError('out of memory'); }",
    message: "() => { throw new InternalError('Invalid error message'); }",
    nothing: '() => { throw null; }',
    later: "async () => { await null; throw new InternalError('out of memory'); }",
    left: "async () => { void (async () => { throw null; })(); void (async () => { await null; throw new InternalError('out of memory'); })(); throw null; }",
    job: "() => new Promise(() => queueMicrotask(() => { throw new InternalError('out of memory'); }))",
    again: "async () => { await null; queueMicrotask(() => { throw null; }); await null; throw null; }",
    many: "() => ({ get issues() { throw new InternalError('out of memory'); } })",
    stack: "() => { throw new RangeError('Maximum call stack size exceeded'); }",
    interrupted: "() => { throw new InternalError('interrupted'); }",
  };
  const methods = Object.entries(schemas).map(([name, validate]) => `@Get('${name}') ${name}(ctx) { return ctx.readParams({ '~standard': { version: 1, vendor: 'own', validate: ${validate} } }); }`);
  const { handle, lines, crashes, raised } = await run(`declare const InternalError: ErrorConstructor;
    @Controller() class Page {
      ${methods.join('\n')}
      @Get('caught') async caught(ctx) { try { await ctx.readParams({ '~standard': { validate() { throw null; } } }); } catch { throw null; } }
      @Get('alone') async alone() { void (async () => { throw new InternalError('out of memory'); })(); }
    }
    export default module({ controllers: [Page] });`);
  for (const name of ['memory', 'message', 'nothing', 'later', 'left', 'job', 'many']) {
    const { tag, val } = handle(name) as unknown as { tag: string; val: { status: number; message: string; details: string } };
    assert.deepEqual([tag, val.status, val.message, val.details], ['thrown', 422, 'the value has too many parts or mistakes to be checked', '{"fields":[]}'], name);
    assert.deepEqual(lines.splice(0), [`warn: a schema of \`Page.${name}\` ran out of memory: the value has too many parts or mistakes`]);
  }
  for (const name of ['again', 'caught']) assert.equal((handle(name) as unknown as { val: { status: number } }).val.status, 422, name);
  assert.deepEqual([crashes, raised], [[], []]);
  for (const name of ['stack', 'interrupted', 'alone']) assert.throws(() => handle(name));
  assert.equal(crashes.length, 3);
});

test('a call that fails by a mistake of the module is an exception with the place of the call, and other failures keep their status', async () => {
  const { request, raised, crashes, lines, listeners } = await run(`
    import { UncaughtException, UseInterceptors, type CallException } from '@pointwork/guest';
    class Sees { async intercept(ctx, next) { try { return await next(); } catch (error) { return [error.cause?.code]; } } }
    @Controller() class Page {
      @Get('unknown') unknown(ctx) {
        return ctx.call('fail:unknown-event:500');
      }
      @Get('later') async later(ctx) {
        await null;
        return await ctx.call('fail:bad-payload:400', 1);
      }
      @Get('result') result(ctx) { return ctx.call('torn'); }
      @Get('sent') sent(ctx) { ctx.send('a'); return ctx.send('b'); }
      @Get('seen') @UseInterceptors(Sees) seen(ctx) { return ctx.call('fail:not-durable:500'); }
      @Get('caught') async caught(ctx) { try { await ctx.call('fail:unknown-event:500'); } catch (error) { return [error.code]; } }
      @Get('own') own(ctx) { return ctx.call('fail:sold-out:409'); }
      @Get('gone') gone(ctx) { return ctx.call('fail:failed:503'); }
      @Get('body') body(ctx) { return ctx.text(); }
    }
    @Channel('db') class Db { @On('one') async one(_, delivery) { return delivery.call('fail:ambiguous-event:500'); } }
    export default module({ controllers: [Page], channels: [Db] });`);
  for (const [name, message, place] of [
    ['unknown', 'fail:unknown-event:500 failed', 'src/module.ts:7'],
    ['later', 'fail:bad-payload:400 failed', 'src/module.ts:11'],
    ['result', 'the result of `torn`: expected `"`, found the end at line 1, column 2', 'src/module.ts:13'],
    ['sent', 'it was sent', 'src/module.ts:14'],
  ]) {
    // The first reply of `sent` stays.
    assert.equal(request(name!), name === 'sent' ? '' : '500 internal error', name);
    const [report] = raised.splice(0);
    const frame = report?.stack[0];
    assert.deepEqual([report?.message.slice(0, 22), report?.exception, `${frame?.file}:${frame?.line}`], [message!.slice(0, 22), 'CallException', place], name);
  }
  assert.equal(request('seen'), '["not-durable"]');
  assert.equal(request('caught'), '["unknown-event"]');
  assert.equal(request('own'), '409 fail:sold-out:409 failed');
  assert.equal(request('gone'), '503 the server could not answer the request');
  assert.equal(request('body'), '400 of the client');
  assert.equal(raised.length, 0);
  assert.throws(() => listeners.deliver(0, {}, { tag: 'json', val: '1' }));
  assert.equal(raised[0]?.message, 'fail:ambiguous-event:500 failed');
  assert.deepEqual([crashes, lines], [[], ['error: `fail:failed:503` failed with `failed`: fail:failed:503 failed']]);
});
