import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TimeScale, WindowHistory, fitting, kShortestNs, lengthOf, limited, panned, showing, zoomed } from './time_window.ts';

const whole = { begin: 0, end: 60e9 };

test('zooming leaves the moment under the pointer where it is', () => {
  let window = { begin: 10e9, end: 20e9 };
  const at = 12.5e9;
  for (let i = 0; i < 20; i += 1) window = zoomed(window, at, 0.7, whole);
  assert.ok(Math.abs((at - window.begin) / lengthOf(window) - 0.25) < 1e-6);
});

test('zooming in and out again comes back', () => {
  const window = { begin: 10e9, end: 20e9 };
  const back = zoomed(zoomed(window, 15e9, 0.5, whole), 15e9, 2, whole);
  assert.ok(Math.abs(back.begin - window.begin) < 1 && Math.abs(back.end - window.end) < 1);
});

test('a window is never shorter than can be told, nor much longer than the run', () => {
  assert.equal(lengthOf(zoomed({ begin: 0, end: 300 }, 100, 1e-6, whole)), kShortestNs);
  assert.equal(lengthOf(zoomed(whole, 30e9, 1e6, whole)), 90e9);
});

test('panning stops where half of the window shows nothing', () => {
  const far = panned({ begin: 0, end: 10e9 }, -1e15, whole);
  assert.equal(far.begin, -5e9);
  assert.equal(panned({ begin: 0, end: 10e9 }, 1e15, whole).end, 65e9);
});

test('a limited window keeps its length', () => {
  assert.equal(lengthOf(limited({ begin: -100e9, end: -90e9 }, whole)), 10e9);
});

test('what is fitted lies in the middle', () => {
  const window = fitting(20e9, 21e9, whole);
  assert.ok(window.begin < 20e9 && window.end > 21e9);
  assert.ok(Math.abs((window.begin + window.end) / 2 - 20.5e9) < 1);
});

test('showing moves only when it must', () => {
  const window = { begin: 10e9, end: 20e9 };
  assert.equal(showing(window, 15e9, 15e9, whole), window);
  const moved = showing(window, 30e9, 30e9, whole);
  assert.equal(lengthOf(moved), 10e9);
  assert.ok(moved.begin < 30e9 && moved.end > 30e9);
});

test('showing what lies at an end of the run does not leave it', () => {
  const all = { begin: 10e9, end: 20e9 };
  const seen = showing({ begin: 15e9, end: 19e9 }, 10.01e9, 10.02e9, all);
  assert.equal(lengthOf(seen), 4e9);
  assert.ok(seen.begin < 10.01e9 && seen.begin > 9.5e9);
  const wide = showing({ begin: 9.85e9, end: 20.15e9 }, 10.01e9, 10.02e9, all);
  assert.deepEqual([Math.round(wide.begin), Math.round(wide.end)], [9.85e9, 20.15e9]);
});

test('ns to px and back', () => {
  const scale = new TimeScale({ begin: 1e9, end: 2e9 }, 500);
  assert.equal(scale.px(1.5e9), 250);
  assert.equal(scale.ns(250), 1.5e9);
});

test('Backspace undoes a whole gesture, not each of its frames', () => {
  const history = new WindowHistory();
  const first = { begin: 0, end: 1 };
  for (let ms = 0; ms < 500; ms += 16) history.remember(ms === 0 ? first : { begin: ms, end: ms + 1 }, 1000 + ms);
  assert.equal(history.back(), first);
  assert.equal(history.back(), undefined);
});
