/** Places of faults in JSON, in QuickJS: the place that its error has, and the words of the scan, which needs no engine. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { build } from 'esbuild';
import { evaluate } from './engine.js';
import { root } from './project.js';

const options = { bundle: true, format: 'iife', globalName: 'json', write: false } as const;
const { outputFiles } = await build({ ...options, entryPoints: [join(root, 'dist/json-text.js')] });
const JSON_TEXT = outputFiles[0]?.text ?? '';

/** Both faults of texts: by the error of `JSON.parse`, and by the scan. */
const COMPARE = `
const told = { texts: 0, withoutPlace: 0, others: [] };
function compare(text) {
  try {
    JSON.parse(text);
  } catch (error) {
    told.texts += 1;
    if (!/^\\s*at <input>:\\d+:\\d+\\n/.test(error.stack)) told.withoutPlace += 1;
    const [byError, byScan] = [json.jsonFault(text, error), json.jsonFault(text)].map((fault) => JSON.stringify(fault));
    if (byError !== byScan) told.others.push([text.slice(0, 100), byError, byScan]);
  }
}`;

test('the place of a fault is the one that a scan of the whole text finds', async () => {
  const changed = `
    const texts = ['{"a":[1,2.5e-3,true,false,null,"x\\\\n\\\\u00e9\\\\\\\\"],"é😀":{"b":{}, "c":[]}}', '[[[1]],[],{"a":{}},"",-0,-1.5E+10]', '{ "name" : "Größe €",\\n  "tags": [ "a" , "b" ],\\r\\n\\t"日本": "\\\\"quoted\\\\"" }\\n', '[\\r1,\\r\\n2]', ' "text" '];
    const pieces = ['', '"', '\\\\', ',', ':', '[', ']', '{', '}', '0', '1', '-', '.', 'e', 'é', '😀', '\\n', '\\r', ' ', 'x', 'true', 'nul', '\\u0001', '\\u00a0', '\\ufeff', '\\\\u12', '\\\\x', "'", '//a', '\\0', '\\u2028', '\\f', '1.', '+1', '01'];
    for (const text of texts) for (let at = 0; at <= text.length; at += 1) {
      compare(text.slice(0, at).toWellFormed());
      for (const piece of pieces) for (const removed of [0, 1]) compare((text.slice(0, at) + piece + text.slice(at + removed)).toWellFormed());
    }`;
  const { texts, ...others } = (await evaluate(`${JSON_TEXT}${COMPARE}${changed}`, 'told')) as { texts: number };
  assert.deepEqual(others, { withoutPlace: 0, others: [] });
  assert.ok(texts > 9_000, String(texts));
});

test('the place of a fault behind a long text is found without a scan', async () => {
  const long = `
    const many = (text) => text.repeat(Math.ceil(100_000 / text.length));
    for (const text of ['1,', '"é😀",', '[[1]],', '{"a":"日本"},\\n', '\\r\\n1,', '\\r1,', ' ', '"a\\\\n",', '"a",\\n\\n']) {
      for (const end of ['', 'x', '"a', '1 "a', '"a\\\\x"', '01', '{"a"', '{"a":1,}', '1] 2']) compare('[' + many(text) + end);
      compare(many(' ') + '{"a":' + many(' ') + text);
    }
    const error = { message: 'of no engine', stack: '    at <input>:1:4\\n' };
    const misled = json.jsonFault('[1,2,x]', error);
    const unknown = json.jsonFault('[1,2,x]', { message: 'of another engine', stack: 'Error' });`;
  const { told, misled, unknown } = (await evaluate(`${JSON_TEXT}${COMPARE}${long}`, '{ told, misled, unknown }')) as Record<string, { index?: number }>;
  assert.deepEqual(told, { texts: 90, withoutPlace: 0, others: [] });
  // The place of the error is taken as it is; without one the text is scanned.
  assert.deepEqual([misled?.index, unknown?.index], [4, 5]);
});
