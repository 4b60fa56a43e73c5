import assert from 'node:assert/strict';
import { test } from 'node:test';
import { markNear, markOf, markText, withMark } from './marks.ts';

test('marks stand in the order of time, each with a name of its own', () => {
  const one = withMark([], 500.4)!;
  const two = withMark(one, 100)!;
  assert.deepEqual(two, [{ at: 100, name: '2' }, { at: 500, name: '1' }]);
  assert.deepEqual(withMark([{ at: 500, name: 'slow step' }, { at: 100, name: '2' }], 900)!.map((mark) => mark.name), ['2', 'slow step', '1']);
  assert.equal(withMark(Array.from({ length: 50 }, (_, i) => ({ at: i, name: String(i) })), 7), null);
});

test('the nearest mark is found', () => {
  const marks = [{ at: 100, name: 'a' }, { at: 130, name: 'b' }];
  assert.equal(markNear(marks, 118, 20)?.name, 'b');
  assert.equal(markNear(marks, 160, 20), null);
});

test('a mark comes back from its text', () => {
  const mark = { at: -5, name: 'before | after\n' };
  assert.deepEqual(markOf(markText(mark)), mark);
  assert.equal(markOf('x|name'), null);
  assert.equal(markOf('5'), null);
});
