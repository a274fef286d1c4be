import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  All, BadRequestException, Channel, ConflictException, Controller, CookieKey, DEFERRED, Get, Header, HttpCode, HttpException, HttpStatus, inject, int, log, module,
  NotFoundException, On, Patch, Payload, Post, Put, Reply, RequestMapping, RequestMethod, SkipGuards, sse, UseGuards, UseInterceptors, variables,
  type Context, type Delivery, type IOEvent,
} from '@pointwork/guest';
import { testApp } from '@pointwork/guest/testing';
import * as v from 'valibot';
import { z } from 'zod';

interface Events {
  'db:one': IOEvent<{ id: number }, { id: number; name: string } | null>;
  'db:image': IOEvent<number, Payload>;
  'product:viewed': { id: number };
  'response:send': string;
}
type Ctx = Context<Events>;

class Prices {
  of(id: number): number {
    return id * 100;
  }
}

const settings = variables({ PAGE_SIZE: { type: 'integer', minimum: 1, default: 20 }, TOKEN: { type: 'string', description: 'a token' } });

class Base {
  @Get('inherited')
  inherited(): string {
    return 'inherited';
  }
}

@Controller('products')
class Products extends Base {
  prices = inject(Prices);

  @Get()
  list(ctx: Ctx) {
    return { page: ctx.query.get('page'), size: settings.PAGE_SIZE };
  }

  @Get(':id')
  async show(ctx: Ctx) {
    const id = ctx.param('id', int);
    const found = await ctx.call('db:one', { id });
    if (!found) throw new NotFoundException({ message: 'no such product', id });
    ctx.emit('product:viewed', { id });
    return { ...found, price: this.prices.of(id) };
  }

  @Get(':id/image')
  image(ctx: Ctx) {
    return ctx.call('db:image', 7);
  }

  @Get(':id/label')
  label(ctx: Ctx) {
    return ctx.handOver('response:send', 'label');
  }

  @Get(':id/answer')
  answer(ctx: Ctx) {
    return ctx.emit('response:send', ctx);
  }

  @Post()
  @HttpCode(HttpStatus.CREATED)
  @Header('x-made', 'yes')
  async create(ctx: Ctx) {
    return ctx.json(z.object({ name: z.string().min(1), price: z.number().int().positive() }));
  }

  @Put()
  async replace(ctx: Ctx) {
    return ctx.jsonOrForm(v.object({ name: v.pipe(v.string(), v.minLength(2)) }));
  }

  @Patch()
  async upload(ctx: Ctx) {
    const found: unknown[] = [];
    for await (const part of ctx.parts()) found.push([part.name, part.fileName, part.contentType, (await part.bytes()).length]);
    return found;
  }

  @RequestMapping({ path: ['props', 'properties'], method: RequestMethod.PROPFIND })
  @RequestMapping({ path: 'props', method: 'MKWORKSPACE' })
  props() {
    return 'props';
  }

  @All('*rest')
  other(ctx: Ctx) {
    return ctx.params;
  }

  get computed(): never {
    throw new Error('discovery reads no getter');
  }
}

const whole = module({ controllers: [Products], variables: settings });

function app() {
  return testApp(whole, { variables: { TOKEN: 't' } }).on('db:one', ({ id }: { id: number }) => (id === 7 ? { id, name: 'tea' } : null));
}

test('a handler reads parameters, calls, emits and returns a value', async () => {
  const answer = await app().get('/products/7');
  assert.deepEqual(answer.json(), { id: 7, name: 'tea', price: 700 });
  assert.equal(answer.headers.get('content-type'), 'application/json');
  assert.deepEqual([answer.called('db:one'), answer.emitted('product:viewed')], [[{ id: 7 }], [{ id: 7 }]]);
});

test('an exception is a reply with its further fields', async () => {
  const answer = await app().get('/products/8');
  assert.deepEqual([answer.status, answer.json()], [404, { message: 'no such product', id: 8 }]);
  const malformed = await app().get('/products/x');
  assert.deepEqual([malformed.status, malformed.json().message], [400, 'path parameter `id`: expected a whole number, got `x`']);
});

test('a failed call keeps its status, and from 500 on the client learns nothing', async () => {
  const conflict = await app().on('db:one', () => { throw new ConflictException('taken'); }).get('/products/7');
  assert.deepEqual([conflict.status, conflict.json().message], [409, 'taken']);
  const down = await app().on('db:one', () => { throw new HttpException('table gone', 503); }).get('/products/7');
  assert.deepEqual([down.status, down.json().message], [503, 'the server could not answer the request']);
  assert.match(down.lines[0]?.message ?? '', /`db:one` failed with `failed`: table gone/);
  const nobody = await testApp(whole).get('/products/7');
  assert.equal(nobody.status, 500);
});

test('a dependency is replaced', async () => {
  const changed = testApp(whole, { providers: [{ provide: Prices, useValue: { of: () => 1 } }] }).on('db:one', () => ({ id: 7, name: '' }));
  assert.equal((await changed.get('/products/7')).json().price, 1);
});

test('the query and the variables', async () => {
  assert.deepEqual((await app().get('/products?page=2')).json(), { page: '2', size: 20 });
  const wrong = await testApp(whole, { variables: { PAGE_SIZE: '0' } }).get('/products');
  assert.deepEqual([wrong.status, wrong.lines[0]?.message], [500, 'the variable `PAGE_SIZE` does not fit: expected a whole number']);
});

test('bodies by a schema', async () => {
  const made = await app().post('/products', { json: { name: 'tea', price: 5 } });
  assert.deepEqual([made.status, made.headers.get('x-made'), made.json()], [201, 'yes', { name: 'tea', price: 5 }]);
  const wrong = await app().post('/products', { json: { name: '', price: 1.5 } });
  assert.equal(wrong.status, 422);
  assert.deepEqual(wrong.json().fields.map(({ field }: { field: string }) => field), ['name', 'price']);
  assert.deepEqual((await app().put('/products', { form: { name: 'tea' } })).json(), { name: 'tea' });
  assert.equal((await app().put('/products', { json: { name: 't' } })).status, 422);
  const none = await app().post('/products', { body: '{"name": tea}' });
  assert.deepEqual([none.status, none.json().message], [400, 'body: expected a JSON value at line 1 column 10']);
  const other = await app().post('/products', { body: 'a', headers: { 'content-type': 'text/csv' } });
  assert.equal(other.status, 415);
  const binary = await app().post('/products', { body: new Uint8Array([0xff]) });
  assert.deepEqual([binary.status, binary.json().message], [400, 'the body is not UTF-8']);
});

test('a body of several parts', async () => {
  const data = new FormData();
  data.append('title', 'tea');
  data.append('image', new File([new Uint8Array(200_000)], 'tea.png', { type: 'image/png' }));
  const answer = await app().patch('/products', { formData: data });
  assert.deepEqual(answer.json(), [['title', null, null, 3], ['image', 'tea.png', 'image/png', 200_000]]);
  const headers = { 'content-type': 'multipart/form-data; boundary=b' };
  for (const [body, message] of [
    ['--b\r\ncontent-disposition: form-data; name="a"\r\n\r\ntea', 'body: it ends before its last boundary'],
    ['--b\r\nx-a: b\r\n\r\ntea\r\n--b--', 'body: a part has no header `content-disposition`'],
    ['--bad\r\nmore', 'body: expected a line break after the boundary'],
  ] as const) {
    const wrong = await app().patch('/products', { body, headers });
    assert.equal(wrong.status, 400);
    assert.ok(wrong.json().message.startsWith(message), wrong.text());
  }
});

test('the context goes to a listener, with a payload or as the payload', async () => {
  const given = await app().get('/products/7/label');
  assert.deepEqual([given.isOpen, given.handedOver('response:send')], [true, ['label']]);
  assert.deepEqual((await app().get('/products/7/answer')).handedOver('response:send'), [null]);
});

test('bytes of an event are a reply of their type', async () => {
  const answer = await app().on('db:image', () => new Payload('image/png', new Uint8Array([1, 2]))).get('/products/1/image');
  assert.deepEqual([answer.headers.get('content-type'), [...answer.bytes()]], ['image/png', [1, 2]]);
});

test('routes: own methods only, in order, several paths, any method', async () => {
  const routes = app().manifest.controllers[0]?.routes.map(({ name, method, paths }) => [name, method, paths]);
  assert.deepEqual(routes?.[0], ['list', 'GET', []]);
  assert.ok(!routes?.some(([name]) => name === 'inherited'));
  assert.deepEqual(routes?.filter(([name]) => name === 'props'), [['props', 'PROPFIND', ['props', 'properties']], ['props', 'MKWORKSPACE', ['props']]]);
  assert.equal((await app().request('PROPFIND', '/products/properties')).text(), 'props');
  assert.deepEqual((await app().request('PURGE', '/products/a/b%20c')).json(), { rest: 'a/b c' });
  assert.deepEqual(app().manifest.eventsUsed, ['db:image', 'db:one', 'product:viewed', 'response:send']);
  const schema = app().manifest.metadata.find(({ name }) => name === 'variables-schema')?.value;
  assert.deepEqual(JSON.parse(schema ?? '').required, ['TOKEN']);
});

class SignedIn {
  async canActivate(ctx: Context) {
    const user = await ctx.call('users:of', ctx.bearer());
    return user as string | false;
  }
}

const order: string[] = [];

class Traced {
  async intercept(_ctx: Context, next: () => Promise<Reply | undefined>) {
    order.push('before');
    try {
      const reply = await next();
      return reply?.header('x-traced', 'yes');
    } catch (error) {
      if (error instanceof HttpException && error.getStatus() === 401) return Reply.redirect('/sign in');
      throw error;
    } finally {
      order.push('after');
    }
  }
}

@Controller('account')
@UseGuards(SignedIn)
@UseInterceptors(Traced)
class Account {
  @Get()
  show(ctx: Context) {
    order.push('handler');
    return `signed in as ${ctx.guarded(SignedIn)}`;
  }

  @Get('terms')
  @SkipGuards()
  terms() {
    return 'be kind';
  }

  @Get('staff')
  @UseGuards((ctx) => ctx.header('x-staff') !== undefined)
  staff() {
    return 'staff';
  }
}

test('guards refuse, give a value, and interceptors see what they refuse', async () => {
  const account = testApp({ controllers: [Account] }).on('users:of', (token) => token === 't' && 'Ada');
  const headers = { authorization: 'Bearer t' };
  const known = await account.get('/account', { headers });
  assert.deepEqual([known.text(), known.headers.get('x-traced')], ['signed in as Ada', 'yes']);
  assert.deepEqual(order, ['before', 'handler', 'after']);
  const nobody = await account.get('/account');
  assert.deepEqual([nobody.status, nobody.headers.get('location')], [303, '/sign%20in']);
  assert.equal((await account.get('/account', { headers: { authorization: 'Bearer x' } })).status, 403);
  assert.equal((await account.get('/account/terms')).text(), 'be kind');
  assert.equal((await account.get('/account/staff', { headers })).status, 403);
  assert.equal((await account.get('/account/staff', { headers: { ...headers, 'x-staff': '1' } })).text(), 'staff');
  const metadata = account.manifest.controllers[0]?.routes.map(({ metadata }) => metadata.map(({ name, value }) => `${name}=${value}`));
  assert.deepEqual(metadata?.[0], ['guard=SignedIn', 'after=Traced']);
});

const key = new CookieKey('0123456789abcdef0123456789abcdef');

@Controller()
class Replies {
  @Get('text') text() { return 'text'; }
  @Get('bytes') bytes() { return new Uint8Array([1]); }
  @Get('number') number() { return 7; }
  @Get('null') null() { return null; }
  @Get('response') response() { return Response.json({ a: 1 }, { status: 202, headers: { 'x-a': 'b' } }); }
  @Get('generator') *generator() { yield 'a'; yield new Uint8Array([98]); }
  @Get('stream') async *stream() { yield 'a'; await Promise.resolve(); yield 'b'; }
  @Get('broken') async *broken() { yield 'a'; throw new Error('lost'); }
  @Get('readable') readable() { return new Blob(['abc']).stream(); }
  @Get('sse') sse() { return sse([{ data: 'a\nb', type: 'x' }, { data: { n: 1 }, id: 'a\nb' }, { comment: 'c' }]); }
  @Get('created') created() { return Reply.created('/a b', { id: 1 }); }
  @Get('tab') tab() { return Reply.redirect('/\t/evil.example'); }
  @Get('header') header() { return Reply.text('').header('x-a', 'a\nb'); }
  @Get('status') status() { return Reply.empty(99); }
  @Get('cookie') cookie() { return Reply.text('').cookie('s', key.sign('ä'), { path: '/', httpOnly: true, sameSite: 'lax', maxAge: 5 }); }
  @Get('cookies') cookies(ctx: Context) { return { plain: ctx.cookies.get('a'), signed: ctx.cookies.signed(key, 's') }; }
  @Get('wrong-cookie') wrongCookie() { return Reply.text('').cookie('a', 'b', { path: '/; Secure' }); }
  @Get('sent') sent(ctx: Context) { return ctx.send('sent', 201); }
  @Get('thrown') thrown(ctx: Context) { return ctx.throw(HttpStatus.CONFLICT, { message: 'no', id: 7 }); }
  @Get('returned') returned() { return new BadRequestException('no', { headers: { 'x-a': 'b' } }); }
  @Get('deferred') deferred() { return DEFERRED; }
  @Get('cycle') cycle() { const a: Record<string, unknown> = {}; a['b'] = { a }; return a; }
  @Get('big') big() { return { list: [1n] }; }
  @Get('nan') nan() { return NaN; }
  @Get('rejected') rejected() { return Promise.reject(new RangeError('why')); }
  @Get('open') async open(ctx: Context) { const writer = ctx.openReply({ headers: { 'content-type': 'text/csv' } }); await writer.write('a,b'); await writer.finish(); }
  @Get('etag') etag(ctx: Context) { return ctx.conditions.reply({ etag: 'v7' }, () => 'body'); }
  @Put('etag') put(ctx: Context) { ctx.conditions.require({ etag: 'v7' }); return 'changed'; }
  @Post('body', { body: 'stream' }) async body(ctx: Context) { let size = 0; for await (const chunk of ctx.body) size += chunk.length; return { size }; }
}

test('what a handler can return', async () => {
  const replies = testApp({ controllers: [Replies] });
  const get = async (path: string) => {
    const answer = await replies.get(path);
    return [answer.status, answer.headers.get('content-type'), answer.text()];
  };
  assert.deepEqual(await get('/text'), [200, 'text/plain; charset=utf-8', 'text']);
  assert.deepEqual(await get('/bytes'), [200, 'application/octet-stream', '\x01']);
  assert.deepEqual(await get('/number'), [200, 'application/json', '7']);
  assert.deepEqual(await get('/null'), [200, 'application/json', 'null']);
  assert.deepEqual(await get('/response'), [202, 'application/json', '{"a":1}']);
  for (const path of ['/generator', '/stream']) assert.equal((await get(path))[2], 'ab');
  assert.equal((await get('/readable'))[2], 'abc');
  assert.deepEqual((await get('/sse')).slice(1), ['text/event-stream', 'event: x\ndata: a\ndata: b\n\ndata: {"n":1}\n\n: c\n\n']);
  assert.deepEqual(await get('/open'), [200, 'text/csv', 'a,b']);
  const broken = await replies.get('/broken');
  assert.deepEqual([broken.isFinished, broken.text()], [false, 'a']);
  const created = await replies.get('/created');
  assert.deepEqual([created.status, created.headers.get('location'), created.json()], [201, '/a%20b', { id: 1 }]);
  assert.deepEqual(await get('/sent'), [201, 'text/plain; charset=utf-8', 'sent']);
  assert.deepEqual((await replies.get('/thrown')).json(), { message: 'no', id: 7 });
  const returned = await replies.get('/returned');
  assert.deepEqual([returned.status, returned.headers.get('x-a')], [400, 'b']);
  assert.ok((await replies.get('/deferred')).isOpen);
  assert.deepEqual((await replies.post('/body', { body: 'x'.repeat(100_000) })).json(), { size: 100_000 });
});

test('a reply that is not valid is 500, with its place in the log', async () => {
  const replies = testApp({ controllers: [Replies] });
  for (const path of ['/header', '/tab', '/wrong-cookie']) {
    const answer = await replies.get(path);
    assert.equal(answer.status, 500);
    assert.match(answer.lines[0]?.message ?? '', /the reply is not valid: .*; it is made at .*controllers\.test\.js:\d+$/);
  }
  assert.equal((await replies.get('/status')).status, 500);
});

test('what cannot be JSON is an exception that names the value', async () => {
  const replies = testApp({ controllers: [Replies] });
  const exception = async (path: string): Promise<string> => {
    const answer = await replies.get(path);
    assert.equal(answer.status, 500);
    return String(answer.exception);
  };
  assert.match(await exception('/cycle'), /what was returned by `Replies.cycle` cannot be written as JSON: `b\.a` refers to a value that contains it/);
  assert.match(await exception('/big'), /`list\.0` is the BigInt 1n/);
  assert.match(await exception('/nan'), /`NaN` is no JSON/);
  assert.match(await exception('/rejected'), /^RangeError: why/);
});

test('cookies, plain and signed', async () => {
  const replies = testApp({ controllers: [Replies] });
  const set = await replies.get('/cookie');
  assert.match(set.headers.get('set-cookie') ?? '', /; Path=\/; Max-Age=5; HttpOnly; SameSite=Lax$/);
  const s = set.cookie('s') ?? '';
  assert.deepEqual((await replies.get('/cookies', { cookies: { a: 'b c', s } })).json(), { plain: 'b c', signed: 'ä' });
  assert.deepEqual((await replies.get('/cookies', { cookies: { s: s.replace('ä', 'e') } })).json(), {});
});

test('JSON that is nested too deeply, and an error before the first piece of a stream', async () => {
  @Controller() class Page {
    @Post() async read(ctx: Context) { return typeof (await ctx.json()); }
    @Get('early') async *early() { if (Math.random() < 2) throw new NotFoundException('early'); yield 'a'; }
    @Get('guarded') @HttpCode(201) *guarded() { if (Math.random() < 2) throw new NotFoundException('early'); yield 'a'; }
  }
  const app = testApp({ controllers: [Page] });
  const post = async (body: string) => {
    const answer = await app.post('/', { body, headers: { 'content-type': 'application/json' } });
    return answer.status === 200 ? answer.text() : answer.json().message;
  };
  const nested = (depth: number, inner = '') => '['.repeat(depth) + inner + ']'.repeat(depth);
  assert.equal(await post(nested(128)), 'object');
  assert.equal(await post(nested(129)), 'body: it is nested more than 128 deep at line 1 column 129');
  assert.equal(await post(`[${Array(500).fill('{"a":"[[\\\\\\"["}').join()}]`), 'object');
  assert.equal(await post(`{"]":${'["]\\"]",'.repeat(100000)}`), 'body: it is nested more than 128 deep at line 1 column 1022');
  assert.equal(await post(`${'['.repeat(200)}"`), 'body: it is nested more than 128 deep at line 1 column 129');
  for (const path of ['/early', '/guarded']) {
    const answer = await app.get(path);
    assert.deepEqual([answer.status, answer.json().message], [404, 'early']);
  }
});

test('conditional requests', async () => {
  const replies = testApp({ controllers: [Replies] });
  const status = async (method: string, headers: Record<string, string>) => (await replies.request(method, '/etag', { headers })).status;
  assert.equal((await replies.get('/etag')).headers.get('etag'), '"v7"');
  assert.equal(await status('GET', { 'if-none-match': 'W/"v6", W/"v7"' }), 304);
  assert.equal(await status('GET', { 'if-none-match': '"v8"' }), 200);
  assert.equal(await status('PUT', { 'if-match': '"v6"' }), 412);
  assert.equal(await status('PUT', { 'if-match': 'W/"v7"' }), 412);
  assert.equal(await status('PUT', { 'if-none-match': '*' }), 412);
  assert.equal(await status('PUT', { 'if-match': '"v7"' }), 200);
});

test('the module makes the body of its errors', async () => {
  const errors = (error: HttpException) => Reply.json({ title: error.message }).header('content-type', 'application/problem+json');
  const answer = await testApp({ controllers: [Replies], errors }).get('/thrown');
  assert.deepEqual([answer.status, answer.headers.get('content-type'), answer.json()], [409, 'application/problem+json', { title: 'no' }]);
  const faulty = await testApp({ controllers: [Replies], errors: () => { throw new Error('x'); } }).get('/thrown');
  assert.deepEqual(faulty.json(), { message: 'no', id: 7 });
});

@Channel('db')
class Db {
  @On('one')
  async one({ id }: { id: number }, delivery: Delivery) {
    if (id === 0) throw new HttpException('ids begin with 1', 400, { code: 'no-id' });
    delivery.emit('audit:read', { id, attempt: delivery.attempt });
    return { id, stock: await delivery.call('store:stock', id) };
  }

  @On('send')
  send(ctx: Context) {
    ctx.send('by the channel');
  }

  @On('label')
  label(text: string, delivery: Delivery) {
    log.info('label', { text });
    delivery.context?.send(text, 202);
  }
}

test('a listener calls, fails, and replies by a context', async () => {
  const channel = testApp({ channels: [Db] }).on('store:stock', (id) => (id as number) * 2);
  assert.deepEqual(await channel.deliver('db:one', { id: 3 }), { id: 3, stock: 6 });
  await assert.rejects(channel.deliver('db:one', { id: 0 }), { code: 'no-id', message: 'ids begin with 1' });
  assert.equal((await channel.deliverAll('db:send', null, { request: {} })).reply.text(), 'by the channel');
  const { reply } = await channel.deliverAll('db:label', 'tea', { request: {} });
  assert.deepEqual([reply.status, reply.text(), reply.lines[0]?.fields], [202, 'tea', { text: 'tea' }]);
});

test('declarations that cannot be', () => {
  @Controller('a')
  class Twice {
    @Get(':id') one() {}
    @Get(':name/') other() {}
  }
  assert.throws(() => module({ controllers: [Twice] }), /the route GET \/a\/:name is declared twice, by `Twice.one` and by `Twice.other`/);
  assert.throws(() => module({ controllers: [Products, Products] }), /two controllers have the name `Products`/);
  assert.throws(() => module({ controllers: [Prices] }), /`Prices` is listed in `controllers` and has no `@Controller`/);
  assert.throws(() => module({}), /lists no controllers and no channels/);
  assert.throws(() => {
    class Static {
      @Get() static one() {}
    }
  }, /`@Get` is on the static method `one`, expected a method of a class/);
  assert.throws(() => {
    class Getter {
      // @ts-expect-error types refuse it too
      @Get() get one() { return 1; }
    }
  }, /`@Get` is on the getter `one`/);
  assert.ok(whole.unlisted().some((text) => /the controller `Account` takes no part/.test(text)));
});
