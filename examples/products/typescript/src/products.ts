import {
  BadRequestException, CallException, ConflictException, Controller, Delete, Get, int, NotFoundException, Patch, Post, Put, Reply,
} from '@pointwork/guest';
import type { Product } from './events.js';
import { changeOf, readFields, readNewProduct, type Ctx, type Fields, type Page } from './model.js';

/** The maximum number of products in one reply. */
const MOST = 100;

@Controller('products')
export class Products {
  @Get('', { summary: '`GET /products?page=1&per_page=20`' })
  async list(ctx: Ctx): Promise<Page> {
    const page = natural(ctx, 'page', 1);
    const per_page = natural(ctx, 'per_page', 20);
    if (page === 0 || per_page < 1 || per_page > MOST) {
      throw new BadRequestException(`query: expected a \`page\` of 1 or more and a \`per_page\` of 1 to ${MOST}`);
    }
    const products = await ctx.call('db:product:all', { limit: per_page, offset: (page - 1) * per_page });
    const { products: total } = await ctx.call('db:product:count');
    return { products: products.map(shown), page, per_page, total };
  }

  @Get('search', { summary: '`GET /products/search?q=tea`' })
  async search(ctx: Ctx): Promise<Product[]> {
    const text = ctx.query.get('q');
    if (text === null) throw new BadRequestException('query: missing field `q`');
    return (await ctx.call('db:product:search', { text, limit: MOST })).map(shown);
  }

  @Get(':id', { summary: '`GET /products/:id`, which counts as a view' })
  async show(ctx: Ctx): Promise<Product> {
    const id = ctx.param('id', int);
    const product = await find(ctx, id);
    ctx.emit('product:viewed', id);
    return product;
  }

  @Get(':id/views')
  async views(ctx: Ctx): Promise<{ id: number; views: number }> {
    const id = ctx.param('id', int);
    return (await ctx.call('db:product:views', id)) ?? missing(id);
  }

  @Get(':id/label', { summary: 'the text for the shelf, which the channel `response` sends' })
  async label(ctx: Ctx): Promise<Ctx> {
    const { name, sku, price_cents } = await find(ctx, ctx.param('id', int));
    return ctx.handOver('response:send', `${name} (${sku}): ${(price_cents / 100).toFixed(2)}\n`);
  }

  @Post()
  async create(ctx: Ctx): Promise<Reply> {
    const wanted = await readNewProduct(ctx);
    const product = await conflicting(ctx.call('db:product:create', wanted), wanted.sku);
    // The path of the request, which includes a global prefix of the server.
    return Reply.created(`${ctx.path}/${product.id}`, shown(product));
  }

  @Put(':id', { summary: 'the whole product' })
  async replace(ctx: Ctx): Promise<Product> {
    const id = ctx.param('id', int);
    return change(ctx, id, await readNewProduct(ctx));
  }

  @Patch(':id', { summary: 'the fields that are there' })
  async update(ctx: Ctx): Promise<Product> {
    const id = ctx.param('id', int);
    return change(ctx, id, await readFields(ctx));
  }

  @Delete(':id')
  async delete(ctx: Ctx): Promise<Reply> {
    const id = ctx.param('id', int);
    const count = await ctx.call('db:product:delete', id);
    return count === 0 ? missing(id) : Reply.noContent();
  }
}

function natural(ctx: Ctx, name: string, usual: number): number {
  const text = ctx.query.get(name);
  if (text === null) return usual;
  if (!/^\+?\d+$/.test(text)) throw new BadRequestException(`query: \`${name}\`: invalid digit found in string`);
  return Number(text);
}

async function find(ctx: Ctx, id: number): Promise<Product> {
  return shown((await ctx.call('db:product:one', id)) ?? missing(id));
}

async function change(ctx: Ctx, id: number, fields: Fields): Promise<Product> {
  return shown((await conflicting(ctx.call('db:product:update', changeOf(id, fields)), fields.sku)) ?? missing(id));
}

/** A product with its fields in the order of the replies. That of a row is not kept. */
function shown({ id, sku, name, price_cents, description }: Product): Product {
  return { id, sku, name, price_cents, description };
}

function missing(id: number): never {
  throw new NotFoundException(`no product has the id ${id}`);
}

/** The result of a call. Its failure `conflict` means that another product has the SKU. */
async function conflicting<T>(call: Promise<T>, sku: string | undefined): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (sku !== undefined && error instanceof CallException && error.code === 'conflict') {
      throw new ConflictException(`another product has the SKU \`${sku}\``);
    }
    throw error;
  }
}
