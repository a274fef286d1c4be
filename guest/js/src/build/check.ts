import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { createContext, runInContext } from 'node:vm';
import type { Declarations } from '../component.js';
import { joinPath } from '../module.js';
import { framesOf, setLineTable, USER_FILE } from '../stack.js';
import { BuildError, type Bundle } from './bundle.js';
import { refusals } from './refusals.js';
import { canReturnNothing } from './returns.js';
import { EXPORTED, INTERFACES, scriptOf } from './script.js';

export interface Checked {
  /** `GET /products/:id`. */
  routes: string[];
  warnings: string[];
  /** What top-level code printed. */
  printed: string[];
}

/** No handler runs, so that nothing of the contract is called. */
const NO_HOST = new Proxy({}, { get: () => ({}) });

/** The longest that top-level code may run, in milliseconds. It takes longer in the engine, and a loop without an end never ends. */
const LONGEST = 10_000;

/** Names that the engine lacks too: what is evaluated here must fail as it does there. */
const NEEDED = ['DOMException', 'btoa', 'atob', 'performance', 'queueMicrotask'];

/**
 * Evaluates the declarations of a bundle, which runs no handler. componentize-qjs does the same, and its errors have neither the sources
 * nor warnings.
 */
export function check(bundle: Bundle, root: string, options: { longest?: number } = {}): Checked {
  const code = scriptOf(bundle.code);
  const globals = createContext(Object.fromEntries(NEEDED.map((name) => [name, (globalThis as Record<string, unknown>)[name]])));
  let found: Declarations;
  const printed: string[] = [];
  Object.assign(globals, { __pointworkPrinted: printed, [INTERFACES]: NO_HOST, [EXPORTED]: undefined });
  try {
    const timeout = options.longest ?? LONGEST;
    runInContext(code, globals, { filename: USER_FILE, timeout });
    // As text: values of the other context have other prototypes.
    const text = runInContext('JSON.stringify(globalThis.__pointworkChecked())', globals, { timeout }) as string;
    found = JSON.parse(text) as Declarations;
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') {
      throw new BuildError(`top-level code still runs after ${(options.longest ?? LONGEST) / 1000} s: look for a loop without an end, outside of handlers or in a constructor`);
    }
    throw new BuildError(told(error, bundle));
  }
  const { manifest, warnings, problems, guards } = found;
  const refused = [...refusals(manifest), ...problems];
  if (refused.length > 0) throw new BuildError(refused.join('\n'));
  const routes = manifest.controllers.flatMap(({ prefix, routes }) =>
    routes.flatMap(({ method, paths }) => (paths.length === 0 ? [''] : paths).map((path) => `${method ?? 'ALL'} ${joinPath(prefix, path)}`)),
  );
  const unsure = guards.filter(({ source }) => canReturnNothing(source));
  const unreturned = unsure.map(({ name }) => `the guard \`${name}\` can end without a value, which refuses the request with 403: end it with \`return true\`, or throw`);
  return { routes, printed, warnings: [...warnings, ...unreturned, ...unimported(bundle, root)] };
}

/** The message of an error of the program, with the innermost place in its sources. */
export function told(error: unknown, { lines }: Bundle): string {
  setLineTable(lines);
  const found = error as Error;
  const [frame] = framesOf(found);
  const kind = found.name === undefined || found.name === 'TypeError' || found.name === 'Error' ? '' : `${found.name}: `;
  return `${frame ? `${frame.file}:${frame.line}: ` : ''}${kind}${found.message ?? String(error)}`;
}

const SOURCE = /\.[cm]?[jt]sx?$/;
const NO_SOURCE = /\.(test|spec|d)\.[cm]?[jt]sx?$/;

/** Files beside those of the bundle that declare a controller or a channel: nothing imports them. */
function unimported({ inputs }: Bundle, root: string): string[] {
  const folders = new Set(inputs.filter((path) => !path.includes('node_modules') && path.startsWith(root)).map(dirname));
  const warnings: string[] = [];
  for (const folder of folders) {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (!entry.isFile() || !SOURCE.test(path) || NO_SOURCE.test(path) || inputs.includes(path)) continue;
      const found = /^\s*@(Controller|Channel)\(/m.exec(readFileSync(path, 'utf8'));
      if (found) warnings.push(`${relative(root, path)}: it has a class with \`@${found[1]}\`, and the module does not import it`);
    }
  }
  return warnings;
}
