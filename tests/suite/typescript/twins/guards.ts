/** What `tests/guests/rust-guards` does, in TypeScript. */

import {
  Controller,
  ForbiddenException,
  Get,
  HttpException,
  HttpStatus,
  module,
  Post,
  Reply,
  SkipGuards,
  UnauthorizedException,
  UseGuards,
  UseInterceptors,
  type CanActivate,
  type Context,
  type Interceptor,
  type IOEvent,
} from '@pointwork/guest';

interface Events {
  'users:verify': IOEvent<string, string | null>;
  'bookings:count': IOEvent<string, number>;
  'noted:passed': string;
}

type Ctx = Context<Events>;

/** The user of the token. */
async function verified(ctx: Ctx, token: string): Promise<string> {
  const user = await ctx.call('users:verify', token);
  if (user === null) throw new ForbiddenException();
  return user;
}

/** Lets pass who has a token. */
class SignedIn implements CanActivate {
  async canActivate(ctx: Ctx): Promise<string> {
    const token = ctx.header('x-token');
    if (token === undefined) throw new UnauthorizedException();
    const user = await verified(ctx, token);
    ctx.emit('noted:passed', user);
    return user;
  }
}

/** Has a value of the same type as `SignedIn`, of which it needs the value. */
class Admin implements CanActivate {
  canActivate(ctx: Ctx): string {
    const user = ctx.guarded(SignedIn);
    if (user !== 'ada') throw new ForbiddenException({ message: 'ask ada', user });
    return 'the admin';
  }
}

class Traps implements CanActivate {
  canActivate(): boolean {
    throw new InternalError('this guard panics on purpose');
  }
}

class Loops implements CanActivate {
  canActivate(): boolean {
    for (;;);
  }
}

/** Replies by itself, and lets the request pass. */
class Replies implements CanActivate {
  canActivate(ctx: Ctx): boolean {
    ctx.send('by the guard');
    return true;
  }
}

/** Replies by itself, and refuses the request. */
class RepliesAndRefuses implements CanActivate {
  canActivate(ctx: Ctx): boolean {
    ctx.send('by the guard');
    return false;
  }
}

/** Reads the body, which its value is. */
class ReadsBody implements CanActivate {
  canActivate(ctx: Ctx): Promise<string> {
    return ctx.text();
  }
}

/** Is a guard of the module. */
class NotBlocked implements CanActivate {
  canActivate(ctx: Ctx): boolean {
    const why = ctx.header('x-blocked');
    if (why !== undefined) throw new HttpException(why, HttpStatus.TOO_MANY_REQUESTS, { headers: { 'retry-after': '7' } });
    return true;
  }
}

/** Adds headers to a reply, or to the error instead of it. */
function adding(headers: (ctx: Ctx) => [string, string][]): (ctx: Ctx, next: () => Promise<Reply | undefined>) => Promise<Reply | undefined> {
  return async (ctx, next) => {
    try {
      const reply = await next();
      for (const [name, value] of headers(ctx)) reply?.header(name, value);
      return reply;
    } catch (error) {
      if (error instanceof HttpException) for (const [name, value] of headers(ctx)) error.header(name, value);
      throw error;
    }
  };
}

/** Marks what the controller replies. */
class Marked implements Interceptor {
  intercept = adding(() => [['x-after', 'block']]);
}

/** Makes a wrong header. */
class Forges implements Interceptor {
  intercept = adding(() => [['x-forged', 'a\nb']]);
}

/** Is an interceptor of the module. */
class Named implements Interceptor {
  intercept = adding((ctx) => [
    ['x-after', 'module'],
    ['x-route', ctx.route],
  ]);
}

/** The body of every error (RFC 9457). It makes a wrong header of a message with a newline. */
function problem(error: HttpException): Reply {
  const body = { title: error.message, status: error.getStatus(), code: error.code };
  return Reply.json(body, { headers: { 'content-type': 'application/problem+json', 'x-title': error.message } });
}

/** The bookings of a user. */
@Controller('bookings')
@UseGuards(SignedIn)
@UseInterceptors(Marked)
class Bookings {
  @Get()
  async list(ctx: Ctx) {
    const user = ctx.guarded(SignedIn);
    return `${user} ${ctx.guarded(SignedIn)} ${await ctx.call('bookings:count', user)}`;
  }

  @Post()
  async create(ctx: Ctx) {
    return `booked ${await ctx.json<number>()}`;
  }

  @Get('admin')
  @UseGuards(Admin)
  admin(ctx: Ctx) {
    return `${ctx.guarded(SignedIn)} ${ctx.guarded(Admin)}`;
  }

  @Get('broken')
  broken() {
    throw new HttpException('no room', HttpStatus.CONFLICT, { code: 'sold-out', headers: { 'x-room': '7' } });
  }
}

/** Without the interceptor of the other bookings, and without the guard. */
@Controller('bookings')
@UseGuards(SignedIn)
class Open {
  @Get('open')
  @SkipGuards()
  open() {
    return 'open';
  }
}

/** Guards that do what they should not. */
@Controller('odd')
class Odd {
  @Get('traps')
  @UseGuards(Traps)
  traps() {
    return 'never';
  }

  @Get('loops')
  @UseGuards(Loops)
  loops() {
    return 'never';
  }

  @Get('replies')
  @UseGuards(Replies)
  replies() {
    console.log('the handler runs');
    return 'by the handler';
  }

  @Post('reads')
  @UseGuards(ReadsBody)
  reads(ctx: Ctx) {
    return ctx.guarded(ReadsBody);
  }

  @Post('reads-both')
  @UseGuards(ReadsBody)
  reads_both(ctx: Ctx) {
    return ctx.text();
  }

  @Get('refuses')
  @UseGuards(RepliesAndRefuses)
  refuses() {
    console.log('the handler runs');
    return 'by the handler';
  }
}

/** Handlers that call for a user by themselves. */
@Controller('arguments')
class Arguments {
  @Get('twice')
  @UseGuards(SignedIn)
  twice(ctx: Ctx) {
    return `${ctx.guarded(SignedIn)} ${ctx.guarded(SignedIn)} ${ctx.guarded(SignedIn)}`;
  }

  @Get('guest')
  async guest(ctx: Ctx) {
    const token = ctx.header('x-token');
    return token === undefined ? 'nobody' : verified(ctx, token);
  }

  @Get('user')
  async user(ctx: Ctx) {
    const user = new SignedIn().canActivate(ctx);
    return user.catch((error: unknown) => (error instanceof HttpException ? error.message : Promise.reject(error as Error)));
  }
}

/** Replies that are errors. */
@Controller('wrong')
class Wrong {
  @Get('header')
  header() {
    return Reply.text('by the handler', { status: HttpStatus.ACCEPTED, headers: { 'x-to': 'a\nb' } });
  }

  @Get('hook')
  @UseInterceptors(Forges)
  hook() {
    return 'by the handler';
  }

  @Get('shape')
  shape() {
    throw new HttpException('no\nroom', HttpStatus.NOT_FOUND, { headers: { 'x-room': '7' } });
  }

  @Get('stale')
  stale(ctx: Ctx) {
    return ctx.conditions.reply({ etag: 'v7' }, () => 'by the handler');
  }
}

export default module({
  controllers: [Bookings, Open, Odd, Arguments, Wrong],
  guards: [NotBlocked],
  interceptors: [Named],
  errors: problem,
});
