/** Input that is made to harm: many names, keys of prototypes, text that is no Unicode, and other charsets. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { z } from 'zod';
import { Channel, Controller, Cookies, Get, module, On, Post, Reply, type Context, type Part, type ValidationException } from '@pointwork/guest';
import { testApp } from '@pointwork/guest/testing';
import { root } from './project.js';
import { run } from './ran.js';

// Files that the package does not export.
const { Needle, readParts } = (await import(join(root, 'dist/multipart.js'))) as {
  Needle: new (text: string) => { indexIn(bytes: ArrayLike<number>, from?: number): number };
  readParts: (chunks: AsyncIterable<Uint8Array>, boundary: string) => AsyncIterable<Part>;
};
const { FormData: PlatformFormData } = (await import(join(root, 'dist/platform/fetch-types.js'))) as { FormData: typeof FormData };
const { URLSearchParams: PlatformParams } = (await import(join(root, 'dist/platform/url-search-params.js'))) as { URLSearchParams: typeof URLSearchParams };
const { TextDecoder: PlatformDecoder } = (await import(join(root, 'dist/platform/text.js'))) as { TextDecoder: typeof TextDecoder };
const { Headers: PlatformHeaders } = (await import(join(root, 'dist/platform/headers.js'))) as { Headers: typeof Headers };

const FORM = 'application/x-www-form-urlencoded';
const any = z.record(z.string(), z.union([z.string(), z.array(z.string())]));

@Controller('read')
class Read {
  @Post('json') json(ctx: Context): Promise<unknown> { return ctx.json(); }
  @Post('schema') schema(ctx: Context): Promise<unknown> { return ctx.json(z.unknown()); }
  @Post('either') either(ctx: Context): Promise<unknown> { return ctx.jsonOrForm(z.unknown()); }
  @Post('text') async text(ctx: Context): Promise<unknown> { return [await ctx.text()]; }
  @Post('form') async form(ctx: Context): Promise<unknown> { return [...(await ctx.form())]; }
  @Post('fields') fields(ctx: Context): Promise<unknown> { return ctx.form(any); }
  @Post('data') async data(ctx: Context): Promise<unknown> { return [...(await ctx.formData()).keys()]; }
  @Post('parts') async parts(ctx: Context): Promise<unknown> {
    const found: unknown[] = [];
    for await (const part of ctx.parts()) found.push([part.name, part.fileName ?? null, await part.text()]);
    return found;
  }
  @Get('query') query(ctx: Context): unknown { return ctx.query.size; }
  @Get('pairs') pairs(ctx: Context): unknown { return [...ctx.query]; }
  @Get('object') object(ctx: Context): Promise<unknown> { return ctx.readQuery(any); }
  @Get('called') called(ctx: Context): unknown { return ctx.call('db:look'); }
  @Get('half') half(): unknown { return Reply.json({ '\ud800': ['a\udfff', '\\ud800', '\u{1f600}'] }); }
  @Get('sent') sent(ctx: Context): unknown { return ctx.call('db:keep', { text: '\ud800' }); }
}

@Channel('db')
class Db {
  @On('keep') keep(value: unknown): unknown { return value; }
}

const app = testApp(module({ controllers: [Read], channels: [Db] }));
type Told = [status: number, message: unknown];
const told = async (path: string, type: string, body: string | Uint8Array): Promise<Told> => {
  const answer = await app.post(`/read/${path}`, { body, headers: { 'content-type': type } });
  return [answer.status, answer.status < 400 ? answer.text() : (answer.json() as { message: string }).message];
};
const asked = async (path: string): Promise<Told> => {
  const answer = await app.get(`/read/${path}`);
  return [answer.status, answer.status < 400 ? answer.text() : (answer.json() as { message: string }).message];
};
const multipart = (parts: readonly string[]): string => `${parts.map((part) => `--b\r\n${part}\r\n`).join('')}--b--\r\n`;
const MULTIPART = 'multipart/form-data; boundary=b';
const named = (name: string, content = '', more = ''): string => `content-disposition: form-data; name="${name}"${more}\r\n\r\n${content}`;

test('a form and a query have 100,000 fields at most', async () => {
  const most = 'a=&'.repeat(99_999);
  const tooMany = 'there are too many fields, expected 100000 at most';
  for (const path of ['form', 'fields', 'data', 'either']) {
    assert.equal((await told(path, FORM, `${most}a=`))[0], 200, path);
    assert.deepEqual(await told(path, FORM, `${most}a=&a=`), [413, `body: ${tooMany}`], path);
  }
  for (const path of ['query', 'object']) {
    assert.equal((await asked(`${path}?${most}a=`))[0], 200, path);
    assert.deepEqual(await asked(`${path}?${most}&`), [413, `query: ${tooMany}`], path);
  }
});

test('a name that occurs more than once has all its values', async () => {
  assert.deepEqual(await told('fields', FORM, 'a=1&b=2&a=3&c&a=4&constructor=5&toString=6'), [200, '{"a":["1","3","4"],"b":"2","c":"","constructor":"5","toString":"6"}']);
  assert.deepEqual(await asked('object?a=1&a=%C3%A4+b%'), [200, '{"a":["1","ä b%"]}']);
});

test('a `?` at the beginning of a query or a form belongs to the first name', async () => {
  for (const text of ['?a=1&b=2', '??a=1&?b=2', '?__proto__=1', '?']) {
    const pairs = text.split('&').map((pair) => [pair.split('=')[0] ?? '', pair.split('=')[1] ?? '']);
    const [list, object] = [JSON.stringify(pairs), JSON.stringify(Object.fromEntries(pairs))];
    assert.deepEqual([await asked(`pairs?${text}`), await asked(`object?${text}`)], [[200, list], [200, object]], text);
    assert.deepEqual([await told('form', FORM, text), await told('fields', FORM, text)], [[200, list], [200, object]], text);
    assert.deepEqual(await told('data', FORM, text), [200, JSON.stringify(pairs.map(([name]) => name))], text);
  }
  assert.deepEqual(await asked('pairs?a=?'), [200, '[["a","?"]]']);
  assert.deepEqual(await asked('pairs?'), [200, '[]']);
});

test('the names and values of the platform are found by an index', () => {
  const own = new PlatformParams('?a=1&b=2&a=3&c=4&a=5');
  const native = new URLSearchParams('?a=1&b=2&a=3&c=4&a=5');
  for (const params of [own, native]) {
    params.append('b', '\ud800');
    params.set('a', '6');
    params.set('d', '7');
    params.delete('c');
    params.delete('b', '2');
    params.delete('none');
    params.append('c', '8');
    params.sort();
  }
  assert.equal(own.toString(), native.toString());
  assert.deepEqual([...own], [...native]);
  for (const name of ['a', 'b', 'c', 'd', '__proto__', 'constructor']) {
    assert.deepEqual([own.get(name), own.getAll(name), own.has(name), own.has(name, '6')], [native.get(name), native.getAll(name), native.has(name), native.has(name, '6')], name);
  }
  for (const text of ['%', '%%%a', '%u0041%4', '%ff%c3', '%e2%82x%f0%90', '%e0%80%ed%a0%80', '%f4%90%80%80%u']) {
    assert.equal(new PlatformParams(`a=${text}`).get('a'), new URLSearchParams(`a=${text}`).get('a'), text);
  }
  // Node replaces the first character.
  assert.equal(new PlatformParams('a=ä%c3%a4+%zz').get('a'), 'ää %zz');
  const many = new PlatformParams('a&b'.repeat(1_000));
  many.append('c', '1');
  for (const name of [...many.keys()]) if (name !== 'c') many.delete(name);
  assert.deepEqual([[...many], many.size], [[['c', '1']], 1]);
  const data = new PlatformFormData();
  data.append('a', '1');
  data.append('a', '2');
  data.set('a', '3');
  data.set('b', '\udfff');
  assert.deepEqual([...data], [['a', '3'], ['b', '\ufffd']]);
  assert.deepEqual([data.get('a'), data.getAll('b'), data.has('c')], ['3', ['\ufffd'], false]);
});

test('a body of parts has 1,000 at most', async () => {
  const parts = Array<string>(1_000).fill(named('a', 'x'));
  assert.equal((await told('data', MULTIPART, multipart(parts)))[0], 200);
  assert.deepEqual(await told('data', MULTIPART, multipart([...parts, named('a')])), [413, 'body: there are too many parts, expected 1000 at most']);
});

test('a part that arrives byte by byte is read as one that arrives at once', async () => {
  const head = `content-disposition: form-data; name="a"\r\nx-long: ${'\r'.repeat(3)}${'x'.repeat(20_000)}\r\n\r\n`;
  const whole = new TextEncoder().encode(multipart([`${head}${'y'.repeat(500)}`, named('b', 'z')]));
  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < whole.length; at += 1) yield whole.subarray(at, at + 1);
  }
  const found: string[] = [];
  for await (const part of readParts(bytes(), 'b')) found.push(`${part.name}=${await part.text()}`);
  assert.deepEqual(found, [`a=${'y'.repeat(500)}`, 'b=z']);
});

test('the end of a head is within 64 KiB of the previous part, or of the beginning of the body', async () => {
  const most = 64 * 1024;
  const problem = [400, `body: a part has no end of its head within ${most} bytes`];
  const part = `--b\r\n${named('b', 'z'.repeat(2 * most))}\r\n--b`;
  // Each has `length` bytes up to the end of a head.
  const inHead = (before: string, length: number): string => `${before}x: ${'x'.repeat(length - `${before}x: \r\n${named('a')}`.length)}\r\n${named('a')}`;
  const inPreamble = (length: number): string => `${'p'.repeat(length - `\r\n--b\r\n${named('a')}`.length)}\r\n--b\r\n${named('a')}`;
  const bodies: ((length: number) => string)[] = [
    (length) => inHead('--b\r\n', length),
    (length) => inHead('preamble\r\n--b\r\n', length),
    (length) => part + inHead('\r\n', length),
    (length) => inPreamble(length),
  ];
  const end = 'y\r\n--b--\r\n';
  for (const [at, body] of bodies.entries()) {
    assert.equal((await told('data', MULTIPART, body(most) + end))[0], 200, String(at));
    for (const longer of [most + 1, most + 100, 20 * most]) assert.deepEqual(await told('data', MULTIPART, body(longer) + end), problem, `${at}: ${longer}`);
  }
  for (const unit of ['p', '\r\n', '\r\n--']) assert.deepEqual(await told('data', MULTIPART, unit.repeat(2 * most)), problem, unit);
  // The sizes of the chunks depend on the network.
  for (const size of [100, 16 * 1024, 100_000]) {
    const read = async (text: string): Promise<string[]> => {
      const whole = new TextEncoder().encode(text);
      async function* chunks(): AsyncGenerator<Uint8Array> {
        for (let at = 0; at < whole.length; at += size) yield whole.subarray(at, at + size);
      }
      const names: string[] = [];
      for await (const { name } of readParts(chunks(), 'b')) names.push(name);
      return names;
    };
    for (const [at, body] of bodies.entries()) {
      assert.equal((await read(body(most) + end)).at(-1), 'a', `${at}: ${size}`);
      await assert.rejects(read(body(most + 1) + end), new RegExp(`^BadRequestException: ${String(problem[1])}$`), `${at}: ${size}`);
    }
  }
});

test('the search for a boundary reads each byte three times at most, whatever the boundary and the content are', () => {
  const length = 4_000;
  for (const boundary of ['b', 'b'.repeat(70), '-'.repeat(70), `${'ab'.repeat(34)}a`, '----WebKitFormBoundary7MA4YWxkTrZu0gW']) {
    const delimiter = `\r\n--${boundary}`;
    const near = delimiter.slice(0, -1);
    for (const unit of ['\r', '\n', '-', 'a', 'b', 'x', '\r\n', '\r\n--', '\rb', 'xb', near, `${near}\r`, `\r${near}`, `${near.slice(1)}\r`, delimiter.slice(1)]) {
      const content = unit.repeat(length / unit.length);
      let reads = 0;
      const counted = (text: string): ArrayLike<number> => new Proxy({ length: text.length } as ArrayLike<number>, { get: (of, name) => (name === 'length' ? of.length : ((reads += 1), text.charCodeAt(Number(name)))) });
      const needle = new Needle(delimiter);
      assert.equal(needle.indexIn(counted(`${content}${delimiter}--`)), `${content}${delimiter}--`.indexOf(delimiter), JSON.stringify([boundary, unit]));
      reads = 0;
      assert.equal(needle.indexIn(counted(content)), -1);
      assert.ok(reads <= 3 * length, `${JSON.stringify([boundary, unit])}: ${reads} reads`);
    }
  }
  let seed = 1;
  const random = (below: number): number => (seed = (seed * 48_271) % 0x7fff_ffff) % below;
  for (let times = 0; times < 2_000; times += 1) {
    const text = Array.from({ length: 200 }, () => '\r\n-b'[random(4)]).join('');
    const wanted = `\r\n${'-b'[random(2)]}${'b'.repeat(random(3))}`;
    const from = random(50);
    assert.equal(new Needle(wanted).indexIn(new TextEncoder().encode(text), from), text.indexOf(wanted, from), JSON.stringify([text, wanted]));
  }
});

test('a parameter of a header within quotation marks is none', async () => {
  const part = (disposition: string): string => `content-disposition: form-data; ${disposition}\r\n\r\nx`;
  const body = multipart([part('filename="; name=evil"; name="real"'), part('name="a%22b\\"c"; filename=d.txt'), part('NAME = "e;f"')]);
  assert.deepEqual(await told('parts', MULTIPART, body), [200, JSON.stringify([['real', '; name=evil', 'x'], ['a"b"c', 'd.txt', 'x'], ['e;f', null, 'x']])]);
});

test('the name of a prototype in a form, a query or a part is 400', async () => {
  for (const text of ['__proto__=1', 'a=1&__proto__', 'a&%5f%5Fproto__=x&b']) {
    for (const path of ['form', 'fields', 'data', 'either']) assert.deepEqual(await told(path, FORM, text), [400, 'body: the name `__proto__` is not allowed'], path);
    for (const path of ['query', 'object']) assert.deepEqual(await asked(`${path}?${text}`), [400, 'query: the name `__proto__` is not allowed'], path);
  }
  for (const path of ['data', 'parts']) assert.deepEqual(await told(path, MULTIPART, multipart([named('a'), named('__proto__')])), [400, 'body: the name `__proto__` is not allowed'], path);
  assert.deepEqual(await told('fields', FORM, 'constructor[prototype]=__proto__'), [200, '{"constructor[prototype]":"__proto__"}']);
});

test('a byte order mark is removed, and another charset is 415', async () => {
  assert.deepEqual(await told('text', 'text/plain', '\ufeff\ufeffa'), [200, '["\ufeffa"]']);
  assert.deepEqual(await told('form', FORM, '\ufeffa=1'), [200, '[["a","1"]]']);
  assert.deepEqual(await told('json', 'application/json', '\ufeff{}'), [200, '{}']);
  assert.equal((await told('json', 'application/json', '\ufeff\ufeff{}'))[0], 400);
  assert.deepEqual(await told('parts', MULTIPART, multipart([named('a', '\ufeffx')])), [200, '[["a",null,"x"]]']);
  for (const [path, type, charset] of [
    ['text', 'text/plain; charset=utf-16', 'utf-16'],
    ['json', 'application/json; charset=utf-8; Charset = "latin1"', 'latin1'],
    ['schema', 'application/tea+json;CHARSET=utf-16le', 'utf-16le'],
    ['form', `${FORM}; charset=iso-8859-1`, 'iso-8859-1'],
    ['either', `${FORM}; charset=`, ''],
    ['data', `${FORM}; charset=latin1`, 'latin1'],
  ] as const) {
    assert.deepEqual(await told(path, type, '{}'), [415, `body: expected the charset \`utf-8\`, got \`${charset}\``], type);
  }
  for (const type of ['text/plain; charset=UTF-8', 'text/plain;charset="utf8"', 'text/plain; charset=us-ascii', 'text/plain; a="; charset=utf-16"', 'text/plain; xcharset=utf-16']) {
    assert.deepEqual(await told('text', type, 'a'), [200, '["a"]'], type);
  }
  const part = named('a', 'x', '\r\ncontent-type: text/plain; charset=utf-16');
  assert.deepEqual(await told('parts', MULTIPART, multipart([part])), [415, 'body: part `a`: expected the charset `utf-8`, got `utf-16`']);
});

test('bytes that are not UTF-8 are replaced as browsers do', () => {
  const bytes = [0x41, 0x80, 0xbf, 0xc1, 0xc2, 0xdf, 0xe0, 0xed, 0x9f, 0xa0, 0xef, 0xf0, 0x90, 0xf4, 0x8f, 0xff];
  for (const first of bytes) {
    for (const second of bytes) {
      for (const third of bytes) {
        for (const fourth of bytes) {
          const all = Uint8Array.of(first, second, third, fourth);
          assert.equal(new PlatformDecoder().decode(all), new TextDecoder().decode(all), String(all));
        }
      }
    }
  }
  const long = new Uint8Array(5_000).fill(65);
  long[4_000] = 0xff;
  assert.equal(new PlatformDecoder().decode(long), new TextDecoder().decode(long));
});

test('the value of a header is trimmed as browsers do', () => {
  for (const value of ['', ' ', ' \t\r\n ', 'a', ' a\t b \n', `a${' '.repeat(50_000)}b`]) {
    assert.equal(new PlatformHeaders([['x', value]]).get('x'), new Headers([['x', value]]).get('x'));
  }
});

test('a module has the variables of its configuration alone', async () => {
  @Controller()
  class Page {
    @Get() get(ctx: Context): unknown {
      return [ctx.variables['A'], ctx.variables['constructor'] === undefined, 'toString' in ctx.variables, Object.keys(ctx.variables)];
    }
  }
  assert.deepEqual((await testApp({ controllers: [Page] }, { variables: { A: 'b' } }).get('/')).json(), ['b', true, false, ['A']]);
});

/** The key of a prototype, spelled in several ways, and its place. */
const PROTOTYPES: readonly (readonly [string, string])[] = [
  ['{"__proto__":1}', 'the key `__proto__` at line 1, column 2 is not allowed'],
  ['{"role":"__proto__","__proto__":1}', 'the key `__proto__` at line 1, column 21 is not allowed'],
  ['[1,\n {"a": {"__proto__" : 1}}]', 'the key `__proto__` at line 2, column 9 is not allowed'],
  ['{"\\u005f_proto__":1}', 'the key `__proto__` at line 1, column 2 is not allowed'],
  ['{"__prot\\u006F_\\u005f":1}', 'the key `__proto__` at line 1, column 2 is not allowed'],
  ['{"constructor": {"a":{}, "prototype":{}}}', 'the key `constructor.prototype` at line 1, column 26 is not allowed'],
  ['{"constructo\\u0072":{"constructor":{"a":[{"prototype":1}],"prototyp\\u0065":{}}}}', 'the key `constructor.prototype` at line 1, column 59 is not allowed'],
  ['{"constructor":{"constructor":{"a":1},"prototype":1}}', 'the key `constructor.prototype` at line 1, column 39 is not allowed'],
  ['{"constructor":{"prototype":1},"__proto__":1}', 'the key `constructor.prototype` at line 1, column 17 is not allowed'],
  ['{"__proto__":{"constructor":{"prototype":1}}}', 'the key `__proto__` at line 1, column 2 is not allowed'],
  [`{"__proto__":{}${',"a":1'.repeat(20_000)}}`, 'the key `__proto__` at line 1, column 2 is not allowed'],
  [`[${'{"a":1},'.repeat(20_000)}{"constructor":{"prototype":1}}]`, 'the key `constructor.prototype` at line 1, column 160018 is not allowed'],
];
const HARMLESS = [
  '{"a":"__proto__","b":["__proto__","constructor","prototype"]}',
  '{"constructor":"prototype","prototype":{}}',
  '{"constructor":[{"prototype":1}]}',
  '{"constructor":{"a":{"prototype":1}}}',
  '[{"constructor":{}},{"prototype":1}]',
  '{"constructor":{"constructor":{}},"prototype":1}',
  '{"__proto":1,"___proto__":2,"\\\\u005f_proto__":3,"__proto__\\n":4,"proto":5}',
  '{"\\"__proto__":1,"a\\\\":{"b\\"":"\\\\"}}',
];

test('JSON with the key of a prototype is 400 and names the place', async () => {
  for (const [body, problem] of PROTOTYPES) {
    for (const path of ['json', 'schema', 'either']) assert.deepEqual(await told(path, 'application/json', body), [400, `body: ${problem}`], body.slice(0, 100));
  }
  for (const body of HARMLESS) assert.deepEqual(await told('json', 'application/json', body), [200, JSON.stringify(JSON.parse(body))]);
});

const HALVES: readonly (readonly [string, string | undefined])[] = [
  ['"\\ud800"', '`\\ud800` at line 1, column 2'],
  ['["a\\uDFFF"]', '`\\udfff` at line 1, column 4'],
  ['"\\ud83d\\ud83d\\ude00"', '`\\ud83d` at line 1, column 2'],
  ['"\\ud83d\\ude00\\ude00"', '`\\ude00` at line 1, column 14'],
  ['"\\ud83d\\\\ude00"', '`\\ud83d` at line 1, column 2'],
  ['{"\\ude00":1}', '`\\ude00` at line 1, column 3'],
  ['{"\\ud800": 1, "__proto__": 1}', '`\\ud800` at line 1, column 3'],
  ['"\\ud83d\\ude00"', undefined],
  ['"\\\\ud800"', undefined],
];

test('half of a surrogate pair in JSON is 400, and is replaced in what a module sends', async () => {
  for (const [body, place] of HALVES) {
    const expected = place === undefined ? [200, body.length > 12 ? '\u{1f600}' : '\\ud800'] : [400, `body: ${place} is half of a surrogate pair, expected both halves`];
    assert.deepEqual(await told('json', 'application/json', body), expected, body);
  }
  assert.deepEqual(await asked('half'), [200, '{"\ufffd":["a\ufffd","\\\\ud800","\u{1f600}"]}']);
  const sent = await app.on('db:keep', (value: unknown) => value).get('/read/sent');
  assert.deepEqual(sent.called('db:keep'), [{ text: '\ufffd' }]);
});

test('a payload with the key of a prototype or half of a surrogate pair is bad', async () => {
  const { listeners, request, raised } = await run(`
    @Controller() class Page {
      @Get('a') async a(ctx) { try { return await ctx.call('proto'); } catch (error) { return [error.code, error.getStatus(), error.message]; } }
      @Get('b') b(ctx) { return ctx.call('half'); }
    }
    @Channel('db') class Db { @On('keep') keep(value) { return value; } }
    export default module({ controllers: [Page], channels: [Db] });`);
  const delivered = (val: string): { val: unknown } => {
    try {
      return listeners.deliver(0, {}, { tag: 'json', val });
    } catch (error) {
      return { val: (error as { payload?: unknown }).payload ?? error };
    }
  };
  for (const [text, problem] of PROTOTYPES) {
    const { code, status, message } = delivered(text).val as { code: string; status: number; message: string };
    assert.deepEqual([code, status, message], ['bad-payload', 400, `payload: ${problem}`]);
  }
  assert.equal((delivered('"\\ud800"').val as { code: string }).code, 'bad-payload');
  assert.equal(delivered('\ufeff7').val, '7');
  assert.equal(request('a'), '["bad-payload",500,"the result of `proto`: the key `__proto__` at line 1, column 8 is not allowed"]');
  assert.equal(request('b'), '500 internal error');
  assert.deepEqual(raised.map(({ message }) => message), ['the result of `half`: `\\ud800` at line 1, column 2 is half of a surrogate pair, expected both halves']);
});

test('the places of fields are found by one scan, and are 50 at most', async () => {
  const body = `{"a\\u0062":[{"x":1},\n{"x":"y"}], "ab":${'[1,'.repeat(3)}"z"]]],\n "n": {"": null}}`;
  const found: unknown[] = [];
  const issues = [['ab'], ['ab', '0', 1, 0, '2'], ['ab', 0, 1, 1, 1], ['n', ''], ['n', 'none'], []].map((path) => ({ message: 'wrong', path }));
  const schema = { '~standard': { version: 1 as const, vendor: 'own', validate: () => ({ issues }) } };
  const many = { '~standard': { ...schema['~standard'], validate: () => ({ issues: Array(100_000).fill(issues[0]) as typeof issues }) } };
  @Controller()
  class Page {
    @Post('one') async one(ctx: Context): Promise<unknown> {
      try { return await ctx.json(schema); } catch (error) { found.push(...(error as ValidationException).fields.map(({ field, place }) => [field, place])); throw error; }
    }
    @Post('many') many(ctx: Context): Promise<unknown> { return ctx.json(many); }
  }
  const page = testApp({ controllers: [Page] });
  const answer = await page.post('/one', { body });
  assert.equal(answer.json().message, '6 fields are not valid');
  assert.deepEqual(found, [
    ['ab', 'line 2 column 32'], ['ab.0.1.0.2', undefined], ['ab.0.1.1.1', undefined], ['n', 'line 3 column 15'], ['n.none', undefined], ['', 'line 3 column 17'],
  ].map(([field, place]) => [field === 'n' ? 'n.' : field, place]));
  const more = (await page.post('/many', { body: '{}' })).json() as { message: string; fields: unknown[] };
  assert.deepEqual([more.message, more.fields.length], ['more than 50 fields are not valid', 50]);
});

test('names that are chosen to have one hash are refused, where the engine would compare each with all of them', async () => {
  const letters = 'abcdefghijklmnopqrstuvwxyz';
  const spread: string[] = [];
  const colliding: string[] = [];
  for (const one of letters) for (const two of letters) for (const three of letters) for (const four of letters) {
    const name = one + two + three + four;
    const hash = [...name].reduce((hash, letter) => (hash * 263 + letter.charCodeAt(0)) & 0xfff, 0);
    if (hash === 7 && colliding.length < 65) colliding.push(name);
    if (spread.length < 3_000 && hash % 4 === 1) spread.push(name);
  }
  const names = [...spread, ...colliding];
  const problem = 'too many of the names have the same hash';
  assert.equal((await told('fields', FORM, spread.join('&')))[0], 200);
  for (const path of ['form', 'fields', 'data', 'either']) assert.deepEqual(await told(path, FORM, names.join('&')), [400, `body: ${problem}`], path);
  // Repetitions, of which there may be many, do not make the names fewer.
  assert.deepEqual(await told('fields', FORM, Array<string>(20).fill(names.join('&')).join('&')), [400, `body: ${problem}`]);
  for (const path of ['query', 'object']) assert.deepEqual(await asked(`${path}?${names.join('&')}`), [400, `query: ${problem}`], path);
  const cookies = (all: readonly string[]): Cookies => new Cookies([all.map((name) => `${name}=1`).join('; ')]);
  assert.equal(cookies(spread).get(spread[0] ?? ''), '1');
  assert.throws(() => cookies(names), /^BadRequestException: cookies: too many of the names have the same hash$/);
  const json = (all: readonly string[], more = ''): string => `[${' '.repeat(20_000)}${all.map((name) => `{"${name}":"\\\\"}`).join()}${more}]`;
  assert.equal((await told('json', 'application/json', json(spread)))[0], 200);
  const keys = [400, 'body: too many of its keys have the same hash'];
  assert.deepEqual(await told('json', 'application/json', json(names)), keys);
  // Neither escapes, values that look like keys, nor a fault behind the keys hide them.
  assert.deepEqual(await told('json', 'application/json', json(names.map((name) => name.replace(/^./, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`)))), keys);
  assert.deepEqual(await told('json', 'application/json', json(names, ',{"\\x":1}')), keys);
  assert.deepEqual(await told('json', 'application/json', json(names).replaceAll('"\\\\"', '":"')), keys);
  const many = Array.from({ length: 20_000 }, (_, number) => ({ [`key-${number}`]: 1, [`${number * 7}`]: 2, [`2026-11-${number}T00:00`]: 3 }));
  assert.equal((await told('json', 'application/json', JSON.stringify(many)))[0], 200);
});

test('a part has 100 headers at most', async () => {
  const more = (count: number): string => Array.from({ length: count }, (_, number) => `\r\nx-${number}: a`).join('');
  assert.equal((await told('parts', MULTIPART, multipart([named('a', 'x', more(99))])))[0], 200);
  assert.deepEqual(await told('parts', MULTIPART, multipart([named('a', 'x', more(100))])), [400, 'body: a part has more than 100 headers']);
});
