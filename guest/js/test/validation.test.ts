/** Validators: each gives the same reply for what does not fit, with the field. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type } from 'arktype';
import { Type, type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import { Value } from 'typebox/value';
import * as v from 'valibot';
import { z } from 'zod';
import { Controller, float, fromTypeBox, Get, module, Post, Reply, type Context, type StandardSchema } from '@pointwork/guest';
import { testApp } from '@pointwork/guest/testing';

interface Order {
  name: string;
  lines: { count: number }[];
}

const inTypeBox = Type.Object({ name: Type.String({ minLength: 1 }), lines: Type.Array(Type.Object({ count: Type.Integer({ minimum: 1 }) })) });

const SCHEMAS: Record<string, StandardSchema<unknown, Order>> = {
  zod: z.object({ name: z.string().min(1), lines: z.array(z.object({ count: z.number().int().min(1) })) }),
  valibot: v.object({ name: v.pipe(v.string(), v.minLength(1)), lines: v.array(v.object({ count: v.pipe(v.number(), v.integer(), v.minValue(1)) })) }),
  arktype: type({ name: 'string > 0', lines: type({ count: 'number.integer >= 1' }).array() }),
  typebox: fromTypeBox<Static<typeof inTypeBox>>(Compile(inTypeBox)),
  'typebox, not compiled': fromTypeBox<Static<typeof inTypeBox>>({ Check: (value) => Value.Check(inTypeBox, value), Errors: (value) => Value.Errors(inTypeBox, value) }),
};

for (const [name, schema] of Object.entries(SCHEMAS)) {
  test(`a body, a query and a parameter are validated by ${name}`, async () => {
    const flag = name === 'arktype' ? type({ flag: "'yes' | 'no'" }) : z.object({ flag: z.enum(['yes', 'no']) });

    @Controller('orders')
    class Orders {
      @Post()
      create(ctx: Context): Promise<Order> {
        return ctx.json(schema);
      }

      @Get()
      async list(ctx: Context): Promise<unknown> {
        return ctx.readQuery(flag);
      }

      @Get(':word')
      show(ctx: Context): unknown {
        return ctx.param('word', name === 'arktype' ? type("'yes' | 'no'") : z.enum(['yes', 'no']));
      }
    }

    const app = testApp(module({ controllers: [Orders] }));
    const order = { name: 'tea', lines: [{ count: 2 }] };
    assert.deepEqual((await app.post('/orders', { json: order })).json(), order);
    for (const [wrong, field] of [
      [{ ...order, name: '' }, 'name'],
      [{ ...order, name: 7 }, 'name'],
      [{ ...order, lines: [{ count: 1 }, { count: 0 }] }, 'lines.1.count'],
      [{ ...order, lines: [{ count: 1.5 }] }, 'lines.0.count'],
    ] as const) {
      const answer = await app.post('/orders', { json: wrong });
      assert.equal(answer.status, 422, JSON.stringify(wrong));
      const { fields } = answer.json() as { fields: { field: string; message: string }[] };
      assert.deepEqual(fields.map((one) => one.field), [field]);
      assert.notEqual(fields[0]?.message, '');
    }
    const missing = await app.post('/orders', { json: { lines: [] } });
    assert.equal(missing.status, 422);
    assert.match(JSON.stringify(missing.json().fields), /name/);
    assert.equal((await app.get('/orders?flag=maybe')).status, 422);
    assert.deepEqual((await app.get('/orders?flag=yes')).json(), { flag: 'yes' });
    assert.deepEqual([(await app.get('/orders/maybe')).status, (await app.get('/orders/yes')).text()], [400, 'yes']);
  });
}

test('integers past 2^53 arrive as the nearest number, and exactly as text', async () => {
  @Controller()
  class Page {
    @Post('number')
    async number(ctx: Context): Promise<unknown> {
      return ctx.json();
    }

    @Post('text')
    text(ctx: Context): unknown {
      return ctx.text();
    }
  }

  const app = testApp(module({ controllers: [Page] }));
  const json = '{"id":9007199254740993}';
  const headers = { 'content-type': 'application/json' };
  assert.equal((await app.post('/number', { body: json, headers })).text(), '{"id":9007199254740992}');
  assert.equal((await app.post('/text', { body: json, headers })).text(), json);
});

test('what is wrong within a text of JSON is told where it is', async () => {
  @Controller()
  class Page {
    @Post() read(ctx: Context): Promise<unknown> { return ctx.json(); }
  }
  const app = testApp({ controllers: [Page] });
  const problem = async (body: string): Promise<unknown> => (await (await app.post('/', { body })).json() as { message: string }).message;
  const escape = 'body: expected an escape such as `\\n` or `\\u00e9`';
  assert.equal(await problem('"\\u00e9\\x"'), `${escape} at line 1 column 8`);
  assert.equal(await problem('{"a":"b\\u12"}'), `${escape} at line 1 column 8`);
  assert.equal(await problem('{"a\\x":1}'), `${escape} at line 1 column 4`);
  assert.equal(await problem('["a\tb"]'), 'body: expected `\\u0009` in place of the control character at line 1 column 4');
  assert.equal(await problem('["ab'), 'body: expected a text that ends with `"` at line 1 column 2');
  assert.equal(await problem('{a:1}'), 'body: expected a name in quotation marks at line 1 column 2');
});

test('float reads decimal numbers', () => {
  assert.deepEqual(['1', '-1.5', '+.5', '1.', '2e3', '1E-2'].map(float), [1, -1.5, 0.5, 1, 2000, 0.01]);
  for (const text of ['0x10', '0b1', ' 1', '1 ', '', '.', 'e1', 'Infinity', '1e999', '1_0']) assert.throws(() => float(text), /expected a number/, text);
  // It takes hours, unless the time grows with the length alone.
  assert.throws(() => float(`${'1'.repeat(1_000_000)}x`), /expected a number/);
});

test('`errors` finds the fields of a 422 in the body of its error', async () => {
  @Controller()
  class Page {
    @Post() post(ctx: Context): Promise<unknown> {
      return ctx.json(z.object({ name: z.string() }));
    }
  }
  const app = testApp(module({ controllers: [Page], errors: (error) => Reply.json({ title: error.message, invalid: error.getResponse()['fields'] }) }));
  const answer = await app.post('/', { json: {} });
  assert.equal(answer.status, 422);
  assert.deepEqual(answer.json(), { title: '1 field is not valid', invalid: [{ field: 'name', message: 'Invalid input: expected string, received undefined' }] });
});
