/** What must compile, and what must not. An `@ts-expect-error` without an error is an error. */
import {
  bool, Channel, Controller, Get, inject, int, module, On, Payload, Reply, typed, UseGuards, variables,
  type Context, type Delivery, type IOEvent, type StandardSchema,
} from '@pointwork/guest';
import { testApp } from '@pointwork/guest/testing';

interface Product {
  id: number;
  name: string;
}

interface Events {
  'db:one': IOEvent<{ id: number }, Product | null>;
  'db:count': IOEvent<null, number>;
  'db:image': IOEvent<number, Payload>;
  'product:viewed': { id: number };
}

class Signed {
  canActivate(ctx: Context<Events>): { user: string } | false {
    return ctx.path === '/' ? { user: 'Ada' } : false;
  }
}

class Prices {
  of = (id: number): number => id;
}

declare const schema: StandardSchema<unknown, { name: string }>;

@Controller('products')
export class Products {
  prices = inject(Prices);

  @Get(':id')
  async show(ctx: Context<Events>): Promise<string> {
    const product = await ctx.call('db:one', { id: 1 });
    const name: string | undefined = product?.name;
    const count: number = await ctx.call('db:count');
    const image: Payload = await ctx.call('db:image', 7);
    ctx.emit('product:viewed', { id: 1 }).emit('product:viewed', ctx);
    const id: number = ctx.param('id', int);
    const isOn: boolean = ctx.param('on', bool);
    const user: string = ctx.guarded(Signed).user;
    const body: { name: string } = await ctx.json(schema);
    const typedBody: Product = await ctx.json<Product>();
    const price: number = this.prices.of(id);
    // @ts-expect-error the payload has a number
    await ctx.call('db:one', { id: '1' });
    // @ts-expect-error the payload is missing
    await ctx.call('db:one');
    // @ts-expect-error the event is not in the map
    await ctx.call('db:two', {});
    // @ts-expect-error the event has no result
    await ctx.call('product:viewed', { id: 1 });
    // @ts-expect-error the payload has an id
    ctx.emit('product:viewed', {});
    // @ts-expect-error the result may be null
    (await ctx.call('db:one', { id: 1 })).name;
    // @ts-expect-error a body is unknown without a schema
    (await ctx.json()).name;
    return [name, count, image, isOn, user, body, typedBody, price].join();
  }

  // @ts-expect-error a handler takes the context
  @Get('wrong')
  wrong(id: number): number {
    return id;
  }

  // @ts-expect-error a getter cannot be a handler
  @Get('getter')
  get getter(): string {
    return '';
  }

  @Get('guarded')
  @UseGuards(Signed, (ctx: Context<Events>) => ctx.method === 'GET')
  guarded(): string {
    return '';
  }
}

@Channel('db')
export class Db {
  @On('one')
  one({ id }: { id: number }, delivery: Delivery<Events>): Product {
    delivery.emit('product:viewed', { id });
    return { id, name: '' };
  }
}

const { On: OnDb } = typed<Events>()('db');

@Channel('db')
export class TypedDb {
  @OnDb('one')
  one({ id }: { id: number }): Product | null {
    return id === 1 ? { id, name: '' } : null;
  }

  // @ts-expect-error the result is a number
  @OnDb('count')
  async count(): Promise<string> {
    return '1';
  }

  // @ts-expect-error the payload has a number
  @OnDb('image')
  image(id: { id: string }): Payload {
    return new Payload(id.id, new Uint8Array());
  }

  // @ts-expect-error the channel has no such event
  @OnDb('viewed')
  viewed(): void {}
}

const settings = variables({ SIZE: { type: 'integer', default: 1 }, WORD: { type: 'string', enum: ['a', 'b'], optional: true } });
export const size: number = settings.SIZE;
export const word: 'a' | 'b' | undefined = settings.WORD;
// @ts-expect-error it may be missing
export const there: 'a' | 'b' = settings.WORD;

export const pieces = [Reply.stream(['a', new Uint8Array(1)]), Reply.stream((async function* () { yield 'a'; })())];
// @ts-expect-error `Reply.stream` takes an iterable of pieces, not a string
export const characters = Reply.stream('hello');

const shop = module({ controllers: [Products], channels: [TypedDb] });
export const apps = [
  testApp(shop).on('db:one', ({ id }) => ({ id, name: 'tea' })).on('db:one', async () => null).on('db:count', () => 7),
  testApp(shop).on('db:one', () => { throw new Error('lost'); }).on('product:viewed', ({ id }) => void id).on('users:of', (any) => any.name),
  testApp({ controllers: [Products] }).on('db:count', () => 7),
  testApp({ channels: [Db] }).on('product:viewed', ({ id }) => id),
];
// @ts-expect-error the result is a product
testApp(shop).on('db:one', () => 'tea');
// @ts-expect-error the name is missing
testApp(shop).on('db:one', async ({ id }) => ({ id }));
// @ts-expect-error the payload has a number
testApp(shop).on('db:one', (payload: { id: string }) => ({ id: 1, name: payload.id }));
// @ts-expect-error the result is a number
testApp({ controllers: [Products] }).on('db:count', () => '7');
// @ts-expect-error the payload has no name
testApp({ channels: [Db] }).on('product:viewed', ({ name }) => name);

class NeedsPrices {
  constructor(readonly prices: Prices) {}
}
// @ts-expect-error nothing fills the parameters of a constructor
module({ controllers: [NeedsPrices] });
// @ts-expect-error there is no such option
module({ controllers: [Products], imports: [] });

class Throws {
  canActivate(ctx: Context) {
    ctx.bearer();
  }
}
// @ts-expect-error a guard that returns nothing refuses every request
UseGuards(Throws);
// @ts-expect-error there is no such option
Get('', { named: 'a' });
UseGuards((ctx: Context) => ctx.bearer(), async (ctx: Context) => ctx.method === 'GET' || null);
