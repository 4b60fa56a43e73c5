import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allParts } from './parts.ts';

test('a list that comes in parts is one list', async () => {
  const parts: Record<string, { sites: number[]; next: string | null }> = {
    'runs/a/sites?limit=10000': { sites: [1, 2], next: 'sites?offset=2&limit=2' },
    'runs/a/sites?offset=2&limit=2': { sites: [3, 4], next: 'sites?offset=4&limit=2' },
    'runs/a/sites?offset=4&limit=2': { sites: [5], next: null },
  };
  const asked: string[] = [];
  const ask = (path: string) => {
    asked.push(path);
    return Promise.resolve(parts[path]);
  };
  assert.deepEqual(await allParts(ask, 'runs/a/sites', (answer) => answer.sites), [1, 2, 3, 4, 5]);
  assert.deepEqual(asked, Object.keys(parts));
});
