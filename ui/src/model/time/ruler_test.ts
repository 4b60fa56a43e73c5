import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pleasantStep, rulerOf, timeLabel } from './ruler.ts';

const kWeek = 7 * 86400e9;

function labelsOf(begin: number, length: number): string[] {
  return rulerOf({ begin, end: begin + length }, 1000).ticks.map((tick) => tick.label);
}

test('no label is there twice, from 200 ns to a week, wherever one looks', () => {
  for (let length = 200; length <= kWeek; length *= 1.37)
    for (const begin of [0, 1, -700, -250_000, 999_999_999, 59.9999e9, 3599.95e9, 86400e9 * 3 + 123_456_789]) {
      const labels = labelsOf(begin, length);
      assert.equal(new Set(labels).size, labels.length, `${begin} + ${length}: ${labels.join(' | ')}`);
    }
});

test('there are some ticks at every zoom, never a crowd', () => {
  for (let length = 200; length <= kWeek; length *= 1.37) {
    const count = labelsOf(12.3e9, length).length;
    assert.ok(count >= 2 && count <= 12, `${length} ns: ${count} ticks`);
  }
});

test('ticks lie within the window, on multiples of the step', () => {
  const { stepNs, ticks } = rulerOf({ begin: 1234, end: 98765 }, 800);
  for (const { ns } of ticks) {
    assert.ok(ns >= 1234 && ns <= 98765);
    assert.equal(ns % stepNs, 0);
  }
});

test('below a millisecond labels count from a moment that is named', () => {
  const ruler = rulerOf({ begin: 35.204e9 + 10_000, end: 35.204e9 + 60_000 }, 1000);
  assert.equal(ruler.anchor?.label, '35.204 s');
  assert.equal(ruler.ticks[0].label, '+10 µs');
});

test('labels count from the first event', () => {
  const { ticks } = rulerOf({ begin: 100.3e9, end: 101.3e9 }, 200, 100.3e9);
  assert.deepEqual(ticks.map((tick) => tick.label), ['0.0 s', '0.5 s', '1.0 s']);
  assert.equal(ticks[1].ns, 100.8e9);
});

test('times read as a clock', () => {
  assert.equal(timeLabel(500e6, 500e6), '0.5 s');
  assert.equal(timeLabel(62.35e9, 10e6), '1:02.35');
  assert.equal(timeLabel(3605e9, 1e9), '1:00:05');
  assert.equal(timeLabel(-2e9, 1e9), '−2 s');
  assert.equal(timeLabel(59.9996e9, 0.2e6), '59.9996 s');
});

test('steps are 1, 2 or 5 of a power of ten, then those of a clock', () => {
  assert.equal(pleasantStep(3), 5);
  assert.equal(pleasantStep(1200), 2000);
  assert.equal(pleasantStep(7e9), 10e9);
  assert.equal(pleasantStep(40e9), 60e9);
});
