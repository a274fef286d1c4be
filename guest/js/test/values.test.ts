/** Values of programs that are unusual or wrong, in components. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from './ran.js';

test('what has a `then` is a promise, whoever made it', async () => {
  const { request, listeners, raised } = await run(`
    import { UseGuards, UseInterceptors } from '@pointwork/guest';
    const later = (value) => ({ then(resolve) { resolve(value); } });
    class Pass { canActivate() { return later(true); } }
    class Around { intercept(ctx, next) { return { then: (resolve) => next().then((reply) => resolve(reply)) }; } }
    @Controller() class Page {
      @Get('a') a() { return later('T'); }
      @Get('b') b() { return { then(resolve, reject) { resolve('1'); reject(new Error('2')); } }; }
      @UseGuards(Pass, () => later(true)) @UseInterceptors(Around) @Get('c') c() { return later({ c: 1 }); }
      @Get('d') d() { return { then() { throw new RangeError('of then'); } }; }
      @Get('e') e() { return Object.assign(() => undefined, later('F')); }
    }
    @Channel('db') class Db { @On('one') one() { return later([1]); } }
    export default module({ controllers: [Page], channels: [Db] });`);
  assert.deepEqual(['a', 'b', 'c', 'e'].map(request), ['T', '1', '{"c":1}', 'F']);
  assert.equal(listeners.deliver(0, {}, { tag: 'json', val: '1' }).val, '[1]');
  assert.equal(request('d'), '500 internal error');
  assert.deepEqual(raised.map(({ message }) => message), ['of then']);
});

test('a `Response` of a stream, a form or a blob has its content', async () => {
  const { request, handle, raised } = await run(`
    import { NotFoundException } from '@pointwork/guest';
    const bytes = (...texts) => new ReadableStream({
      start(controller) { for (const text of texts) controller.enqueue(new TextEncoder().encode(text)); controller.close(); },
    });
    const form = () => { const data = new FormData(); data.append('a', 'b'); data.append('f', new File(['c'], 'x"y.txt', { type: 'text/plain' })); return data; };
    @Controller() class Page {
      @Get('a') a() { return new Response(bytes('one ', 'two'), { headers: { 'content-type': 'text/plain' } }); }
      @Get('b') async b() { return await new Response(bytes('one ', 'two')).text(); }
      @Get('c') c() { const { readable, writable } = new TransformStream(); const writer = writable.getWriter(); void writer.write(new Uint8Array([65])).then(() => writer.close()); return new Response(readable); }
      @Get('d') d() { return new Response(form()); }
      @Get('e') e() { return new Blob(['<p>'], { type: 'text/html' }); }
      @Get('f') async f() { return [await new Response(form()).text(), JSON.stringify(new Blob(['secret']))]; }
      @Get('g') g() { return new Response(new Response('again').body, { status: 201 }); }
      @Get('h') h() { return new Response(new ReadableStream({ pull() { throw new NotFoundException('early'); } })); }
      @Get('i') async i() { const of = new Response(bytes('a')); await of.text(); return of.text(); }
    }
    export default module({ controllers: [Page] });`);
  assert.deepEqual(['a', 'b', 'c', 'g'].map(request), ['one two', 'one two', 'A', 'again']);
  const whole = (name: string): [string, string] => {
    const { headers, body } = handle(name).val as unknown as { headers: { value: Uint8Array }[]; body: { val: Uint8Array } };
    return [headers.map(({ value }) => String.fromCharCode(...value)).join(), String.fromCharCode(...body.val)];
  };
  assert.deepEqual(whole('e'), ['text/html', '<p>']);
  const [type, content] = whole('d');
  const boundary = type.slice('multipart/form-data; boundary='.length);
  assert.deepEqual(content.split('\r\n'), [
    `--${boundary}`, 'content-disposition: form-data; name="a"', '', 'b',
    `--${boundary}`, 'content-disposition: form-data; name="f"; filename="x%22y.txt"', 'content-type: text/plain', '', 'c',
    `--${boundary}--`, '',
  ]);
  assert.match(request('f'), /name=\\"a\\".*,"\{\}"\]$/);
  assert.equal((handle('h').val as unknown as { status: number }).status, 404);
  assert.equal(request('i'), '500 internal error');
  assert.deepEqual(raised.map(({ message }) => message), ['the body of a `Response` is a stream, which was read before']);
});

test('a context is cancelled when a write finds that the client has left', async () => {
  const { request, lines } = await run(`
    @Controller() class Page {
      @Get('a') async *a(ctx) { try { yield 'x'; console.log(ctx.cancelled); yield 'LEAVE'; yield 'y'; } finally { console.log(ctx.cancelled); } }
      @Get('b') async b(ctx) {
        const writer = ctx.openReply();
        try { await writer.write('LEAVE'); } catch (error) { console.log(error.code, ctx.cancelled); }
      }
    }
    export default module({ controllers: [Page] });`);
  assert.equal(request('a'), 'x');
  assert.equal(request('b'), '');
  assert.deepEqual(lines, ['info: false', 'info: true', 'info: gone true']);
});

test('a line of the log ends no request, whatever its value does', async () => {
  const { request, lines, raised } = await run(`
    import { log } from '@pointwork/guest';
    const cyclic = { a: 1 };
    cyclic.self = cyclic;
    const bad = () => { throw new RangeError('bad'); };
    @Controller() class Page {
      @Get('a') a() {
        console.log('%j', cyclic);
        console.log({ get g() { throw new Error('g'); } });
        console.log([new Proxy({}, { get: bad, ownKeys: bad, getPrototypeOf: bad })]);
        console.error(Object.defineProperty(new Error('x'), 'stack', { get: bad }));
        console.log('%d %s', { valueOf: bad }, Object.create(null));
        console.log({ toString: bad, [Symbol.toPrimitive]: bad });
        log.info('cyclic', { cyclic, error: new TypeError('of a field'), symbol: Symbol('s'), none: Object.create(null) });
        return 'a';
      }
      @Get('b') b() { throw Object.defineProperty(new Error('of b'), 'stack', { get: bad }); }
      @Get('c') c() { throw Object.defineProperty(new Error(), 'message', { get: bad }); }
    }
    export default module({ controllers: [Page] });`);
  assert.equal(request('a'), 'a');
  assert.deepEqual(lines, [
    'info: { a: 1, self: [Circular] }',
    'info: { g: [Getter] }',
    'info: [[a value that cannot be shown: RangeError: bad]]',
    'error: Error: x',
    'info: NaN {}',
    'info: { toString: [Function: bad] }',
    'info: cyclic',
  ]);
  for (const name of ['b', 'c']) assert.equal(request(name), '500 internal error');
  assert.deepEqual(raised.map(({ message }) => message), ['of b', 'an error was thrown whose fields cannot be read']);
});

test('what a reply or an error cannot have is told, and is not sent', async () => {
  const { handle, request, lines, raised } = await run(`
    import { HttpException, Reply, sse } from '@pointwork/guest';
    @Controller() class Page {
      @Get('a') a() { return Reply.text('').cookie('a', 'v', { maxAge: NaN }); }
      @Get('b') b() { return Reply.text('').cookie('a', 'v', { expires: new Date(NaN) }); }
      @Get('c') c() { throw new HttpException('x', 200); }
      @Get('d') async d() { throw new HttpException('x', NaN); }
      @Get('s') s() { return Reply.text('', { status: 'abc' }); }
      @Get('t') t() { return Reply.text('', { status: 1e9 }); }
      @Get('u') u(ctx) { ctx.openReply({ status: 200.5 }); }
      @Get('e') e() { return sse([{ retry: NaN, data: 'a' }, { retry: 1.5, data: 'b' }]); }
      @Get('f') f() { return Reply.stream('hello'); }
      @Get('g') async g(ctx) { const all = []; for await (const part of ctx.parts()) all.push(part); return all[0].text(); }
      @Get('h') async h(ctx) { const all = []; for await (const part of ctx.parts()) all.push(await part.text()); return all; }
    }
    export default module({ controllers: [Page] });`);
  for (const name of ['s', 't', 'u']) assert.equal(request(name), '500 the server could not answer the request');
  assert.deepEqual(lines.splice(0).map((line) => line.replace(/; it is made.*/, '')), ['"abc"', '1000000000', '200.5'].map((status) => `error: the reply is not valid: the status of the reply is ${status}, expected 200 to 599`));
  for (const name of ['a', 'b', 'c', 'd']) {
    const { tag, val } = handle(name) as unknown as { tag: string; val: { status: number; message: string } };
    assert.deepEqual([tag, val.status, val.message], ['thrown', 500, 'the server could not answer the request']);
  }
  assert.deepEqual(lines.splice(0), [
    'error: the reply is not valid: the `maxAge` of cookie `a` is NaN, expected seconds; it is made at src/module.ts:5',
    'error: the reply is not valid: the `expires` of cookie `a` is an invalid date; it is made at src/module.ts:6',
    'error: the reply is not valid: the status of `HttpException: x` is 200, expected 400 to 599; it is made at src/module.ts:7',
    'error: the reply is not valid: the status of `HttpException: x` is NaN, expected 400 to 599; it is made at src/module.ts:8',
  ]);
  assert.equal(request('e'), 'data: a\n\nretry: 1\ndata: b\n\n');
  assert.deepEqual(lines, ['error: the field `retry` of a server-sent event is NaN, expected milliseconds, and is left out at src/module.ts:12']);
  assert.equal(request('h'), '["tea",""]');
  for (const name of ['f', 'g']) assert.equal(request(name), '500 internal error');
  assert.deepEqual(raised.map(({ message, stack }) => [message, stack[0]?.line]), [
    ['`Reply.stream` of a string, expected a generator or another iterable of pieces', 13],
    ['the part `a` is over: its content is there once, and before the next part', 14],
  ]);
});
