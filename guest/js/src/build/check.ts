import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { createContext, runInContext } from 'node:vm';
import type { Declarations } from '../component.js';
import { joinPath } from '../module.js';
import { framesOf, isThrownBySdk, setLineTable, USER_FILE, type LineTable } from '../stack.js';
import { BuildError, type Bundle } from './bundle.js';
import { refusals } from './refusals.js';
import { canReturnNothing, isGenerator } from './returns.js';
import { EXPORTED, forNode, INTERFACES, scriptOf } from './script.js';

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
export function check(bundle: Bundle, root: string, options: { entry: string; longest?: number }): Checked {
  const code = scriptOf(forNode(bundle));
  const globals = createContext(Object.fromEntries(NEEDED.map((name) => [name, (globalThis as Record<string, unknown>)[name]])));
  let found: Declarations;
  const printed: string[] = [];
  Object.assign(globals, { __pointworkPrinted: printed, [INTERFACES]: NO_HOST, [EXPORTED]: undefined });
  try {
    const timeout = options.longest ?? LONGEST;
    // Node would put the line of the bundle, which is as long as a file, before the stack.
    runInContext(code, globals, { filename: USER_FILE, timeout, displayErrors: false });
    // As text: values of the other context have other prototypes.
    const text = runInContext('JSON.stringify(globalThis.__pointworkChecked())', globals, { timeout }) as string;
    found = JSON.parse(text) as Declarations;
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') {
      throw new BuildError(`top-level code still runs after ${(options.longest ?? LONGEST) / 1000} s: look for a loop without an end, outside of handlers or in a constructor`);
    }
    throw new BuildError(...told(error, bundle, relative(root, resolve(options.entry))));
  }
  const { manifest, warnings, problems, guards, places } = found;
  const generators = guards.filter(({ source }) => isGenerator(source));
  const idle = generators.map(({ place, name }) => `${place}the guard \`${name}\` is a generator, whose code never runs, expected a function without \`*\``);
  const refused = [...refusals(manifest, places), ...problems, ...idle];
  if (refused.length > 0) throw new BuildError(...refused);
  const routes = manifest.controllers.flatMap(({ prefix, routes }) =>
    routes.flatMap(({ method, paths }) => (paths.length === 0 ? [''] : paths).map((path) => `${method ?? 'ALL'} ${joinPath(prefix, path)}`)),
  );
  const unsure = guards.filter(({ source }) => canReturnNothing(source));
  const unreturned = unsure.map(({ place, name }) => `${place}the guard \`${name}\` can end without a value, which refuses the request with 403: end it with \`return true\`, or throw`);
  return { routes, printed, warnings: [...warnings, ...unreturned, ...unimported(bundle, root)] };
}

/** The mistakes behind an error of the program, each with its place: its own one, or the innermost place of the error in the sources. */
export function told(error: unknown, { lines }: Bundle, entry: string): readonly string[] {
  setLineTable(lines);
  const { name, message, declarationProblems } = (error ?? {}) as { name?: string; message?: string; declarationProblems?: readonly string[] };
  if (declarationProblems) return declarationProblems;
  const [frame] = framesOf(error);
  const place = frame ? `${frame.file}:${frame.line}` : entry;
  // An error of the SDK is a sentence about the declaration.
  if (isThrownBySdk(error)) return [`${place}: ${message}`];
  return [`${place}: the module threw \`${name === undefined ? String(error) : `${name}: ${message}`}\` while it was built`];
}

/** What the engine says of a program that Node evaluates without an error, such as `Intl`, with its place in the sources. */
export function toldByEngine(text: string, { code }: Bundle): string {
  const found = /^.*\bFailed to [^:]*: (.*)$/m.exec(text)?.[1];
  setLineTable(JSON.parse(code.slice(code.indexOf('=') + 1, code.indexOf(';\n'))) as LineTable);
  const [frame] = framesOf({ stack: text });
  return found !== undefined && frame ? `${frame.file}:${frame.line}: the module threw \`${found}\` while it was built` : text;
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
      const text = readFileSync(path, 'utf8');
      const found = /^[^\S\n]*@(Controller|Channel)\(/m.exec(text);
      if (found) warnings.push(`${relative(root, path)}:${text.slice(0, found.index).split('\n').length}: it has a class with \`@${found[1]}\`, and the module does not import it`);
    }
  }
  return warnings;
}
