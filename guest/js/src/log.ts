import { reportLine } from './report.js';
import { host, type Level } from './host.js';
import { jsonOf } from './platform/console.js';

/** The origin of the lines of {@link log}, which directives of `--log-level` name. */
const TARGET = 'pointwork::guest::log';

/** The fields of a line: their values become text. */
export type LogFields = Record<string, unknown>;

function write(level: Level, message: string, fields: LogFields | undefined): void {
  const properties = Object.entries(fields ?? {}).map(([name, value]) => ({
    name,
    value: value instanceof Error ? reportLine(value) : typeof value === 'object' && value !== null ? jsonOf(value) : String(value),
  }));
  host.log(level, TARGET, message, properties);
}

/** Lines of the host's log, within the span of their request: `log.info('sold out', { product: 7 })`. */
export const log = {
  trace: (message: string, fields?: LogFields): void => write('trace', message, fields),
  debug: (message: string, fields?: LogFields): void => write('debug', message, fields),
  info: (message: string, fields?: LogFields): void => write('info', message, fields),
  warn: (message: string, fields?: LogFields): void => write('warn', message, fields),
  error: (message: string, fields?: LogFields): void => write('error', message, fields),
};
