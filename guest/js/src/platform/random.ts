import { host } from '../host.js';
import { inCall } from './call-state.js';

function bits(what: string): number {
  if (!inCall()) {
    throw new Error(`\`${what}\` is called when the module is built, so that each instance would have the same value, expected a call within a handler or a listener`);
  }
  return host.random();
}

// The generator xoshiro128**, whose state is from the host's cryptographic one: a call of the host for each number costs more.
let state: [number, number, number, number] | undefined;

function random32(): number {
  state ??= [bits('Math.random'), bits('Math.random'), bits('Math.random'), bits('Math.random') | 1];
  if (!inCall()) bits('Math.random');
  const words = state;
  const product = Math.imul(words[1], 5);
  const result = Math.imul((product << 7) | (product >>> 25), 9);
  const shifted = words[1] << 9;
  words[2] ^= words[0];
  words[3] ^= words[1];
  words[1] ^= words[2];
  words[0] ^= words[3];
  words[2] ^= shifted;
  words[3] = (words[3] << 11) | (words[3] >>> 21);
  return result >>> 0;
}

function random(): number {
  return ((random32() >>> 5) * 0x4000000 + (random32() >>> 6)) / 0x20000000000000;
}

const MOST = 65536;

function getRandomValues<T extends ArrayBufferView>(array: T): T {
  if (array.byteLength > MOST) throw new RangeError(`\`crypto.getRandomValues\` of ${array.byteLength} bytes, expected ${MOST} at most`);
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  for (let at = 0; at < bytes.length; at += 4) {
    const word = bits('crypto.getRandomValues');
    for (let by = 0; by < 4 && at + by < bytes.length; by += 1) bytes[at + by] = word >>> (8 * by);
  }
  return array;
}

function randomUUID(): string {
  const bytes = getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

export function installRandom(): void {
  Math.random = random;
  Object.assign(globalThis, { crypto: { getRandomValues, randomUUID } });
}
