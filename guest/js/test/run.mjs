// Compiles the tests, those of types without output, and runs them.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

function run(command, ...args) {
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

const tsc = fileURLToPath(new URL('../node_modules/typescript/bin/tsc', import.meta.url));
const projects = ['test', 'test/legacy', 'test/types'];
// The suite's modules, which its own build does not check.
const suite = '../../tests/suite/typescript';
if (existsSync(new URL(`../${suite}`, import.meta.url))) projects.push(suite);
for (const project of projects) run(process.execPath, tsc, '-p', `${project}/tsconfig.json`);
const files = ['.build/test', '.build/legacy'].flatMap((folder) =>
  readdirSync(new URL(`../${folder}/`, import.meta.url))
    .filter((name) => name.endsWith('.test.js'))
    .map((name) => `${folder}/${name}`),
);
run(process.execPath, '--test', ...files);
