import assert from 'node:assert/strict';
import { test } from 'node:test';
import { actionOf, kHeld, kKeys } from './keymap.ts';

const stroke = (key: string, more = {}) => ({ key, code: /^[a-z]$/i.test(key) ? `Key${key.toUpperCase()}` : '', ctrl: false, meta: false, alt: false, typing: false, ...more });

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

test('W A S D go by their place, other keys by their letter', () => {
  const french = (key: string, code: string) => actionOf(stroke(key, { code }));
  assert.equal(french('z', 'KeyW'), 'zoomIn');
  assert.equal(french('q', 'KeyA'), 'panLeft');
  assert.equal(french('w', 'KeyZ'), null);
  assert.equal(french('a', 'KeyQ'), null);
  assert.equal(french('m', 'Semicolon'), 'measure');
});

test('on a keyboard without Latin letters, letters are those of a Latin one', () => {
  const russian = (key: string, code: string) => actionOf(stroke(key, { code }));
  assert.equal(russian('ц', 'KeyW'), 'zoomIn');
  assert.equal(russian('т', 'KeyN'), 'searchNext');
  assert.equal(russian('Т', 'KeyN'), 'searchPrevious');
});

test("the browser's own keys stay its own", () => {
  assert.equal(actionOf(stroke('f', { ctrl: true })), null);
  assert.equal(actionOf(stroke('w', { meta: true })), null);
});

test('whoever types text types text; Escape leaves', () => {
  assert.equal(actionOf(stroke('w', { typing: true })), null);
  assert.equal(actionOf(stroke('Escape', { typing: true })), 'escape');
});
