/** What the build refuses. */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { build } from '@pointwork/guest/build';
import { HEAD, project } from './project.js';

test('what the host would refuse, and what never ends, is told at build', async () => {
  const built = async (source: string, more: Record<string, string> = {}, esbuild = {}): Promise<string> => {
    const folder = project({ 'src/module.ts': HEAD + source, ...more });
    try {
      const { warnings } = await build({ entry: join(folder, 'src/module.ts'), out: join(folder, 'a.wasm'), longest: 200, ...esbuild });
      return warnings.join('\n');
    } catch (error) {
      // `each mistake of a declaration has its file and line` tests the places.
      return String(error).replace('BuildError: ', '').replace(/^src\/module\.ts:\d+: /gm, '');
    } finally {
      rmSync(folder, { recursive: true });
    }
  };
  const route = (decorator: string, method = 'x'): Promise<string> => built(`import { RequestMapping } from '@pointwork/guest';\n@Controller('c/:id') class A { ${decorator} ${method}() {} }\nexport default module({ controllers: [A] });`);
  assert.equal(await route("@Get('e/:b?')"), '`A.x`: the path "e/:b?" is not valid: `:b?` has no valid name, expected ASCII letters, digits, `_` and `-`, the first a letter or `_`');
  assert.equal(await route("@Get('a b')"), '`A.x`: the path "a b" is not valid: ` ` is within `a b`, expected it percent-encoded or not at all');
  assert.equal(await route("@Get(['a', '/x//y/'])"), '`A.x`: the path "/x//y/" is not valid: it has an empty segment, expected text between the slashes');
  assert.equal(await route("@Get('//')"), '`A.x`: the path "//" is not valid: it has an empty segment, expected text between the slashes');
  assert.equal(await route("@Get(':id')"), '`A.x`: the path ":id" is not valid: the name `id` occurs twice');
  assert.equal(await route("@Get('*all/b')"), '`A.x`: the path "*all/b" is not valid: `*all` is followed by another segment, expected the end, since it has the rest of the path');
  assert.match(await route("@Get('a%2')"), /`a%2` has a `%` without two hexadecimal digits after it/);
  assert.match(await route("@Get('%ff')"), /the escapes of `%ff` are no UTF-8/);
  assert.match(await route("@RequestMapping({ method: 'GET IT' })"), /the method "GET IT" is no token of HTTP, such as `GET`/);
  assert.equal(await route('@Get()', "['a\\nb']"), 'the name "a\\nb" of a handler of `A` has a character that cannot be printed');
  assert.equal(await route("@Get(['/', '/a/:b-c/', 'é%20/*rest'])"), '');

  assert.equal(await built("@Channel('d b') class A { @On('x') x() {} }\n@Channel('d') class B { @On('a b') x() {} @On('a:b:') y() {} }\nexport default module({ channels: [A, B] });"),
    'the channel "d b" is not valid, expected a text without `:` and white space, such as `db`\n`d`: the event "a b" is not valid, expected a text without white space, such as `product:all`');

  const injected = (fields: string): Promise<string> => built(`import { inject, env } from '@pointwork/guest';\nclass P { q: unknown = inject(Q); }\nclass Q { p: unknown = inject(P); }
    @Controller() class A { ${fields} @Get() x() {} }\nexport default module({ controllers: [A] });`);
  assert.equal(await injected('p = inject(P);'), '`A` cannot be made: `A` needs `P` needs `Q` needs `P`: a provider cannot need itself');
  assert.equal(await injected("p = inject('prices');"), '`A` cannot be made: no provider has the token `prices`, expected one in `providers` of the module');
  // There are no variables and no random numbers in a build.
  assert.equal(await injected('constructor() { console.log(Math.random()); if (!env.SECRET) throw new Error(); }'), '');

  const ended = /^top-level code still runs after 0\.2 s: look for a loop without an end, outside of handlers or in a constructor$/;
  assert.match(await built('for (;;);\nexport default 1;'), ended);
  assert.match(await built('@Controller() class A { constructor() { for (;;); } @Get() x() {} }\nexport default module({ controllers: [A] });'), ended);
  assert.match(await built("void (async () => { await null; throw new RangeError('lost'); })();\n@Controller() class A { @Get() x() {} }\nexport default module({ controllers: [A] });"), /^the module threw `RangeError: lost` while it was built$/);
  assert.equal(await built('export const a = 1;'), 'src/module.ts: the entry file has no default export, expected `export default module({ controllers: [Products] })`');
  assert.equal(
    await built('@Controller() class A { @Get() x(ctx) { return import(ctx.path); } }\nexport default module({ controllers: [A] });'),
    'src/module.ts:2: `import` of a computed name: the build cannot know the file, and the promise never settles; write the name as a text',
  );

  const commonJs = (code: string): Promise<string> => built(`import tried from './tried.cjs';\n@Controller() class A { @Get() x() { return tried; } }\nexport default module({ controllers: [A] });`, { 'src/tried.cjs': code });
  assert.equal(await commonJs("try { require('os') } catch {}\ntry { require('node:fs') } catch {}\nmodule.exports = 1;"), '');
  assert.match(await commonJs("module.exports = require('os');"), /^src\/tried\.cjs:1: `os` is a part of Node, which a module does not have: call an event/);
  assert.match(await commonJs("module.exports = require('node:crypto');"), /^src\/tried\.cjs:1: `node:crypto` is a part of Node, which a module does not have: use `crypto\.randomUUID`/);
});
