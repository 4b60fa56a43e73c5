import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytes, clock, duration, moment, percent, place, real, shortPath, stepOf } from './format.ts';

test('durations have three digits that count', () => {
  assert.deepEqual([431, 4310, 43_100, 431_000, 4.31e6, 1e9, 59.9e9].map(duration), ['431 ns', '4.31 µs', '43.1 µs', '431 µs', '4.31 ms', '1.00 s', '59.9 s']);
  assert.equal(duration(125e9), '2 min 5 s');
  assert.equal(duration(7 * 86400e9), '7 d');
});

test('a moment is exact to the ns', () => {
  assert.equal(moment(62_003_004_005), '1:02.003 004 005');
  assert.equal(moment(-6_856_889), '−0.006 856 889');
});

test('clock, bytes, shares', () => {
  assert.equal(clock(3 * 86400 + 5), '3 d 0:00:05');
  assert.equal(bytes(1536), '1.54 kB');
  assert.equal(percent(0.004), '<1 %');
});

test('paths as people know them', () => {
  assert.equal(shortPath('/home/you/p/a.py', '/home/you/p'), 'a.py');
  assert.equal(shortPath('/usr/lib/site-packages/torch/nn/x.py', '/home'), 'torch/nn/x.py');
  assert.equal(place({ file: null, line: null }, ''), 'no Python line');
});

test('a step is asked for by its number', () => {
  assert.equal(stepOf('step 12'), 12);
  assert.equal(stepOf(' Step #0 '), 0);
  assert.equal(stepOf('steps'), null);
  assert.equal(stepOf('step 4294967296'), null);
});

test('numbers without a unit', () => {
  assert.equal(real(0.123456), '0.1235');
  assert.equal(real(65536), '65,536');
  assert.equal(real(0), '0');
  assert.equal(real(1.234e-7), '1.23e-7');
  assert.equal(real(-2.5), '-2.5');
});
