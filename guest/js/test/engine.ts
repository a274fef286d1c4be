/** Modules in QuickJS, without a host: componentize-qjs evaluates a program when it makes a component, and its error has what the program threw. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { componentize } from 'componentize-qjs';
import { bundle, type BundleOptions } from '@pointwork/guest/build';
import { HEAD, project, type Ran } from './project.js';

const { scriptOf } = (await import(new URL('../../dist/build/script.js', import.meta.url).href)) as { scriptOf(code: string): string };

const RESULT = 'RESULT:';

/** The value of an expression in QuickJS, behind a program. Values pass as JSON, in ASCII. */
export async function evaluate(program: string, expression: string): Promise<unknown> {
  const witPath = mkdtempSync(join(tmpdir(), 'pointwork-engine-'));
  writeFileSync(join(witPath, 'program.wit'), 'package test:program; world program { export run: func(); }');
  const jsSource = `${program}\nthrow new Error('${RESULT}' + encodeURIComponent(JSON.stringify(${expression})));`;
  try {
    await componentize({ witPath, world: 'program', jsSource, sync: true, stubWasi: true });
  } catch (error) {
    const found = /RESULT:(\S*)/.exec(String((error as Error).message))?.[1];
    if (found === undefined) throw error;
    return JSON.parse(decodeURIComponent(found));
  } finally {
    rmSync(witPath, { recursive: true });
  }
  throw new Error('the program was not evaluated');
}

/** What the program has in place of the contract: reports of exceptions are kept. */
const CONTRACT = `globalThis.__reports=[];globalThis.__pointworkExported=undefined;globalThis.__pointworkInterfaces={context:{},'context-sync':{call:(_,event)=>({tag:'json',val:JSON.stringify(event)})},\
environment:{now:()=>({seconds:1,nanoseconds:0}),monotonic:()=>({seconds:2,nanoseconds:0}),random:()=>-5,variables:()=>[]},'events-sync':{},\
log:{write:()=>undefined,panicked:(report)=>__reports.push(report),raised:(report)=>__reports.push(report)}};`;

/**
 * Calls each of the handlers of the first controller by its name, and listeners by their numbers; returns the reports of exceptions. The program is
 * a module as in a component, or a text that is evaluated as in `pointwork dev`.
 */
export async function reportsOf(files: Record<string, string>, calls: readonly (string | number)[], { isEvaluated = false, ...options }: Omit<BundleOptions, 'entry'> & { isEvaluated?: boolean } = {}): Promise<Ran['raised']> {
  const folder = project({ ...files, 'src/module.ts': HEAD + files['src/module.ts'] });
  const { code } = await bundle({ entry: join(folder, 'src/module.ts'), ...options });
  rmSync(folder, { recursive: true });
  const run = `(() => {
    const { manifest, handlers, listeners } = globalThis.__pointworkExported;
    const raw = { route: () => '/', cancelled: () => false, header: () => null, emit: () => undefined, [Symbol.dispose]: () => undefined };
    const names = manifest.describe().controllers[0].routes.map(({ name }) => name);
    for (const call of ${JSON.stringify(calls)}) {
      try {
        if (typeof call === 'number') listeners.deliver(call, {}, { tag: 'json', val: '1' });
        else handlers.handle(names.indexOf(call), raw);
      } catch (error) {}
      if (__reports.length < 1) __reports.push({ message: 'none', stack: [] });
      (globalThis.__all ??= []).push(__reports.splice(0)[0]);
    }
    return __all;
  })()`;
  // As `develop` makes it.
  const program = isEvaluated ? `(0,eval)(${JSON.stringify(scriptOf(`globalThis.__pointworkBundle='<input>';${code}`))});` : scriptOf(code);
  return (await evaluate(CONTRACT + program, run)) as Ran['raised'];
}
