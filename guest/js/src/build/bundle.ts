import { existsSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { build as EsbuildBuild, BuildOptions, BuildResult, Message, Metafile, Plugin } from 'esbuild';
import type { PackageFacts } from '../manifest.js';
import type { LineTable } from '../stack.js';
import { inBytes, lineTable, placesOf } from './lines.js';
import { withMarks } from './marks.js';

const HERE = dirname(fileURLToPath(import.meta.url));
const DIST = resolve(HERE, '..');

/** The folder of the contract, for componentize-qjs. The build of the SDK copies it, because npm packs no symbolic link. */
export const WIT = resolve(DIST, 'wit');

/** The interfaces of WASI that the SDK uses. */
export const WASI = resolve(DIST, '../wasi');

export interface BundleOptions {
  /** The file whose default export is the module. */
  entry: string;
  /** How long top-level code may run in the build, in milliseconds; 10 seconds without it. */
  longest?: number;
  /** Further options of esbuild, such as `loader`, `define` and `plugins`. */
  esbuild?: BuildOptions;
}

export interface Bundle {
  code: string;
  /** The lines by columns of Node. */
  lines: LineTable;
  /** The files of the bundle, for a watcher. */
  inputs: string[];
  /** The interfaces of WASI that the module imports. The host grants them. */
  wasi: string[];
  warnings: string[];
}

const BUILTINS = new Set(builtinModules);

/** The name of the code that makes a component of a module. */
const ENTRY = 'pointwork:entry';

const INSTEAD: Record<string, string> = {
  buffer: 'use `Uint8Array`, `TextEncoder` and `atob`',
  crypto: 'use `crypto.randomUUID` and `crypto.getRandomValues`, or a package such as `@noble/hashes`',
  url: 'use `URL`, which needs no import',
  util: 'use the functions of the platform',
  events: 'use a package such as `eventemitter3`',
  path: 'use a package such as `path-browserify`',
  timers: 'use `setTimeout(f, 0)`',
};

function noBuiltin(path: string): string {
  const name = path.replace(/^node:/, '').split('/')[0] ?? '';
  const instead = INSTEAD[name] ?? 'call an event, whose listener in the host, or in a module with grants, has it';
  return `\`${path}\` is a part of Node, which a module does not have: ${instead}`;
}

/** Names the import of a module of Node, with its place and what to use instead. */
const refuseBuiltins: Plugin = {
  name: 'pointwork-builtins',
  setup(build) {
    build.onResolve({ filter: /^(node:)?[a-z_]+(\/[a-z_]+)?$/ }, ({ path, kind }) => {
      const name = path.replace(/^node:/, '');
      // A `require` in `try` may fail; esbuild knows which ones are.
      if (kind === 'entry-point' || kind.startsWith('require') || !BUILTINS.has(name)) return undefined;
      // A package of the same name, such as `buffer` or `events`, is meant if it is installed.
      if (!path.startsWith('node:') && existsSync(join(process.cwd(), 'node_modules', name, 'package.json'))) return undefined;
      return { errors: [{ text: noBuiltin(path) }] };
    });
  },
};

/** Names the import of an interface of WASI: `wasi` has only what the SDK uses. */
const refuseWasi: Plugin = {
  name: 'pointwork-wasi',
  setup(build) {
    build.onResolve({ filter: /^wasi:/ }, ({ path, resolveDir }) => {
      if (resolveDir === join(DIST, 'wasi')) return { path, external: true };
      return { errors: [{ text: `\`${path}\` is an interface of WASI: import \`@pointwork/guest/files\` or \`@pointwork/guest/clock\`, or call an event` }] };
    });
  },
};

/** The parts of the SDK that the entry imports, wherever the package manager put the SDK. */
const ofSdk: Plugin = {
  name: 'pointwork-sdk',
  setup(build) {
    build.onResolve({ filter: /^pointwork-sdk:/ }, ({ path }) => ({ path: join(DIST, path.slice('pointwork-sdk:'.length)) }));
  },
};

/** Globals that QuickJS lacks, by the files that have them. They are large, and bundled only into programs that use them. */
const LARGE: Record<string, readonly string[]> = {
  url: ['URL'],
  streams: ['ReadableStream', 'WritableStream', 'TransformStream', 'ByteLengthQueuingStrategy', 'CountQueuingStrategy'],
  clone: ['structuredClone'],
};

const MARK = '__pointwork_global_';

/** Replaces the names of large globals by marks, so that the bundle tells which of them it uses. */
function marks(): Record<string, string> {
  const names = Object.values(LARGE).flat();
  return Object.fromEntries(names.flatMap((name) => [[name, MARK + name], [`globalThis.${name}`, MARK + name]]));
}

/** The options that bring the large globals of a bundle with marks. */
function largeGlobals(code: string): BuildOptions | undefined {
  const files = Object.keys(LARGE).filter((file) => LARGE[file]?.some((name) => code.includes(MARK + name)));
  if (files.length === 0) return undefined;
  const names = files.flatMap((file) => LARGE[file] ?? []);
  return {
    inject: files.map((file) => join(DIST, 'globals', `${file}.js`)),
    define: Object.fromEntries(names.map((name) => [`globalThis.${name}`, name])),
  };
}

/** The options with which a bundle for QuickJS is made, without the entry. */
export function bundleOptions(): BuildOptions {
  return {
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['pointwork', 'module', 'import'],
    target: 'es2022',
    // Promises of the engine never settle there: these become generators over the `Promise` of the SDK.
    supported: { 'async-await': false, 'async-generator': false, 'for-await': false, 'top-level-await': false },
    external: ['pointwork:*'],
    define: { 'process.env.NODE_ENV': '"production"' },
    charset: 'utf8',
    // Names stay, for the functions in stacks. QuickJS keeps the text of each function, so white space has a price.
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    logLevel: 'silent',
    logOverride: { 'unsupported-dynamic-import': 'warning' },
    metafile: true,
    write: false,
  };
}

/** The facts of the package to which a file belongs. */
export function packageFacts(file: string): PackageFacts & { root: string } {
  for (let folder = dirname(resolve(file)); ; folder = dirname(folder)) {
    const path = join(folder, 'package.json');
    if (existsSync(path)) {
      const { name, version, description } = JSON.parse(readFileSync(path, 'utf8')) as PackageFacts;
      return { root: folder, ...(name && { name }), ...(version && { version }), ...(description && { description }) };
    }
    if (folder === dirname(folder)) return { root: dirname(resolve(file)) };
  }
}

/** Bundles a module for componentize-qjs. Messages of esbuild are in the error. */
export async function bundle(options: BundleOptions): Promise<Bundle> {
  const esbuild = await import('esbuild');
  const entry = resolve(options.entry);
  const { root, ...facts } = packageFacts(entry);
  const contents = [
    `import 'pointwork-sdk:platform/install.js';`,
    `import { component } from 'pointwork-sdk:component.js';`,
    `import module from ${JSON.stringify(entry)};`,
    `export const { manifest, handlers, listeners } = component(module, ${JSON.stringify(facts)});`,
  ].join('\n');
  const run = (globals: BuildOptions): Promise<Output> => runEsbuild(esbuild.build, root, contents, options.esbuild ?? {}, globals);
  let result = await run({ define: marks() });
  const large = largeGlobals(textOf(result, '.js'));
  if (large) result = await run(large);
  const inputs = inputsOf(result.metafile, root);
  const { files, places } = placesOf(textOf(result, '.js.map'), root, DIST, ENTRY);
  const marked = withMarks(withHelpers(textOf(result, '.js')), places);
  const table = lineTable(files, inBytes(marked.code, marked.places));
  // A line of its own, so that no column moves.
  const code = `globalThis.__pointworkLines=${JSON.stringify(table)};\n${marked.code}`;
  return { code, lines: lineTable(files, marked.places), inputs, wasi: wasiOf(result.metafile), warnings: result.warnings.map(described) };
}

/**
 * Helpers of esbuild, and what takes their place: its `__async` makes four functions and two promises for each call, and its
 * `__asyncGenerator` loses what follows an `await` in a `finally`. They stand before the code that makes ours, so that `__async` becomes
 * ours when it is called first.
 */
const HELPERS: readonly (readonly [RegExp, string])[] = [
  [/(?<=[\s,])__async=\(__this,__arguments,generator\)=>/, '__async=(self,args,make)=>(__async=__pointworkAsync)(self,args,make)'],
  [/(?<=[\s,])__asyncGenerator=\(__this,__arguments,generator\)=>/, '__asyncGenerator=(self,args,make)=>__pointworkAsyncGenerator(self,args,make,__await)'],
  [/(?<=[\s,])__yieldStar=value=>/, '__yieldStar=of=>__pointworkYieldStar(of,__await)'],
];

function withHelpers(code: string): string {
  return HELPERS.reduce((code, [head, instead]) => {
    const start = code.search(head);
    if (start < 0) return code;
    let [end, depth] = [start, 0];
    for (; end < code.length && (depth > 0 || !',;'.includes(code[end] ?? '')); end += 1) {
      if ('([{'.includes(code[end] ?? '')) depth += 1;
      if (')]}'.includes(code[end] ?? '')) depth -= 1;
    }
    // The columns of what follows stay.
    return code.slice(0, start) + instead.padEnd(end - start) + code.slice(end);
  }, code);
}

type Output = BuildResult<{ write: false; metafile: true }>;

function textOf(result: Output, end: string): string {
  return result.outputFiles.find(({ path }) => path.endsWith(end))?.text ?? '';
}

async function runEsbuild(build: typeof EsbuildBuild, root: string, contents: string, more: BuildOptions, globals: BuildOptions): Promise<Output> {
  const base = bundleOptions();
  try {
    return (await build({
      ...base,
      ...more,
      define: { ...base.define, ...globals.define, ...more.define },
      inject: [...(globals.inject ?? []), ...(more.inject ?? [])],
      plugins: [ofSdk, refuseBuiltins, refuseWasi, ...(more.plugins ?? [])],
      absWorkingDir: root,
      stdin: { contents, resolveDir: root, sourcefile: ENTRY, loader: 'js' },
      sourcemap: 'external',
      outfile: join(root, 'module.js'),
      write: false,
      metafile: true,
    })) as Output;
  } catch (error) {
    const messages = (error as { errors?: Message[] }).errors;
    if (!messages) throw error;
    throw new BuildError(...messages.map(described));
  }
}

/** What is wrong with a project, in words for its author. */
export class BuildError extends Error {
  override name = 'BuildError';
  /** Each mistake with its place. The message has all. */
  readonly problems: readonly string[];

  constructor(...problems: string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

function described({ id, text, location, notes }: Message): string {
  const place = location ? `${location.file}:${location.line}: ` : '';
  const entry = location?.file === ENTRY ? /^No matching export in "(.*)" for import "default"/.exec(text)?.[1] : undefined;
  if (entry !== undefined) return `${entry}: the entry file has no default export, expected \`export default module({ controllers: [Products] })\``;
  const missing = /^Could not resolve "(.*)"/.exec(text)?.[1];
  if (missing !== undefined && BUILTINS.has(missing.replace(/^node:/, ''))) return `${place}${noBuiltin(missing)}`;
  const isComputed = id === 'unsupported-dynamic-import';
  if (isComputed) return `${place}\`import\` of a computed name: the build cannot know the file, and the promise never settles; write the name as a text`;
  const note = notes.map(({ text }) => `\n  ${text}`).join('');
  if (/Top-level await is not available/.test(text)) return `${place}\`await\` in top-level code does not work in a module: await within a handler`;
  return `${place}${text}${note}`;
}

function wasiOf({ outputs }: Metafile): string[] {
  const imports = Object.values(outputs).flatMap(({ imports }) => imports.map(({ path }) => path));
  return [...new Set(imports)].filter((path) => path.startsWith('wasi:')).sort();
}

function inputsOf(metafile: Metafile, root: string): string[] {
  const files = Object.keys(metafile.inputs).filter((path) => !path.startsWith('pointwork:') && !path.startsWith('<'));
  return files.map((path) => resolve(root, path)).filter((path) => !relative(DIST, path) || relative(DIST, path).startsWith('..'));
}
