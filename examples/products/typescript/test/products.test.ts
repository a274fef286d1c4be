import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HttpException } from '@pointwork/guest';
import { testApp } from '@pointwork/guest/testing';
import module from '../src/module.js';

const tea = { id: 1, sku: 'TEA', name: 'Assam', price_cents: 690, description: '' };

test('a product is shown, and viewed', async () => {
  const answer = await testApp(module).on('db:product:one', () => tea).get('/products/1');
  assert.deepEqual([answer.json(), answer.emitted('product:viewed')], [tea, [1]]);
});

test('a product is refused with the place, or as a conflict', async () => {
  const app = testApp(module).on('db:product:create', () => {
    throw new HttpException('unique', 409, { code: 'conflict' });
  });
  const headers = { 'content-type': 'application/json' };
  const wrong = await app.post('/products', { body: '{"sku": "TEA-MATE", "name": 7}', headers });
  assert.equal(wrong.json().message, 'body: `name`: invalid type: integer `7`, expected a string at line 1 column 29');
  const taken = await app.post('/products', { json: { sku: 'TEA', name: 'Assam', price_cents: 1 } });
  assert.deepEqual([taken.status, taken.json().message], [409, 'another product has the SKU `TEA`']);
});
