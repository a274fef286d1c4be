import {
  BadRequestException, CallException, ConflictException, Controller, Delete, Get, NotFoundException, Patch, Post, Put, Reply,
} from '@pointwork/guest';
import type { Product } from './events.js';
import { changeOf, natural, queryField, readFields, readNewProduct, type Ctx, type Fields, type Page } from './model.js';

/** The maximum number of products in one reply. */
const MOST = 100;

@Controller('products')
export class Products {
  @Get('', { summary: '`GET /products?page=1&per_page=20`' })
  async list(ctx: Ctx): Promise<Page> {
    const page = numberOf(ctx, 'page', 1);
    const per_page = numberOf(ctx, 'per_page', 20);
    if (page === 0 || per_page < 1 || per_page > MOST) {
      throw new BadRequestException(`query: expected a \`page\` of 1 or more and a \`per_page\` of 1 to ${MOST}`);
    }
    const products = await ctx.call('db:product:all', { limit: per_page, offset: (page - 1) * per_page });
    const { products: total } = await ctx.call('db:product:count');
    return { products: products.map(shown), page, per_page, total };
  }

  @Get('search', { summary: '`GET /products/search?q=tea`' })
  async search(ctx: Ctx): Promise<Product[]> {
    const text = queryField(ctx, 'q');
    if (text === undefined) throw new BadRequestException('query: missing field `q`');
    return (await ctx.call('db:product:search', { text, limit: MOST })).map(shown);
  }

  @Get(':id', { summary: '`GET /products/:id`, which counts as a view' })
  async show(ctx: Ctx): Promise<Product> {
    const id = ctx.param('id', natural);
    const product = await find(ctx, id);
    ctx.emit('product:viewed', id);
    return product;
  }

  @Get(':id/views')
  async views(ctx: Ctx): Promise<{ id: number; views: number }> {
    const id = ctx.param('id', natural);
    return (await ctx.call('db:product:views', id)) ?? missing(id);
  }

  @Get(':id/label', { summary: 'the text for the shelf, which the channel `response` sends' })
  async label(ctx: Ctx): Promise<Ctx> {
    const { name, sku, price_cents } = await find(ctx, ctx.param('id', natural));
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
    const id = ctx.param('id', natural);
    return change(ctx, id, await readNewProduct(ctx));
  }

  @Patch(':id', { summary: 'the fields that are there' })
  async update(ctx: Ctx): Promise<Product> {
    const id = ctx.param('id', natural);
    return change(ctx, id, await readFields(ctx));
  }

  @Delete(':id')
  async delete(ctx: Ctx): Promise<Reply> {
    const id = ctx.param('id', natural);
    const count = await ctx.call('db:product:delete', id);
    return count === 0 ? missing(id) : Reply.noContent();
  }
}

function numberOf(ctx: Ctx, name: string, usual: number): number {
  const text = queryField(ctx, name);
  try {
    return text === undefined ? usual : natural(text, 2 ** 32 - 1);
  } catch (error) {
    throw new BadRequestException(`query: \`${name}\`: ${(error as Error).message}`);
  }
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
async function conflicting<T>(call: Promise<T>, sku: string | null | undefined): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (typeof sku === 'string' && error instanceof CallException && error.code === 'conflict') {
      throw new ConflictException(`another product has the SKU \`${sku}\``);
    }
    throw error;
  }
}
