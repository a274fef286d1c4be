import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { SDK_VERSION } from '../manifest.js';
import { WIT } from './bundle.js';
import { EXPORTED, INTERFACES } from './script.js';

/** The variable in which the host gives a component of {@link BOOTSTRAP} its program. */
const PROGRAM = '=program';

const NAMES = ['context', 'context-sync', 'environment', 'events-sync', 'log'];

/** A component without a program: each instance evaluates the one that the host gives it. */
const BOOTSTRAP = `
${NAMES.map((name, at) => `import i${at} from 'pointwork:module/${name}@0.2.0';`).join('\n')}
const [environment, log] = [i2, i4];
let program;
function load() {
  if (program) return program;
  try {
    const given = environment.variables().find(({ name }) => name === '${PROGRAM}');
    if (!given) throw new Error('the component has no program: \`pointwork dev\` made it for itself, expected one of \`pointwork build\`');
    const variables = () => environment.variables().filter(({ name }) => name !== '${PROGRAM}');
    globalThis.${INTERFACES} = { ${NAMES.map((name, at) => `'${name}': i${at}`).join(', ')}, environment: { ...environment, variables } };
    globalThis.${EXPORTED} = undefined;
    (0, eval)(given.value);
    program = globalThis.${EXPORTED};
    return program;
  } catch (error) {
    log.panicked({ message: String(error?.message), exception: error?.name ?? null, stack: [] });
    throw error;
  }
}
export const manifest = { describe: () => load().manifest.describe() };
export const handlers = { handle: (handler, context) => load().handlers.handle(handler, context) };
export const listeners = { deliver: (listener, delivery, payload) => load().listeners.deliver(listener, delivery, payload) };
`;

/** Makes a folder. `recursive` of Node never ends where the system makes none, as below `/proc`. */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(resolve(folder)));
  try {
    mkdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** The file of the component without a program in a folder, made if it is not there. One of another version or contract is removed. */
export async function engine(folder: string, make: (jsSource: string) => Promise<Buffer>): Promise<string> {
  const hash = createHash('sha256').update(BOOTSTRAP);
  for (const file of readdirSync(WIT).sort()) hash.update(readFileSync(join(WIT, file)));
  const digest = hash.digest('hex').slice(0, 8);
  const name = `engine-${SDK_VERSION}-${digest}.wasm`;
  const file = join(folder, name);
  if (existsSync(file)) return file;
  makeFolder(folder);
  for (const other of readdirSync(folder)) {
    if (/^engine-.*\.wasm$/.test(other)) rmSync(join(folder, other));
  }
  // Renamed into place, so that the file is whole.
  const fresh = join(folder, `.${name}-${process.pid}`);
  writeFileSync(fresh, await make(BOOTSTRAP));
  renameSync(fresh, file);
  return file;
}
