import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flameLookOf, flameText, kPlainFlame } from './flame_look.ts';
import type { FlameLook } from './flame_look.ts';

test('a look comes back from its text', () => {
  const other: FlameLook = { of: 'operators', measure: 'bytes', range: 'shown', ownCode: false, sandwich: true, zoomed: ['frame 3', 'casts 7'] };
  assert.equal(flameText(other), 'operators~bytes~shown~all~calls');
  assert.deepEqual(flameLookOf(flameText(other), other.zoomed), other);
  for (const change of [{ of: 'operators' }, { measure: 'count' }, { range: 'shown' }, { ownCode: false }, { sandwich: true }] as const)
    assert.deepEqual(flameLookOf(flameText({ ...kPlainFlame, ...change }), []), { ...kPlainFlame, ...change });
});

test('the look at first has no text, and words that mean nothing are left out', () => {
  assert.equal(flameText(kPlainFlame), '');
  assert.deepEqual(flameLookOf('pink~shape', []), kPlainFlame);
});
