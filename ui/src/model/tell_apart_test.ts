import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toldApart } from './tell_apart.ts';

interface Row {
  id: number;
  text: string;
  module: string;
  phase: string;
}
const row = (id: number, text: string, module = '', phase = ''): Row => ({ id, text, module, phase });
const told = (...rows: Row[]) => {
  const words = toldApart(rows, (one) => one.text, (one) => [{ name: '', value: one.module }, { name: 'in', value: one.phase }], (one) => one.id);
  return rows.map((one) => words.get(one) ?? null);
};

test('rows that are alone need no more words', () => {
  assert.deepEqual(told(row(1, 'a', 'm'), row(2, 'b', 'm')), [null, null]);
});

test('rows that read the same are told apart by the first trait that differs', () => {
  assert.deepEqual(told(row(1, 'a', 'm', 'forward'), row(2, 'a', 'n', 'backward')), ['m', 'n']);
  assert.deepEqual(told(row(1, 'a', 'm', 'forward'), row(2, 'a', 'm', 'backward')), ['in forward', 'in backward']);
});

test('by as many traits as are needed', () => {
  assert.deepEqual(told(row(1, 'a', 'm', 'forward'), row(2, 'a', 'n', 'forward'), row(3, 'a', 'n', 'backward')), ['m · in forward', 'n · in forward', 'n · in backward']);
});

test('where no trait differs, by number', () => {
  assert.deepEqual(told(row(1, 'a', 'm'), row(7, 'a', 'm')), ['number 1', 'number 7']);
});
