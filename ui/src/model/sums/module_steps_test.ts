import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Site } from '../../api/types.ts';
import { moduleCounts, rowOfCounts } from './module_steps.ts';

const sites = new Map([[1, { module: 'a', model: 'Net' }], [2, { module: 'b', model: 'Net' }], [3, { module: 'a', model: 'Net' }]].map(([id, site]) => [id as number, site as Site]));
const behaviours = [
  { behaviour: 1, sites: [{ site: 2, casts: 5, cache_hits: 0 }, { site: 1, casts: 1, cache_hits: 2 }, { site: 3, casts: 3, cache_hits: 0 }] },
  { behaviour: 2, sites: [{ site: 1, casts: 9, cache_hits: 0 }] },
];

test('the sites of a module count together, in the order of the code', () => {
  const rows = moduleCounts(behaviours, sites);
  assert.deepEqual(rows.map((row) => row.module), ['a', 'b']);
  assert.deepEqual(rows[0].byBehaviour.get(1), { casts: 4, hits: 2 });
});

test('a column shows the highest count of its steps; what is not known leaves a gap', () => {
  const [a, b] = moduleCounts(behaviours, sites);
  const stretches = [{ first: 0, last: 1, behaviour: 1 }, { first: 2, last: 2, behaviour: 2 }, { first: 3, last: 3, behaviour: null }];
  assert.deepEqual([...rowOfCounts(a, stretches, 0, 3, 4, 'casts')], [4, 4, 9, -1]);
  assert.deepEqual([...rowOfCounts(a, stretches, 0, 3, 2, 'casts')], [4, 9]);
  assert.deepEqual([...rowOfCounts(b, stretches, 0, 3, 4, 'casts')], [5, 5, 0, -1]);
  assert.deepEqual([...rowOfCounts(a, stretches, 0, 3, 4, 'hits')], [2, 2, 0, -1]);
});
