import { Channel, Controller, Get, module, On, Post, type Context, type StandardSchema } from '@pointwork/guest';
import { realTime } from '@pointwork/guest/clock';
import { FileError, readDirectory, readTextFile, removeFile, writeFile } from '@pointwork/guest/files';

@Channel('notes')
class Notes {
  @On('all')
  all(): unknown {
    writeFile('/notes/long.txt', 'ä'.repeat(100_000));
    const { length } = readTextFile('/notes/long.txt');
    removeFile('/notes/long.txt');
    const names = readDirectory('/notes');
    return { length, names, text: readTextFile('/notes/tea.txt'), refused: ['/notes/none', '/notes/../none', '/etc'].map(refused) };
  }

  @On('now')
  now(): boolean[] {
    const began = realTime();
    while (realTime() === began);
    return [Math.abs(began - Date.now()) < 60_000, Date.now() <= began];
  }
}

function refused(path: string): string {
  try {
    return readTextFile(path);
  } catch (error) {
    return error instanceof FileError ? `${error.code}: ${error.message}` : String(error);
  }
}

/** A schema that is asynchronous for each value, as of a library. */
const numbers: StandardSchema<unknown, number[]> = {
  '~standard': {
    version: 1,
    vendor: 'own',
    async validate(values) {
      const checked = await Promise.all(
        (values as unknown[]).map(async (value, at) => {
          await null;
          return [{ message: 'expected one of the known numbers', path: [at] }, { message: `got ${value}`, path: [at] }];
        }),
      );
      return { issues: checked.flat() };
    },
  },
};

@Controller()
class Page {
  @Post('checked')
  async checked(ctx: Context): Promise<number[]> {
    return ctx.json(numbers);
  }

  @Get('chain')
  async chain(): Promise<never> {
    for (;;) await null;
  }

  @Get(':event', { metadata: { 'response-schema': '{"type":"object","properties":{"length":{"type":"integer","format":"int64"}}}' } })
  show(ctx: Context): unknown {
    return ctx.call(`notes:${ctx.param('event')}`);
  }
}

export default module({ controllers: [Page], channels: [Notes], uses: ['notes:all', 'notes:now'] });
