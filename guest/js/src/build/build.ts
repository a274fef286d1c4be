import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { BuildError, bundle, packageFacts, WIT, type BundleOptions } from './bundle.js';
import { check, type Checked } from './check.js';

export interface BuildModuleOptions extends BundleOptions {
  /** The file of the component. */
  out: string;
  /** Replaces what the runtime imports of WASI by traps. Without it, the component needs WASI. */
  stubWasi?: boolean;
  /** The runtime that is smaller and slower. */
  optSize?: boolean;
}

export interface Built {
  /** The size of the component in bytes. */
  size: number;
  /** The sources, for a watcher. */
  inputs: string[];
  warnings: string[];
  routes: Checked['routes'];
  /** What top-level code printed: it runs once, in the build. */
  printed: string[];
}

/** Bundles a module, checks its declarations, and makes the component. */
export async function build(options: BuildModuleOptions): Promise<Built> {
  const made = await bundle(options);
  const { root } = packageFacts(options.entry);
  const checked = check(made, root);
  const { componentize } = await import('componentize-qjs');
  let component: Buffer;
  try {
    ({ component } = await componentize({
      witPath: WIT,
      world: 'module',
      jsSource: made.code,
      sync: true,
      stubWasi: options.stubWasi ?? true,
      optSize: options.optSize ?? false,
    }));
  } catch (error) {
    throw new BuildError(error instanceof Error ? error.message : String(error));
  }
  mkdirSync(dirname(options.out), { recursive: true });
  writeFileSync(options.out, component);
  return { size: component.length, inputs: made.inputs, warnings: [...made.warnings, ...checked.warnings], routes: checked.routes, printed: checked.printed };
}
