/** What `tests/guests/rust-basic` does, in TypeScript. */

import {
  All,
  Controller,
  Delete,
  Get,
  HttpException,
  HttpStatus,
  int,
  log,
  module,
  Move,
  NotFoundException,
  Post,
  Propfind,
  Reply,
  RequestMapping,
  RequestMethod,
  Search,
  type Context,
  type IOEvent,
} from '@pointwork/guest';
import { Methods } from './methods.js';
import { Parts } from './parts.js';
import { object } from './schema.js';

interface Product {
  id: number;
  name: string;
  price: number;
}

interface Events {
  'db:product:all': IOEvent<null, Product[]>;
  'db:product:by-id': IOEvent<number, Product | null>;
  'product:viewed': number;
  'response:send': string;
}

type Ctx = Context<Events>;

const newProduct = object({ name: 'string', price: 'number' });

@Controller('products')
class Products {
  @Get()
  list(ctx: Ctx) {
    return ctx.call('db:product:all', null);
  }

  @Get(':id')
  async show(ctx: Ctx) {
    const id = ctx.param('id', int);
    const product = await ctx.emit('product:viewed', id).call('db:product:by-id', id);
    if (!product) throw new NotFoundException('no such product');
    return product;
  }

  @Get(':id/id')
  id(ctx: Ctx) {
    return String(ctx.param('id', int));
  }

  @Get('search')
  @Search()
  search({ query }: Ctx) {
    const page = query.get('page') ?? '0';
    if (!/^\d+$/.test(page)) throw new HttpException('query `page`: expected a whole number', HttpStatus.BAD_REQUEST);
    return `${query.get('text')}, page ${page}, tags ${query.getAll('tag').join('+')}`;
  }

  @Post()
  async create(ctx: Ctx) {
    return Reply.json({ id: 7, ...(await ctx.json(newProduct)) }, { status: HttpStatus.CREATED });
  }

  @Delete([':id', ':id/all'])
  delete(ctx: Ctx) {
    log.info(`product ${ctx.param('id', int)} is gone`);
    return Reply.noContent();
  }

  @Propfind(':id')
  @RequestMapping({ path: ':id', method: RequestMethod.LOCK })
  @RequestMapping({ path: ':id', method: 'NOTIFY' })
  webdav(ctx: Ctx) {
    return `${ctx.method} ${ctx.param('id', int)}`;
  }
}

/** All kinds of replies, and rarely used functions of the context. */
@Controller('replies')
class Replies {
  @Get('text')
  text() {
    return 'text';
  }

  @Get('bytes')
  bytes() {
    return Uint8Array.of(0, 1, 254, 255);
  }

  @Get('headers')
  headers() {
    const headers = [
      ['x-one', '1'],
      ['x-two', '2'],
      ['x-two', '3'],
    ] as [string, string][];
    return Reply.text('headers', { status: HttpStatus.ACCEPTED, headers });
  }

  @Get('none')
  none() {
    throw new NotFoundException();
  }

  @Get('nothing')
  nothing() {}

  @Get('sent')
  sent(ctx: Ctx) {
    return ctx.send('sent', HttpStatus.ACCEPTED);
  }

  @Get('twice')
  twice(ctx: Ctx) {
    ctx.send('first');
    try {
      ctx.send('second');
      log.error('expected `already-replied`');
    } catch (error) {
      if (!(error instanceof HttpException && error.code === 'already-replied')) throw error;
      log.info(`refused: ${error.message}`);
    }
  }

  @Get('given-away')
  givenAway(ctx: Ctx) {
    return ctx.handOver('response:send', 'by the channel');
  }

  @Get('thrown/:status')
  thrown(ctx: Ctx) {
    return ctx.throw(ctx.param('status', int), 'thrown');
  }

  @Get('streamed')
  async streamed(ctx: Ctx) {
    const body = ctx.openReply({ headers: { 'content-type': 'text/plain' } });
    for (const chunk of ['one ', 'two ', 'three']) await body.write(chunk);
    await body.finish();
  }

  @Get('undecoded')
  async undecoded(ctx: Ctx) {
    try {
      return `${(await ctx.call('db:product:all', null)).length} products`;
    } catch (error) {
      if (!(error instanceof HttpException)) throw error;
      return `${error.code}: ${error.message}`;
    }
  }

  @Get('panic')
  panic() {
    throw new InternalError('this handler panics on purpose');
  }

  @Post('echo')
  async echo(ctx: Ctx) {
    const type = ctx.header('content-type') ?? 'application/octet-stream';
    return Reply.bytes(await ctx.bytes(), { headers: { 'content-type': type } });
  }

  @Post('count', { body: 'stream' })
  async count(ctx: Ctx) {
    let bytes = 0;
    for await (const chunk of ctx.body) bytes += chunk.length;
    return String(bytes);
  }

  /** Not a handler: it has no decorator. */
  helper() {
    return 'helper';
  }
}

/** Its methods are no handlers of a class that extends it. */
class Inherited {
  @Get('inherited')
  inherited() {
    return 'inherited';
  }
}

/** Without a prefix, for every method. */
@Controller()
class Health extends Inherited {
  @All('health')
  show() {
    return 'up';
  }

  @Move('health/moved')
  moved() {
    return 'moved';
  }

  @Move('health/moved-too')
  moved_too() {
    return 'moved too';
  }
}

/** A controller that is not in the list of the module, so it is not part of it. */
@Controller('unlisted')
export class Unlisted {
  @Get()
  show() {
    return 'never';
  }
}

export default module({ controllers: [Products, Replies, Health, Methods, Parts] });
