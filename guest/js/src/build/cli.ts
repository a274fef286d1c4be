#!/usr/bin/env node
import { parseArgs } from 'node:util';
import { build, develop } from './build.js';
import { BuildError } from './bundle.js';

const USAGE = 'usage: pointwork-guest-build ENTRY (--out FILE [--keep-wasi] [--opt-size] | --engine FOLDER) [--json]';

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      out: { type: 'string', short: 'o' },
      engine: { type: 'string' },
      'keep-wasi': { type: 'boolean' },
      'opt-size': { type: 'boolean' },
      json: { type: 'boolean' },
    },
  });
  const [entry] = positionals;
  const { out, engine, json } = values;
  if (positionals.length !== 1 || entry === undefined || (out === undefined) === (engine === undefined)) throw new BuildError(USAGE);
  const built =
    out === undefined
      ? await develop({ entry, folder: engine as string })
      : { out, ...(await build({ entry, out, stubWasi: !values['keep-wasi'], optSize: values['opt-size'] ?? false })) };
  for (const line of built.printed) console.error(line);
  for (const warning of built.warnings) console.error(`warning: ${warning}`);
  if (json) console.log(JSON.stringify(built));
  else for (const route of built.routes) console.error(`  ${route}`);
  if (!json && 'size' in built) console.error(`built ${built.out}, ${(built.size / 1e6).toFixed(2)} MB`);
}

try {
  await main();
} catch (error) {
  const isOfArguments = (error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS');
  const problems = error instanceof BuildError ? error.problems : [isOfArguments ? (error as Error).message : ((error as Error).stack ?? String(error))];
  for (const problem of problems) console.error(`error: ${problem}`);
  process.exitCode = 1;
}
