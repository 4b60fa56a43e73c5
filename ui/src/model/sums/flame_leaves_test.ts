import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Site } from '../../api/types.ts';
import { Definitions } from '../definitions.ts';
import { FlameLeaves } from './flame_leaves.ts';
import type { FlameBy } from './flame_leaves.ts';
import { placeOf } from '../testing.ts';

const library = '/venv/lib/python3.11/site-packages/torch/nn/linear.py';
const stacks = {
  frames: [placeOf(20), placeOf(134, library), placeOf(7)],
  // train → linear.py, and train → model → linear.py
  node_frames: [0, 1, 2, 1],
  node_parents: [0, 1, 1, 3],
  site_nodes: [2, 4, 0],
  operator_use_nodes: [],
};

function paths(by: FlameBy, ownCode: boolean): string[] {
  const known = new Definitions();
  const site = (number: number, module: string | null) => ({ site: number, label: `cast ${number}`, module, model: 'Net', to_dtype: 'bfloat16', ...placeOf(20) }) as Site;
  known.add({ sites: [site(1, 'blocks.0'), site(2, 'Net'), site(3, null)], operator_uses: [], regions: [], kernels: [] });
  const leaves = new FlameLeaves(known, stacks, '/job');
  const counted = [1, 2, 3].map((subject) => ({ kind: 'casts' as const, subject, ns: 5, bytes: 6, count: 7 }));
  return leaves.of(counted, by, 'bytes', ownCode).map((leaf) => `${leaf.path.map((key) => leaves.steps.get(key)!.label).join(' > ')} = ${leaf.value} ${leaf.dtype}`);
}

test('along the stack, from the outside in, to the cast itself', () => {
  assert.deepEqual(paths('stacks', false), [
    'forward model.py:20 > forward torch/nn/linear.py:134 > cast 1 = 6 bfloat16',
    'forward model.py:20 > forward model.py:7 > forward torch/nn/linear.py:134 > cast 2 = 6 bfloat16',
    'cast 3 = 6 bfloat16',
  ]);
});

test('frames of installed packages can be left out', () => {
  assert.equal(paths('stacks', true)[1], 'forward model.py:20 > forward model.py:7 > cast 2 = 6 bfloat16');
});

test('along the path of the module', () => {
  assert.deepEqual(paths('modules', true), ['Net > blocks > 0 > cast 1 = 6 bfloat16', 'Net > cast 2 = 6 bfloat16', 'outside of modules > cast 3 = 6 bfloat16']);
});

test('casts of one name in one place are told apart', () => {
  const known = new Definitions();
  const site = (number: number, module: string) => ({ site: number, label: 'linear weight', module, model: 'Net', to_dtype: 'bfloat16', ...placeOf(20) }) as Site;
  known.add({ sites: [site(1, 'first'), site(2, 'second'), site(3, 'first')], operator_uses: [], regions: [], kernels: [] });
  const leaves = new FlameLeaves(known, { ...stacks, site_nodes: [1, 1, 2] }, '/job');
  leaves.of([1, 2, 3].map((subject) => ({ kind: 'casts' as const, subject, ns: 5, bytes: 6, count: 7 })), 'stacks', 'time', false);
  const labels = [1, 2, 3].map((subject) => leaves.steps.get(`casts ${subject}`)!.label);
  assert.notEqual(labels[0], labels[1]);
  assert.ok(labels[0].includes('first') && labels[1].includes('second'), labels.join(', '));
  assert.equal(labels[2], 'linear weight'); // it stands alone
});
