import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placeOf } from '../testing.ts';
import type { StretchRow } from './compare.ts';
import { linesOnlyIn } from './new_lines.ts';

// Frame 0 calls 1, and in one step also 2; both call 3.
const stacks = {
  frames: [placeOf(10), placeOf(20), placeOf(21), placeOf(99)],
  node_frames: [0, 1, 3, 2, 3],
  node_parents: [0, 1, 2, 1, 4],
  site_nodes: [3, 5, 4],
  operator_use_nodes: [],
};
const row = (subject: number, kind: string, before: number, after: number): StretchRow => ({ track: 'casts', subject, kind, before, after, count: before + after, ns: 0, bytes: 0 });

test('the outermost line of which the other stretch has no cast, with all that it calls', () => {
  const rows = [row(1, 'down', 2, 2), row(2, 'cache_hit', 0, 30), row(3, 'up', 0, 4)];
  assert.deepEqual(linesOnlyIn('after', rows, stacks), [{ place: placeOf(21), casts: 4, hits: 30 }]);
  assert.deepEqual(linesOnlyIn('before', rows, stacks), []);
});

test('more of the same lines is no new line, and what passed through counts for nothing', () => {
  assert.deepEqual(linesOnlyIn('after', [row(1, 'down', 1, 50), row(2, 'pass_through', 0, 9)], stacks), []);
});

test('a line that is gone is told of the other side', () => {
  assert.deepEqual(linesOnlyIn('before', [row(1, 'down', 1, 1), row(2, 'down', 7, 0)], stacks), [{ place: placeOf(21), casts: 7, hits: 0 }]);
});
