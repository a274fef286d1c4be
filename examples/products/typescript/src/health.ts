import { Controller, Get, log, ServiceUnavailableException } from '@pointwork/guest';
import type { Ctx } from './model.js';

@Controller('health')
export class Health {
  @Get('', { summary: '200 if the database answers, 503 if not' })
  async show(ctx: Ctx): Promise<{ status: string; products: number }> {
    try {
      const { products } = await ctx.call('db:product:count');
      return { status: 'up', products };
    } catch (error) {
      log.error(String(error));
      throw new ServiceUnavailableException('the database does not answer');
    }
  }
}
