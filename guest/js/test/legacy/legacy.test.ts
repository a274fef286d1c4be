import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Channel, Controller, Get, Header, On, UseGuards, type Context } from '@pointwork/guest';
import { testApp } from '@pointwork/guest/testing';

function Replaced(_prototype: object, _name: string, descriptor: PropertyDescriptor): PropertyDescriptor {
  const before = descriptor.value as (ctx: Context) => unknown;
  return { ...descriptor, value: function (this: unknown, ctx: Context) { return `replaced ${before.call(this, ctx) as string}`; } };
}

@Controller('legacy')
@Header('x-kind', 'legacy')
class Legacy {
  @Get(':id')
  @UseGuards((ctx) => ctx.param('id') !== '0')
  show(ctx: Context): string {
    return ctx.param('id');
  }

  @Replaced
  @Get('a/b')
  replaced(): string {
    return 'text';
  }
}

@Channel('db')
class Db {
  @On('one')
  one(id: number): number {
    return id + 1;
  }
}

test('decorators of `experimentalDecorators`', async () => {
  const app = testApp({ controllers: [Legacy], channels: [Db] });
  const answer = await app.get('/legacy/7');
  assert.deepEqual([answer.text(), answer.headers.get('x-kind')], ['7', 'legacy']);
  assert.equal((await app.get('/legacy/0')).status, 403);
  assert.equal((await app.get('/legacy/a/b')).text(), 'replaced text');
  assert.equal(await app.deliver('db:one', 1), 2);
});

test('what they refuse', () => {
  assert.throws(() => {
    class Static {
      @Get() static one(): void {}
    }
  }, /`@Get` is on the static method `Static.one`/);
  assert.throws(() => {
    class Getter {
      @Get() get one(): () => void { return () => undefined; }
    }
  }, /`@Get` is on the getter `Getter.one`/);
});
