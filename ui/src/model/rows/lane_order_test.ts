import assert from 'node:assert/strict';
import { test } from 'node:test';
import { moving, ordered } from './lane_order.ts';

const same = (key: string) => key;

test('without a list all stay as they are', () => {
  assert.deepEqual(ordered(['b', 'a'], same, []), ['b', 'a']);
});

test('what came later stands behind what was put in order', () => {
  assert.deepEqual(ordered(['a', 'b', 'c', 'd'], same, ['c', 'a']), ['c', 'a', 'b', 'd']);
});

test('one takes the place of another, up or down', () => {
  const rows = ['a', 'b', 'c'];
  assert.deepEqual(moving([], rows, 'c', 'a'), ['c', 'a', 'b']);
  assert.deepEqual(moving([], rows, 'a', 'c'), ['b', 'c', 'a']);
  assert.deepEqual(moving(['p1', 'x'], rows, 'a', 'b'), ['p1', 'x', 'b', 'a', 'c']);
});

test('what is not there is not moved', () => {
  assert.deepEqual(moving(['x'], ['a', 'b'], 'a', 'q'), ['x']);
  assert.deepEqual(moving(['x'], ['a', 'b'], 'a', 'a'), ['x']);
});
