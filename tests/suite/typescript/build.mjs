// Builds a module of the suite: `node build.mjs SDK ENTRY OUTPUT`. SDK is the folder of a built `@pointwork/guest`.
// The module `src/module.ts` gets its declarations from the program that the suite writes into it.
import { writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const [sdk, entry, out] = process.argv.slice(2).map((path) => resolve(path));
const ofSdk = createRequire(join(sdk, "package.json"));
const { build, bundle, WIT } = await import(pathToFileURL(join(sdk, "dist/build/index.js")));
const { componentize } = await import(pathToFileURL(ofSdk.resolve("componentize-qjs")));

const COMPONENT = join(sdk, "dist/component.js");
const ORIGINAL = "?original";

/** Puts `src/component.ts` and `src/calls.ts` between the SDK and the contract. */
const between = {
    name: "suite",
    setup(build) {
        build.onResolve({ filter: /^suite:component$/ }, () => ({ path: COMPONENT, suffix: ORIGINAL }));
        build.onLoad({ filter: /component\.js$/ }, ({ path, suffix }) =>
            path === COMPONENT && suffix !== ORIGINAL
                ? { contents: `export { component } from ${JSON.stringify(join(here, "src/component.ts"))};`, resolveDir: here }
                : undefined,
        );
        build.onResolve({ filter: /^pointwork:module\/(context|events)-sync@/ }, ({ path, importer }) =>
            importer === COMPONENT ? { path, namespace: "suite" } : undefined,
        );
        build.onLoad({ filter: /.*/, namespace: "suite" }, ({ path }) => {
            const name = path.includes("/context-") ? "context" : "events";
            return { contents: `export { ${name} as default } from ${JSON.stringify(join(here, "src/calls.ts"))};`, resolveDir: here };
        });
    },
};

const alias = { "@pointwork/guest": join(sdk, "dist/index.js") };
if (entry === join(here, "src/module.ts")) {
    const { code } = await bundle({ entry, esbuild: { plugins: [between], alias } });
    const { component } = await componentize({ witPath: WIT, world: "module", jsSource: code, sync: true, stubWasi: true });
    await writeFile(out, component);
} else {
    await build({ entry, out, esbuild: { alias } });
}
