/** The requests of the comparison in TypeScript: `GET /items/7/call` answers `{"id":7,"name":"Assam"}`, the name by an event. */

import { Controller, Get, module, type Context, type IOEvent } from '@pointwork/guest';

interface Events {
  'bench:name': IOEvent<number, string>;
  'bench:wait': IOEvent<null, null>;
}

@Controller('items')
class Items {
  @Get(':id/call')
  async call(ctx: Context<Events>): Promise<{ id: number; name: string }> {
    const id = Number(ctx.param('id'));
    return { id, name: await ctx.call('bench:name', id) };
  }

  @Get('wait')
  async wait(ctx: Context<Events>): Promise<string> {
    await ctx.call('bench:wait', null);
    return '1';
  }

  @Get('raise')
  raise(): never {
    throw new TypeError('no such item');
  }
}

export default module({ controllers: [Items] });
