/** Projects for the tests of builds and components. */
import { mkdtempSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** A project with these sources; its package is the SDK itself. */
export function project(files: Record<string, string>): string {
  mkdirSync(join(root, '.build/projects'), { recursive: true });
  const folder = mkdtempSync(join(root, '.build/projects/p-'));
  mkdirSync(join(folder, 'node_modules/@pointwork'), { recursive: true });
  symlinkSync(root, join(folder, 'node_modules/@pointwork/guest'), 'dir');
  for (const [name, text] of Object.entries({ 'package.json': '{"name":"@acme/shop","version":"1.2.3","description":"a shop"}', ...files })) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

export const HEAD = `import { Channel, Controller, Get, On, module } from '@pointwork/guest';\n`;

/** What a bundle exports, and what a test sees of it. */
export interface Ran {
  manifest: { describe(): { name: string; controllers: { routes: { name: string }[] }[] } };
  handlers: { handle(handler: number, context: object): { tag: string; val: { status: number; message: string; body: { tag: string; val: string } } } };
  listeners: { deliver(listener: number, delivery: object, payload: { tag: 'json'; val: string }): { tag: string; val: string } };
  /** What traps the instance. */
  crashes: { message: string; exception: string | null; stack: { function: string; file: string; line: number }[] }[];
  /** Exceptions that end a call. */
  raised: Ran['crashes'];
  lines: string[];
  request(name: string): string;
  handle(name: string): ReturnType<Ran['handlers']['handle']>;
}
