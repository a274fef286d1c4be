/**
 * Names that a client chose, before they become keys of an object or a map.
 *
 * QuickJS finds keys by a hash without a secret, `hash * 263 + code` for each character. A client can choose names of one hash, and every search then
 * compares the name with all of them: a form of 110 KiB with 16,000 such names took four seconds. Names are compared here without hashes.
 */

/** The number of names that may have one hash at little cost. */
export const FEW_NAMES = 256;
/** The most names in one slot of a table that has a slot for each name. Names of usual clients have about ten. */
const MOST_IN_SLOT = 64;

/** Whether so many names share a hash that they must be chosen for it. */
export function areColliding(names: readonly string[]): boolean {
  if (names.length <= FEW_NAMES) return false;
  // Most objects of a list have the same names.
  const some = new Set<string>();
  for (let at = 0; at < names.length && some.size <= FEW_NAMES; at += 1) some.add(names[at] ?? '');
  return some.size > FEW_NAMES && haveFullSlot(distinct(names));
}

function distinct(names: readonly string[]): string[] {
  const found: string[] = [];
  for (const name of [...names].sort()) if (name !== found[found.length - 1]) found.push(name);
  return found;
}

function haveFullSlot(names: readonly string[]): boolean {
  // Not larger, since names that share the slot of a small table may have slots of their own in a large one.
  let mask = FEW_NAMES - 1;
  while (mask < names.length) mask = mask * 2 + 1;
  // The engine begins with 0 for keys of a map, and with 1 for those of an object: the difference is a power of 263.
  const [ofMaps, ofObjects] = [new Uint8Array(mask + 1), new Uint8Array(mask + 1)];
  const powers = [1];
  for (const name of names) {
    let hash = 0;
    for (let at = 0; at < name.length; at += 1) hash = (hash * 263 + name.charCodeAt(at)) & mask;
    for (let length = powers.length; length <= name.length; length += 1) powers.push(((powers[length - 1] ?? 1) * 263) & mask);
    const ofObject = (hash + (powers[name.length] ?? 0)) & mask;
    const [inMap, inObject] = [(ofMaps[hash] ?? 0) + 1, (ofObjects[ofObject] ?? 0) + 1];
    if (inMap > MOST_IN_SLOT || inObject > MOST_IN_SLOT) return true;
    ofMaps[hash] = inMap;
    ofObjects[ofObject] = inObject;
  }
  return false;
}
