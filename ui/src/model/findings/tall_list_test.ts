import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TallList } from './tall_list.ts';

function list(...keys: string[]): TallList {
  const tall = new TallList();
  tall.set(keys, keys.map(() => 10));
  return tall;
}

test('a stretch holds the entries that touch it', () => {
  const tall = list('a', 'b', 'c', 'd');
  assert.equal(tall.height, 40);
  assert.deepEqual(tall.within(10, 10), ['b']);
  assert.deepEqual(tall.within(5, 10), ['a', 'b']);
  assert.deepEqual(tall.within(100, 10), []);
  assert.deepEqual(list().within(0, 10), []);
});

test('what was measured takes the place of the estimate', () => {
  const tall = list('a', 'b', 'c');
  assert.equal(tall.measure(new Map([['b', 30]]), 0), 0);
  assert.equal(tall.topOf('c'), 40);
  assert.equal(tall.topOf('x'), null);
});

test('what grows above is told, so that the reader stays where they are', () => {
  const tall = list('a', 'b', 'c');
  assert.equal(tall.measure(new Map([['a', 25]]), 20), 15);
  assert.equal(tall.measure(new Map([['a', 25]]), 20), 0);
});

test('a measured height outlives a change of the list, unless its entry is gone', () => {
  const tall = list('a', 'b');
  tall.measure(new Map([['b', 50]]), 0);
  tall.set(['b', 'c'], [10, 10]);
  assert.equal(tall.topOf('c'), 50);
  tall.set(['c'], [10]);
  tall.set(['b', 'c'], [10, 10]);
  assert.equal(tall.topOf('c'), 10);
});
