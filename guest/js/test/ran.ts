/** Modules as components, as far as they run without a host: evaluated in a context that has what QuickJS has, over a contract of the test. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createContext, runInContext } from 'node:vm';
import { bundle } from '@pointwork/guest/build';
import { HEAD, project, root, type Ran } from './project.js';

const { forNode } = (await import(join(root, 'dist/build/script.js'))) as { forNode(made: Awaited<ReturnType<typeof bundle>>): string };

/** Texts that the contract lets through as JSON, and that are none, by the events that return them. */
export const TEXTS: Record<string, string> = { torn: '{', deep: '['.repeat(100_000), proto: '{"a": {"__proto__":1}}', half: '"\\ud800"' };

/** The body of every request. */
const FORM = 'multipart/form-data; boundary=b';
const BODY = '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\ntea\r\n--b\r\ncontent-disposition: form-data; name="c"\r\n\r\n\r\n--b--\r\n';
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A failure as the contract throws it. */
function failed(code: string, status: number, message: string): object {
  return { payload: { code, status, headers: [], message, details: null } };
}

/** Answers an event with a text of {@link TEXTS}, or with its name. `fail:CODE:STATUS` fails. */
function call(_: unknown, event: string): object {
  const [kind, code = '', status] = event.split(':');
  if (kind === 'fail') throw failed(code, Number(status), `${event} failed`);
  return { tag: 'json', val: TEXTS[event] ?? JSON.stringify(event) };
}

/** What a module is as a component, and its first controller's answers to requests by the names of handlers. */
export async function run(source: string): Promise<Ran> {
  const folder = project({ 'src/module.ts': HEAD + source });
  const code = forNode(await bundle({ entry: join(folder, 'src/module.ts') }));
  const crashes: Ran['crashes'] = [];
  const raised: Ran['raised'] = [];
  const lines: string[] = [];
  const write = (writer: string[], chunk: Uint8Array): void => {
    const text = String.fromCharCode(...chunk);
    if (text === 'LEAVE') throw failed('gone', 500, 'the client has left');
    writer.push(text);
  };
  const contract: Record<string, object> = {
    context: { handOver: () => undefined },
    'context-sync': { call, text: () => { throw failed('bad-payload', 400, 'of the client'); }, read: (reader: Uint8Array[]) => reader.shift() ?? null, write, finish: () => undefined },
    environment: { now: () => ({ seconds: 1, nanoseconds: 5e8 }), monotonic: () => ({ seconds: 2, nanoseconds: 0 }), random: () => -5, variables: () => [{ name: 'A', value: 'b' }] },
    'events-sync': { call },
    log: { write: (level: string, _: string, message: string) => void lines.push(`${level}: ${message}`), panicked: (report: Ran['crashes'][0]) => void crashes.push(report), raised: (report: Ran['crashes'][0]) => void raised.push(report) },
  };
  const script = code
    .replace(/import (\w+) from ?"pointwork:module\/([a-z-]+)@0\.2\.0";/g, 'const $1=__contract["$2"];')
    .replace(/export ?\{(\w+) as handlers,(\w+) as listeners,(\w+) as manifest\};?\s*$/, 'globalThis.__ran={handlers:$1,listeners:$2,manifest:$3};')
    .replace(/export ?\{handlers,listeners,manifest\};?\s*$/, 'globalThis.__ran={handlers,listeners,manifest};');
  const globals = createContext({ __contract: contract, btoa, atob, DOMException });
  // QuickJS has this class. The limits of the engine of the test are others.
  runInContext('globalThis.InternalError = class InternalError extends Error {}; InternalError.prototype.name = "InternalError";', globals);
  runInContext(script, globals, { filename: 'componentize-qjs:user.js' });
  const ran = (globals as { __ran: Ran }).__ran;
  rmSync(folder, { recursive: true });
  const written: string[] = [];
  let hasSent = false;
  const send = (): void => {
    if (hasSent) throw failed('already-replied', 500, 'it was sent');
    hasSent = true;
  };
  const raw = { route: () => '/', param: () => '7', params: () => [], cancelled: () => false, header: () => FORM, openBody: () => [utf8(BODY)], openReply: () => written, send, setExtension: () => undefined, emit: () => undefined, [Symbol.dispose]: () => undefined };
  const handle = (name: string): ReturnType<Ran['handlers']['handle']> => {
    hasSent = false;
    const handler = ran.manifest.describe().controllers[0]?.routes.findIndex((route) => route.name === name) ?? -1;
    return ran.handlers.handle(handler, raw);
  };
  const request = (name: string): string => {
    const outcome = handle(name);
    return outcome.tag === 'deferred' ? written.splice(0).join('') : outcome.tag === 'thrown' ? `${outcome.val.status} ${outcome.val.message}` : String(outcome.val.body.val);
  };
  return { ...ran, crashes, raised, lines, request, handle };
}
