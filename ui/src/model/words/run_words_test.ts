import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeOf, endingOf, shortCommand, startOf } from './run_words.ts';

test('a run says how it ended', () => {
  const of = (exit_status: number | null, signal: number | null, run_state = 'finished' as const) => endingOf({ run_state, exit_status, signal });
  assert.equal(of(0, null), 'finished');
  assert.equal(of(1, null), 'failed: exit status 1');
  assert.equal(of(137, 9), 'killed by SIGKILL');
  assert.equal(of(163, 35), 'killed by signal 35');
  assert.equal(endingOf({ run_state: 'lost', exit_status: null, signal: null }), 'lost: its end was not seen');
  assert.equal(endingOf({ run_state: 'live', exit_status: null, signal: null }), 'live');
});

test('commands and starts are short', () => {
  assert.equal(shortCommand(['/usr/bin/python3', '/home/you/train.py', '--lr=1e-3']), 'python3 train.py --lr=1e-3');
  assert.match(startOf('2026-11-21T11:07:00.000Z'), /^2[12] Nov \d\d:07:00$/);
  assert.equal(startOf(null), '');
});

test('changes are shares of what was', () => {
  assert.equal(changeOf(100, 112), '+12 %');
  assert.equal(changeOf(1000, 995), '−0.5 %');
  assert.equal(changeOf(3, 3), 'the same');
  assert.equal(changeOf(0, 3), 'new');
});
