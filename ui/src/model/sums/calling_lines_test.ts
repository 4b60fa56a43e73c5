import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placeOf } from '../testing.ts';
import { castsByCallingLine } from './calling_lines.ts';

// Line 10 calls line 20 of the same file, which calls another file; a stack of its own calls itself at line 30.
const stacks = {
  frames: [placeOf(10), placeOf(20), placeOf(7, '/job/other.py'), placeOf(30)],
  node_frames: [0, 1, 2, 3, 3],
  node_parents: [0, 1, 2, 0, 4],
  site_nodes: [3, 2, 5],
  operator_use_nodes: [],
};

test('each line has the casts of all stacks through it', () => {
  const lines = castsByCallingLine(placeOf(10).file!, [{ site: 1, casts: 5 }, { site: 2, casts: 2 }, { site: 3, casts: 4 }, { site: 4, casts: 9 }], stacks);
  assert.deepEqual([...lines].sort(), [[10, 7], [20, 7], [30, 4]]);
});
