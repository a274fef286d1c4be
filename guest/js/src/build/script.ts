/** A bundle as a script, which can be evaluated where there are no modules. */

import type { LineTable } from '../stack.js';

const EXPORTS = /export ?\{([^}]*)\};?\s*$/;
const IMPORTS = /import ([\w$]+) from ?"(?:pointwork:module\/)?([a-z:/-]+)@[^"]*";/g;

/** The interfaces of the contract, by the names that the bundle gives them. */
export const INTERFACES = '__pointworkInterfaces';

/** What the bundle exports. */
export const EXPORTED = '__pointworkExported';

/** The bundle for Node: its line table counts columns in units of UTF-16, where that of QuickJS counts bytes. */
export function forNode({ code, lines }: { code: string; lines: LineTable }): string {
  return `globalThis.__pointworkLines=${JSON.stringify(lines)};${code.slice(code.indexOf('\n'))}`;
}

/** The script of a bundle: the globals {@link INTERFACES} and {@link EXPORTED} take the place of imports and exports. No column moves. */
export function scriptOf(code: string): string {
  const imported = (text: string, name: string, from: string): string => `const ${name}=${INTERFACES}["${from}"];`.padEnd(text.length);
  const exported = (_: string, names: string): string => {
    const pairs = names.split(',').map((text) => text.trim().replace(/^([\w$]+) as (\w+)$/, '$2:$1'));
    return `${EXPORTED}={${pairs.join()}};`;
  };
  return `"use strict";${code.replace(IMPORTS, imported).replace(EXPORTS, exported)}`;
}
