import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { EVALUATED } from '../stack.js';
import { BuildError, bundle, packageFacts, WASI, WIT, type Bundle, type BundleOptions } from './bundle.js';
import { check, toldByEngine, type Checked } from './check.js';
import { engine, makeFolder } from './development.js';
import { scriptOf } from './script.js';

export interface BuildModuleOptions extends BundleOptions {
  /** The file of the component. */
  out: string;
  /** Replaces what the runtime imports of WASI by traps. Without it, the component needs WASI. */
  stubWasi?: boolean;
  /** The runtime that is smaller and slower. */
  optSize?: boolean;
}

/** What a build found. */
export interface Found {
  /** The sources, for a watcher. */
  inputs: string[];
  warnings: string[];
  routes: Checked['routes'];
  /** What top-level code printed: it runs once, in the build. */
  printed: string[];
  /** The interfaces of WASI that the module imports. The host grants them; `pointwork build` answers the engine's own ones. */
  wasi: string[];
}

export interface Built extends Found {
  /** The size of the component in bytes. */
  size: number;
}

/** A module for `pointwork dev`. */
export interface Developed extends Found {
  /** The file of a component without a program, or of the whole component. */
  engine: string;
  /** The program, which each instance evaluates. */
  program?: string;
}

/** Bundles a module, checks its declarations, and makes the component. */
export async function build(options: BuildModuleOptions): Promise<Built> {
  const { made, found } = await checked(options);
  const component = await componentizedProgram(made, options.stubWasi ?? true, options.optSize ?? false);
  write(options.out, component);
  return { size: component.length, ...found };
}

/**
 * Bundles a module and checks its declarations. The engine in `folder` is made once, so that a change takes a tenth of the time of
 * {@link build}, and the host need not compile it again. A module that imports WASI is built whole: the engine has no such imports.
 */
export async function develop(options: BundleOptions & { folder: string }): Promise<Developed> {
  const { made, found } = await checked(options);
  if (found.wasi.length > 0) {
    const whole = join(options.folder, `whole-${createHash('sha256').update(options.entry).digest('hex').slice(0, 8)}.wasm`);
    write(whole, await componentizedProgram(made, true, false));
    return { engine: whole, ...found };
  }
  const file = await engine(options.folder, (source) => componentized(source, [], true, false));
  return { engine: file, program: scriptOf(`globalThis.__pointworkBundle=${JSON.stringify(EVALUATED)};${made.code}`), ...found };
}

async function checked(options: BundleOptions): Promise<{ made: Bundle; found: Found }> {
  const made = await bundle(options);
  const { root } = packageFacts(options.entry);
  const { routes, printed, warnings } = check(made, root, options);
  return { made, found: { inputs: made.inputs, warnings: [...made.warnings, ...warnings], routes, printed, wasi: made.wasi } };
}

function write(file: string, component: Buffer): void {
  try {
    makeFolder(dirname(file));
    writeFileSync(file, component);
  } catch (error) {
    throw new BuildError(`the component cannot be written: ${(error as Error).message}`);
  }
}

async function componentizedProgram(made: Bundle, stubWasi: boolean, optSize: boolean): Promise<Buffer> {
  try {
    return await componentized(made.code, made.wasi, stubWasi, optSize);
  } catch (error) {
    throw new BuildError(toldByEngine((error as Error).message, made));
  }
}

/** Stubs would take the place of the imports of the program too, so that one with such imports keeps those of the engine. */
async function componentized(jsSource: string, wasi: readonly string[], stubWasi: boolean, optSize: boolean): Promise<Buffer> {
  const { componentize } = await import('componentize-qjs');
  const witPath = mkdtempSync(join(tmpdir(), 'pointwork-wit-'));
  try {
    cpSync(WIT, witPath, { recursive: true });
    if (wasi.length > 0) cpSync(WASI, join(witPath, 'deps'), { recursive: true });
    const imports = wasi.map((name) => `import ${name};`).join(' ');
    writeFileSync(join(witPath, 'program.wit'), `package pointwork:module@0.2.0; world program { include module; ${imports} }`);
    const { component } = await componentize({ witPath, world: 'program', jsSource, sync: true, stubWasi: stubWasi && wasi.length === 0, optSize });
    return component;
  } catch (error) {
    throw new BuildError(error instanceof Error ? error.message : String(error));
  } finally {
    rmSync(witPath, { recursive: true });
  }
}
