import { BadRequestException, Controller, CookieKey, Get, int, NotFoundException, Post, Reply, type Context } from '@pointwork/guest';
import { object } from './schema.js';

const target = object({ to: 'string' });
const key = new CookieKey('0123456789abcdef0123456789abcdef');

async function userOf(ctx: Context): Promise<string> {
  const user = (await ctx.form()).get('user');
  if (user === null) throw new BadRequestException('body: `user` is missing');
  return user;
}

/** Parts of requests and replies that the SDK reads and writes. */
@Controller('parts')
export class Parts {
  @Get('redirect')
  async redirect(ctx: Context) {
    return Reply.redirect((await ctx.readQuery(target)).to);
  }

  @Get('created')
  async created(ctx: Context) {
    return Reply.created((await ctx.readQuery(target)).to, 'made');
  }

  @Post('form')
  form(ctx: Context) {
    return userOf(ctx);
  }

  @Get(['pair/:one', 'pair/:one/:two'])
  pair(ctx: Context) {
    return `${ctx.param('one', int)} ${ctx.param('two', int)}`;
  }

  @Post('login')
  async login(ctx: Context) {
    return Reply.redirect('/parts/user').cookie('user', key.sign(await userOf(ctx)));
  }

  @Get('cookie')
  async cookie(ctx: Context) {
    return Reply.text('set').cookie('a', '1', { path: (await ctx.readQuery(target)).to });
  }

  @Get('user')
  user(ctx: Context) {
    const user = ctx.cookies.signed(key, 'user');
    if (user === undefined) throw new NotFoundException();
    return user;
  }

  @Post('upload', { body: 'stream' })
  async upload(ctx: Context) {
    let [parts, bytes] = [0, 0];
    for await (const part of ctx.parts()) {
      parts += 1;
      for await (const chunk of part) bytes += chunk.length;
    }
    return `${parts} parts, ${bytes} bytes`;
  }

  @Get('rows/:count')
  rows(ctx: Context) {
    const count = ctx.param('count', int);
    function* rows(): Generator<string> {
      for (let row = 0; row < count; row += 1) yield `${row}\n`;
    }
    return Reply.stream(rows(), { headers: { 'content-type': 'text/csv' } });
  }

  /** Empty pieces for ever. */
  @Get('empty')
  *empty() {
    yield 'begun';
    for (;;) yield '';
  }

  @Get('broken')
  *broken() {
    yield 'one';
    throw new Error('no more');
  }

  @Get('page')
  page(ctx: Context) {
    return ctx.conditions.reply({ etag: 'v7' }, () => 'page');
  }
}
