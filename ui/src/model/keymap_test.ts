import assert from 'node:assert/strict';
import { test } from 'node:test';
import { actionOf, kHeld, kKeys } from './keymap.ts';

const stroke = (key: string, more = {}) => ({ key, ctrl: false, meta: false, alt: false, typing: false, ...more });

test('no key does two things', () => {
  const keys = kKeys.flatMap((line) => line.keys);
  assert.equal(new Set(keys).size, keys.length);
});

test('every action is in the help once', () => {
  const actions = kKeys.map((line) => line.action);
  assert.equal(new Set(actions).size, actions.length);
  for (const held of kHeld) assert.ok(actions.includes(held));
});

test('n is next, N is previous; W with caps lock is still w', () => {
  assert.equal(actionOf(stroke('n')), 'searchNext');
  assert.equal(actionOf(stroke('N')), 'searchPrevious');
  assert.equal(actionOf(stroke('W')), 'zoomIn');
});

test("the browser's own keys stay its own", () => {
  assert.equal(actionOf(stroke('f', { ctrl: true })), null);
  assert.equal(actionOf(stroke('w', { meta: true })), null);
});

test('whoever types text types text; Escape leaves', () => {
  assert.equal(actionOf(stroke('w', { typing: true })), null);
  assert.equal(actionOf(stroke('Escape', { typing: true })), 'escape');
});
