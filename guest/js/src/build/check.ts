import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { createContext, runInContext } from 'node:vm';
import type { Manifest } from '../manifest.js';
import { joinPath } from '../module.js';
import { framesOf, setLineTable } from '../stack.js';
import { BuildError, type Bundle } from './bundle.js';

export interface Checked {
  /** `GET /products/:id`. */
  routes: string[];
  warnings: string[];
  /** What top-level code printed. */
  printed: string[];
}

/** What a script cannot have, of a bundle: the interfaces of the contract. */
const EXPORTS = /export ?\{[^}]*\};?\s*$/;
const IMPORTS = /import (\w+) from ?"pointwork:[^"]*";/g;

/** Names that the engine lacks too: what is evaluated here must fail as it does there. */
const NEEDED = ['DOMException', 'btoa', 'atob', 'performance', 'queueMicrotask'];

/**
 * Evaluates the declarations of a bundle, which runs no handler. componentize-qjs does the same, and its errors have neither the sources
 * nor warnings.
 */
export function check(bundle: Bundle, root: string): Checked {
  const code = bundle.code.replace(IMPORTS, (text, name: string) => `const ${name}={};`.padEnd(text.length)).replace(EXPORTS, '');
  const globals = createContext(Object.fromEntries(NEEDED.map((name) => [name, (globalThis as Record<string, unknown>)[name]])));
  let manifest: Manifest;
  let warnings: string[];
  const printed: string[] = [];
  Object.assign(globals, { __pointworkPrinted: printed });
  try {
    runInContext(code, globals, { filename: BUNDLE });
    // As text: values of the other context have other prototypes.
    const text = runInContext('JSON.stringify(globalThis.__pointworkChecked())', globals) as string;
    ({ manifest, warnings } = JSON.parse(text) as { manifest: Manifest; warnings: string[] });
  } catch (error) {
    throw new BuildError(told(error, bundle));
  }
  const routes = manifest.controllers.flatMap(({ prefix, routes }) =>
    routes.flatMap(({ method, paths }) => (paths.length === 0 ? [''] : paths).map((path) => `${method ?? 'ALL'} ${joinPath(prefix, path)}`)),
  );
  return { routes, printed, warnings: [...warnings, ...unimported(bundle, root)] };
}

const BUNDLE = 'componentize-qjs:user.js';

/** The message of an error of the program, with the innermost place in its sources. */
export function told(error: unknown, { lines }: Bundle): string {
  setLineTable(lines);
  const found = error as Error;
  const frame = framesOf(found).find((frame) => !frame.file.startsWith('node:') && frame.file !== BUNDLE);
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
