import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FlameNode, Leaf } from './flame.ts';
import { boxesOf, flameOf, mostDtype, nodeAt, pathOf, sandwichOf, sumsByKey } from './flame.ts';

const leaf = (path: string, value: number, dtype = 'bfloat16'): Leaf => ({ path: path === '' ? [] : path.split('/'), value, dtype });
const leaves = [leaf('main/forward/linear', 60), leaf('main/forward', 10, 'float32'), leaf('main/loss', 30, 'float32'), leaf('main/never', 0)];
const shown = (node: FlameNode): string => `${node.key}=${node.value}${node.children.length > 0 ? `(${node.children.map(shown).join(' ')})` : ''}`;

test('values are added up along the paths, the largest child first', () => {
  assert.equal(shown(flameOf(leaves)), '=100(main=100(forward=70(linear=60) loss=30))');
  assert.equal(nodeAt(flameOf(leaves), ['main', 'forward']).own, 10);
});

test('boxes are as wide as their share; what holds the chosen node is above it', () => {
  const root = flameOf(leaves);
  const all = boxesOf(root, 0).map(({ node, depth, left, width }) => `${node.key} ${depth} ${left} ${width}`);
  assert.deepEqual(all, [' 0 0 1', 'main 1 0 1', 'forward 2 0 0.7', 'linear 3 0 0.6', 'loss 2 0.7 0.3']);
  const zoomed = boxesOf(nodeAt(root, ['main', 'loss']), 0).map(({ node, depth, width }) => `${node.key} ${depth} ${width}`);
  assert.deepEqual(zoomed, [' 0 1', 'main 1 1', 'loss 2 1']);
  assert.deepEqual(boxesOf(nodeAt(root, ['main', 'loss']), 0, false).map(({ node, depth }) => `${node.key} ${depth}`), ['loss 0']);
});

test('what is too narrow to be seen is one box together', () => {
  const boxes = boxesOf(flameOf([leaf('a', 1), leaf('b', 98), leaf('c', 1)]), 0.015);
  assert.deepEqual(boxes.map(({ node, rest, left }) => `${node.key} ${rest} ${left}`), [' 0 0', 'b 0 0', ' 2 0.98']);
});

test('a node is found again in a newer flame, or as far as there is one', () => {
  const path = pathOf(nodeAt(flameOf(leaves), ['main', 'forward', 'linear']));
  assert.deepEqual(path, ['main', 'forward', 'linear']);
  assert.equal(nodeAt(flameOf([leaf('main/forward', 5)]), path).key, 'forward');
});

test('most of a node has one dtype', () => {
  const root = flameOf(leaves);
  assert.equal(mostDtype(root), 'bfloat16');
  assert.equal(mostDtype(nodeAt(root, ['main', 'loss'])), 'float32');
});

test('sums by key: a call of itself counts once', () => {
  assert.deepEqual(sumsByKey([leaf('a/b/a', 10), leaf('a', 5)]), [{ key: 'a', own: 15, total: 15 }, { key: 'b', own: 0, total: 10 }]);
});

test('a sandwich has the callers outwards and the calls inwards', () => {
  const { callers, callees } = sandwichOf(leaves, 'forward');
  assert.equal(shown(callers), '=70(forward=70(main=70))');
  assert.equal(shown(callees), '=70(forward=70(linear=60))');
});
