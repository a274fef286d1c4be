#!/usr/bin/env node
import { parseArgs } from 'node:util';
import { build } from './build.js';
import { BuildError } from './bundle.js';

const USAGE = 'usage: pointwork-guest-build ENTRY --out FILE [--keep-wasi] [--opt-size] [--json]';

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { out: { type: 'string', short: 'o' }, 'keep-wasi': { type: 'boolean' }, 'opt-size': { type: 'boolean' }, json: { type: 'boolean' } },
  });
  const [entry] = positionals;
  if (positionals.length !== 1 || entry === undefined || values.out === undefined) throw new BuildError(USAGE);
  const built = await build({ entry, out: values.out, stubWasi: !values['keep-wasi'], optSize: values['opt-size'] ?? false });
  if (values.json) {
    console.log(JSON.stringify({ out: values.out, ...built }));
    return;
  }
  for (const line of built.printed) console.error(line);
  for (const warning of built.warnings) console.error(`warning: ${warning}`);
  for (const route of built.routes) console.error(`  ${route}`);
  console.error(`built ${values.out}, ${(built.size / 1e6).toFixed(2)} MB`);
}

try {
  await main();
} catch (error) {
  const text = error instanceof BuildError || (error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS') ? (error as Error).message : ((error as Error).stack ?? String(error));
  console.error(`error: ${text}`);
  process.exitCode = 1;
}
