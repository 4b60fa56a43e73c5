import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModuleRow } from '../../api/types.ts';
import { moduleTree, oddModules, precisionOf } from './module_tree.ts';

const row = (path: string, casts: number, computed: Record<string, number> = {}, type = 'Linear'): ModuleRow => ({
  module: path, module_type: type, casts, cache_hits: 0, cpu_ns: casts * 10, bytes: 0, calls_by_computed_in: computed, casts_by_to_dtype: { bfloat16: casts },
});

test('paths make a tree, with sums of all that lies within', () => {
  const tree = moduleTree('Net', [row('blocks.10.mlp', 1), row('blocks.2.mlp', 2), row('', 4, {}, 'Net')]);
  assert.equal(tree.casts, 7);
  assert.equal(tree.type, 'Net');
  const blocks = tree.children[0];
  assert.deepEqual(blocks.children.map((child) => child.name), ['2', '10']);
  assert.equal(blocks.casts, 3);
  assert.equal(blocks.children[0].children[0].path, 'blocks.2.mlp');
});

test('precision is what operators computed in; where nobody looked, what was cast to', () => {
  const tree = moduleTree('Net', [row('a', 1, { bfloat16: 3, float32: 1 }), row('b', 2)]);
  const [a, b] = tree.children;
  assert.deepEqual(precisionOf(a), [{ dtype: 'bfloat16', share: 0.75 }, { dtype: 'float32', share: 0.25 }]);
  assert.deepEqual(precisionOf(b), [{ dtype: 'bfloat16', share: 1 }]);
  assert.deepEqual(precisionOf(moduleTree('Empty', [])), []);
});

test('a module that computes in another dtype than the others of its type is odd', () => {
  const half = { bfloat16: 9 };
  const tree = moduleTree('Net', [row('a', 1, half), row('b', 1, half), row('gate', 1, { float32: 5, bfloat16: 1 }), row('norm', 1, { float32: 4 }, 'LayerNorm')]);
  assert.deepEqual(oddModules(tree).map(({ node, dtype, usual, others }) => [node.path, dtype, usual, others]), [['gate', 'float32', 'bfloat16', 2]]);
  assert.deepEqual(oddModules(moduleTree('Net', [row('a', 1, half), row('b', 1, { float32: 1 })])), []);
});
