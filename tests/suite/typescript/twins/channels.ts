/** What `tests/guests/rust-channels` does, in TypeScript. */

import {
  CallException,
  Channel,
  Controller,
  Get,
  HttpException,
  HttpStatus,
  int,
  module,
  NotFoundException,
  On,
  Payload,
  Post,
  type Context,
  type Delivery,
  type IOEvent,
} from '@pointwork/guest';

interface Product {
  id: number;
  name: string;
}

interface Events {
  'db:product:by-id': IOEvent<number, Product | null>;
  'db:nest': IOEvent<number, number>;
  'db:picture': IOEvent<number, Payload>;
  'db:look': IOEvent<Payload, [string, number]>;
  'db:trap': IOEvent<null, null>;
  'db:fail': IOEvent<null, null>;
  'db:ask': IOEvent<string, string>;
  'response:send': string;
  'response:silent': string;
  'response:twice': string;
  'audit:note': string;
  'app:answer': IOEvent<string, string>;
  'app:noted': IOEvent<string, null>;
  'app:crashed': IOEvent<unknown, null>;
}

type Ctx = Context<Events>;
type From = Delivery<Events>;

/** Has no side effects of its own: it only calls channels. */
@Controller('shop')
class Shop {
  @Get(':id')
  async show(ctx: Ctx) {
    const product = await ctx.call('db:product:by-id', ctx.param('id', int));
    if (!product) throw new NotFoundException('no such product');
    return product;
  }

  @Get(':id/label')
  label(ctx: Ctx) {
    return ctx.handOver('response:send', `label of ${ctx.param('id', int)}`);
  }

  @Get('pictures/:id')
  picture(ctx: Ctx) {
    return ctx.call('db:picture', ctx.param('id', int));
  }

  @Post('pictures')
  async look(ctx: Ctx) {
    return ctx.call('db:look', new Payload(ctx.header('content-type') ?? '', await ctx.bytes()));
  }

  @Get('nested/:n')
  async nested(ctx: Ctx) {
    return String(await ctx.call('db:nest', ctx.param('n', int)));
  }

  @Get('emit/:text')
  emit(ctx: Ctx) {
    ctx.emit('audit:note', ctx.param('text'));
    return 'emitted';
  }

  @Get('ask/:text')
  ask(ctx: Ctx) {
    return ctx.call('db:ask', ctx.param('text'));
  }

  @Get('trap')
  async trap(ctx: Ctx) {
    await ctx.call('db:trap', null);
    return 'the listener did not trap';
  }

  @Get('fail')
  async fail(ctx: Ctx) {
    try {
      await ctx.call('db:fail', null);
      return 'the listener did not fail';
    } catch (error) {
      if (!(error instanceof CallException)) throw error;
      return `${error.code} ${error.getStatus()} ${error.message}`;
    }
  }

  @Get('silent')
  silent(ctx: Ctx) {
    return ctx.handOver('response:silent', 'never sent');
  }

  @Get('twice')
  twice(ctx: Ctx) {
    return ctx.handOver('response:twice', 'sent twice');
  }
}

@Channel('db')
class Db {
  @On('product:by-id')
  byId(id: unknown): Product | null {
    if (typeof id !== 'number') throw new HttpException('expected a number', HttpStatus.BAD_REQUEST, { code: 'bad-payload' });
    return id === 7 ? { id, name: 'tea' } : null;
  }

  @On('nest')
  async nest(n: number, delivery: From): Promise<number> {
    return n === 0 ? 0 : 1 + (await delivery.call('db:nest', n - 1));
  }

  @On('picture')
  picture(id: number): Payload {
    if (id !== 7) throw new NotFoundException('no such picture');
    return new Payload('image/png', Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0, 0xff));
  }

  @On('look')
  look(picture: Payload): [string, number] {
    return [picture.contentType, picture.data.length];
  }

  @On('trap')
  trap() {
    throw new InternalError('this listener panics on purpose');
  }

  @On('fail')
  fail() {
    throw new HttpException('the store says no', HttpStatus.CONFLICT, { code: 'conflict' });
  }

  @On('ask')
  ask(text: string, delivery: From) {
    return delivery.call('app:answer', text);
  }

  /** Not a listener: it has no decorator. */
  helper() {
    return 'helper';
  }
}

/** Replies instead of a controller. */
@Channel('response')
class Response {
  @On('send')
  send(text: string, { context }: From) {
    context?.send(text);
  }

  @On('silent')
  silent(_text: string, delivery: From) {
    return delivery.context;
  }

  @On('twice')
  twice(text: string, delivery: From) {
    delivery.context?.send(text);
    let code = 'a second reply was taken';
    try {
      delivery.context?.send(text);
    } catch (error) {
      if (error instanceof HttpException) ({ code } = error);
    }
    delivery.emit('audit:note', code);
  }
}

/** Forwards notes. */
@Channel('audit')
class Audit {
  @On('note')
  note(text: string, delivery: From) {
    return delivery.call('app:noted', text);
  }
}

/** Listens to the errors of the server. */
@Channel('server')
class Server {
  @On('crashed')
  crashed(crash: unknown, delivery: From) {
    return delivery.call('app:crashed', crash);
  }
}

export default module({ controllers: [Shop], channels: [Db, Response, Audit, Server] });
