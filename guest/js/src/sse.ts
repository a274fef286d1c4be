import { jsonText } from './json.js';
import { log } from './log.js';
import { iteratorOf, Reply, type Pieces } from './reply.js';
import { borrowFrames, placeOf } from './stack.js';

/** A server-sent event, as in NestJS: `data` is text or becomes JSON. A line with `comment` alone keeps the connection in use. */
export interface SseEvent {
  data?: unknown;
  type?: string;
  id?: string;
  /** Milliseconds after which a client connects again. */
  retry?: number;
  comment?: string;
}

function lines(name: string, text: string): string {
  return text
    .split(/\r\n|\n|\r/)
    .map((line) => `${name}: ${line}\n`)
    .join('');
}

/** A line break would begin another field, so a text with one is left out. */
function field(name: string, text: string | undefined, made: Error): string {
  if (text === undefined) return '';
  if (!/[\n\r\0]/.test(text)) return `${name}: ${text}\n`;
  log.error(`the field \`${name}\` of a server-sent event has a line break and is left out${placeOf(made)}`);
  return '';
}

function wait(retry: number | undefined, made: Error): string {
  if (retry === undefined) return '';
  if (Number.isFinite(retry) && retry >= 0) return `retry: ${BigInt(Math.trunc(retry))}\n`;
  log.error(`the field \`retry\` of a server-sent event is ${retry}, expected milliseconds, and is left out${placeOf(made)}`);
  return '';
}

function write(event: SseEvent, made: Error): string {
  if (typeof event !== 'object' || event === null) throw new TypeError('a server-sent event is an object, such as `{ data: text }`: text alone could be several events');
  const { data, type, id, retry, comment, ...others } = event;
  const other = Object.keys(others)[0];
  if (other !== undefined) throw new TypeError(`a server-sent event has the field \`${other}\`, expected \`data\`, \`type\`, \`id\`, \`retry\` or \`comment\``);
  const head = field('event', type, made) + field('id', id, made) + wait(retry, made);
  const text = data === undefined ? '' : lines('data', typeof data === 'string' ? data : jsonText(data, 'the data of a server-sent event'));
  return `${head}${comment === undefined ? '' : lines('', comment)}${text}\n`;
}

/** A reply of server-sent events, from a generator or another iterable. */
export function sse(events: Iterable<SseEvent> | AsyncIterable<SseEvent>): Reply {
  const made = new Error();
  const source = iteratorOf(events as unknown as Pieces) as unknown as Iterator<SseEvent> | AsyncIterator<SseEvent>;
  const pieces: AsyncIterable<string> & AsyncIterator<string> = {
    async next() {
      const { done, value } = await source.next();
      if (done) return { done: true, value: undefined };
      try {
        return { done: false, value: write(value, made) };
      } catch (error) {
        throw borrowFrames(error, made);
      }
    },
    async return() {
      await source.return?.();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
  return Reply.stream(pieces, { headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' } });
}
