import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OperatorUse, Region, Site } from '../../api/types.ts';
import { Definitions } from '../definitions.ts';
import { FindingLinks } from './finding_links.ts';
import { findingOf, placeOf } from '../testing.ts';

function definitions(): Definitions {
  const known = new Definitions();
  known.add({
    sites: [{ site: 1, ...placeOf(4) } as Site, { site: 2, ...placeOf(8) } as Site, { site: 3, ...placeOf(null, null) } as Site],
    operator_uses: [{ operator_use: 1, ...placeOf(4) } as OperatorUse],
    regions: [{ region: 1, ...placeOf(2) } as Region],
    kernels: [],
  });
  return known;
}

test('a finding and what happens at its line belong together', () => {
  const at4 = findingOf({ fingerprint: 'a', line: 4 });
  const links = new FindingLinks([at4, findingOf({ fingerprint: 'b', line: 2 })], definitions());
  assert.deepEqual(links.ofSubject('casts', 1), [at4]);
  assert.deepEqual(links.ofSubject('operators', 1), [at4]);
  assert.equal(links.ofSubject('regions', 1)[0].fingerprint, 'b');
  assert.deepEqual(links.lineOf('a'), placeOf(4));
});

test('casts of other lines, of none, and unknown ones belong to no finding', () => {
  const links = new FindingLinks([findingOf({ line: 4 })], definitions());
  for (const site of [2, 3, 99]) assert.deepEqual(links.ofSubject('casts', site), []);
  assert.deepEqual(links.ofSubject('steps', 1), []);
});

test('where nothing happens at its line, a finding lies at the first related place that has something', () => {
  const finding = findingOf({ fingerprint: 'a', line: 5, related: [placeOf(6), placeOf(8), placeOf(4)] });
  const links = new FindingLinks([finding], definitions());
  assert.deepEqual(links.ofSubject('casts', 2), [finding]);
  assert.deepEqual(links.ofSubject('casts', 1), []);
  assert.equal(new FindingLinks([findingOf({ fingerprint: 'x', line: 77 })], definitions()).lineOf('x'), null);
});
