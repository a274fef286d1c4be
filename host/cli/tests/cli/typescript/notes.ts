import { Channel, Controller, Get, module, On, type Context } from '@pointwork/guest';
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

@Controller()
class Page {
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
