import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kUnknown } from '../api/picture.ts';
import { curveOf, rgbOf } from './counters.ts';

const counter = (...values: number[]) => ({ process: 1, top: 100, values: new Uint16Array(values) });
const rounded = (shares: Float32Array) => [...shares].map((share) => Math.round(share * 100) / 100);

test('a pixel shows the highest of its columns: no peak is lost', () => {
  const shares = curveOf(counter(0, 65534, 0, 6553, 0, 0), { x0: 0, perColumn: 0.5 }, 3, 100);
  assert.deepEqual(rounded(shares), [1, 0.1, 0]);
});

test('what is not known leaves a gap', () => {
  assert.deepEqual(rounded(curveOf(counter(65534, kUnknown, 0), { x0: 0, perColumn: 1 }, 4, 200)), [0.5, -1, 0, -1]);
});

test('outside the events nothing is known', () => {
  assert.deepEqual(rounded(curveOf(counter(0, 65534, 65534, 0), { x0: 0, perColumn: 1 }, 4, 100, 1, 2)), [-1, 1, -1, -1]);
});

test('columns wider than pixels fill them all, those outside are left out', () => {
  assert.deepEqual(rounded(curveOf(counter(65534, 0, 65534), { x0: -2, perColumn: 2 }, 3, 100)), [0, 0, 1]);
});

test('colours as style sheets write them', () => {
  assert.deepEqual(rgbOf('#fff'), [255, 255, 255]);
  assert.deepEqual(rgbOf('#0b5fc4'), [11, 95, 196]);
});
