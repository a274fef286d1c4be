// Builds controller.js into a component: `node build.mjs [output]`, after `npm install`.
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { componentize } from "componentize-qjs";

const here = dirname(fileURLToPath(import.meta.url));
const jsPath = join(here, "controller.js");

const { component } = await componentize({
  witPath: join(here, "..", "..", "..", "wit"),
  world: "module",
  jsPath,
  moduleRoot: here,
  jsSource: await readFile(jsPath, "utf8"),
  // A controller imports only Pointwork's own package.
  sync: true,
  stubWasi: true,
});
await writeFile(process.argv[2] ?? join(here, "controller.wasm"), component);
