import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModuleRow, OperatorUse, Region } from '../../api/types.ts';
import { moduleTree } from './module_tree.ts';
import { oddGroups } from './odd_modules.ts';
import { placeOf } from '../testing.ts';

const row = (module: string, dtype: string) => ({ module, module_type: 'Linear', casts: 1, cache_hits: 0, cpu_ns: 1, bytes: 1, calls_by_computed_in: { [dtype]: 2 }, casts_by_to_dtype: {} }) as ModuleRow;
const use = (module: string, computed_in: string, region: number | null) => ({ model: 'Net', module, computed_in, region }) as OperatorUse;

const region = (number: number, line: number) => ({ region: number, label: 'autocast cpu off', ...placeOf(line) }) as Region;
// Regions 7 and 8 are one line that was entered from two places.
const regions = new Map([[7, region(7, 27)], [8, region(8, 27)], [9, region(9, 30)]]);

test('odd modules of one region are told together, with the region', () => {
  const tree = moduleTree('Net', [row('a', 'bfloat16'), row('b', 'bfloat16'), row('c', 'bfloat16'), row('x.up', 'float32'), row('x.down', 'float32')]);
  const groups = oddGroups([tree], [use('x.up', 'float32', 7), use('x.down', 'float32', 8), use('a', 'bfloat16', 1)], regions);
  assert.equal(groups.length, 1);
  assert.deepEqual(groups[0].modules.map(({ node }) => node.path), ['x.down', 'x.up']);
  assert.deepEqual([groups[0].region?.line, groups[0].dtype, groups[0].usual, groups[0].others], [27, 'float32', 'bfloat16', 3]);
});

test('a module that ran in several regions names none', () => {
  const tree = moduleTree('Net', [row('a', 'bfloat16'), row('b', 'bfloat16'), row('x', 'float32')]);
  assert.equal(oddGroups([tree], [use('x', 'float32', 7), use('x', 'float32', 9)], regions)[0].region, null);
});
