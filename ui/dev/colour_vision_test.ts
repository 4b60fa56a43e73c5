import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Lab } from './colour_vision.ts';
import { difference, kVisions, seenAs } from './colour_vision.ts';

// The test data that the authors of the formula publish: https://hajim.rochester.edu/ece/sites/gsharma/ciede2000/
const kPublished: readonly (readonly [Lab, Lab, number])[] = [
  [[50, 2.6772, -79.7751], [50, 0, -82.7485], 2.0425],
  [[50, 3.1571, -77.2803], [50, 0, -82.7485], 2.8615],
  [[50, 2.8361, -74.02], [50, 0, -82.7485], 3.4412],
  [[50, -1.3802, -84.2814], [50, 0, -82.7485], 1],
  [[50, -1.1848, -84.8006], [50, 0, -82.7485], 1],
  [[50, -0.9009, -85.5211], [50, 0, -82.7485], 1],
  [[50, 0, 0], [50, -1, 2], 2.3669],
  [[50, -1, 2], [50, 0, 0], 2.3669],
  [[50, 2.49, -0.001], [50, -2.49, 0.0009], 7.1792],
  [[50, 2.49, -0.001], [50, -2.49, 0.001], 7.1792],
  [[50, 2.49, -0.001], [50, -2.49, 0.0011], 7.2195],
  [[50, 2.49, -0.001], [50, -2.49, 0.0012], 7.2195],
  [[50, -0.001, 2.49], [50, 0.0009, -2.49], 4.8045],
  [[50, -0.001, 2.49], [50, 0.001, -2.49], 4.8045],
  [[50, -0.001, 2.49], [50, 0.0011, -2.49], 4.7461],
  [[50, 2.5, 0], [50, 0, -2.5], 4.3065],
  [[50, 2.5, 0], [73, 25, -18], 27.1492],
  [[50, 2.5, 0], [61, -5, 29], 22.8977],
  [[50, 2.5, 0], [56, -27, -3], 31.903],
  [[50, 2.5, 0], [58, 24, 15], 19.4535],
  [[50, 2.5, 0], [50, 3.1736, 0.5854], 1],
  [[50, 2.5, 0], [50, 3.2972, 0], 1],
  [[50, 2.5, 0], [50, 1.8634, 0.5757], 1],
  [[50, 2.5, 0], [50, 3.2592, 0.335], 1],
  [[60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387], 1.2644],
  [[63.0109, -31.0961, -5.8663], [62.8187, -29.7946, -4.0864], 1.263],
  [[61.2901, 3.7196, -5.3901], [61.4292, 2.248, -4.962], 1.8731],
  [[35.0831, -44.1164, 3.7933], [35.0232, -40.0716, 1.5901], 1.8645],
  [[22.7233, 20.0904, -46.694], [23.0331, 14.973, -42.5619], 2.0373],
  [[36.4612, 47.858, 18.3852], [36.2715, 50.5065, 21.2231], 1.4146],
  [[90.8027, -2.0831, 1.441], [91.1528, -1.6435, 0.0447], 1.4441],
  [[90.9257, -0.5406, -0.9208], [88.6381, -0.8985, -0.7239], 1.5381],
  [[6.7747, -0.2908, -2.4247], [5.8714, -0.0985, -2.2286], 0.6377],
  [[2.0776, 0.0795, -1.135], [0.9033, -0.0636, -0.5514], 0.9082],
];

test('CIEDE2000 is what its authors publish', () => {
  assert.equal(kPublished.length, 34);
  for (const [one, other, told] of kPublished) {
    assert.ok(Math.abs(difference(one, other) - told) < 1e-4, `${one.join(' ')} and ${other.join(' ')}: ${difference(one, other)}`);
    assert.ok(Math.abs(difference(other, one) - difference(one, other)) < 1e-9);
  }
});

test('Lab is that of sRGB: white, black, and red as tables have it', () => {
  assert.deepEqual(seenAs([255, 255, 255], 'normal').map(Math.round).map(Math.abs), [100, 0, 0]);
  assert.deepEqual(seenAs([0, 0, 0], 'normal').map(Math.round).map(Math.abs), [0, 0, 0]);
  assert.deepEqual(seenAs([255, 0, 0], 'normal').map(Math.round), [53, 80, 67]);
});

test('a deficiency takes from pairs of its own kind, and leaves grey as it is', () => {
  const apart = (vision: (typeof kVisions)[number], one: [number, number, number], other: [number, number, number]) =>
    difference(seenAs(one, vision), seenAs(other, vision));
  const [red, green] = [[170, 90, 40], [100, 115, 40]] as [number, number, number][];
  const [blue, lime] = [[80, 140, 200], [70, 150, 150]] as [number, number, number][];
  for (const vision of ['protan', 'deutan'] as const) assert.ok(apart(vision, red, green) < 0.5 * apart('normal', red, green), vision);
  assert.ok(apart('tritan', blue, lime) < 0.5 * apart('normal', blue, lime));
  for (const vision of kVisions) assert.ok(apart(vision, [128, 128, 128], [128, 128, 128]) === 0 && Math.abs(seenAs([128, 128, 128], vision)[1]) < 0.1);
});
