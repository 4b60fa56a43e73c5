import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fineness, LiveClock, pollMs, retryMs } from './pacing.ts';

const following = { live: true, following: true, visible: true, loading: false, atEnd: true };

test('25 pictures a second while following, none when hidden or finished', () => {
  assert.equal(pollMs(following, 0), 40);
  assert.equal(pollMs(following, 15), 25);
  assert.equal(pollMs({ ...following, visible: false }, 0), null);
  assert.equal(pollMs({ ...following, live: false }, 0), null);
});

test('less when one looks elsewhere', () => {
  const atEnd = pollMs({ ...following, following: false }, 0)!;
  const elsewhere = pollMs({ ...following, following: false, atEnd: false }, 0)!;
  assert.ok(40 < atEnd && atEnd < elsewhere);
});

test('a slow answer is followed by a pause as long as itself', () => {
  assert.equal(pollMs(following, 300), 300);
});

test('a file that is being read is looked at again', () => {
  assert.ok(pollMs({ ...following, live: false, loading: true }, 0)! >= 100);
});

test('tries grow apart, but not beyond ten seconds', () => {
  assert.equal(retryMs(1), 500);
  assert.ok(retryMs(2) > retryMs(1));
  assert.equal(retryMs(50), 10_000);
});

test('a slow server is asked for less, and for all again when it has recovered', () => {
  const fineness = new Fineness();
  fineness.answered(400);
  fineness.answered(400);
  fineness.answered(400);
  assert.equal(fineness.share, 0.25);
  for (let i = 0; i < 16; i += 1) fineness.answered(10);
  assert.equal(fineness.share, 1);
});

test('the live edge moves evenly between pictures, and stands still when nothing comes', () => {
  const clock = new LiveClock();
  clock.told(5e9, 20e6, 1000);
  assert.equal(clock.edge(1000, 1e9), 5.02e9);
  assert.equal(clock.edge(1016, 1e9), 5.036e9);
  assert.equal(clock.edge(60_000, 1e9), 6e9);
});

test('a late answer does not set the clock back', () => {
  const clock = new LiveClock();
  clock.told(5e9, 0, 1000);
  clock.told(5.04e9, 0, 1240);
  assert.ok(clock.edge(1240, 1e9) > 5.2e9);
});
