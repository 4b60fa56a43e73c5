import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Metric } from '../../api/told.ts';
import { metricCurve, rangeOf, thinned } from './curves.ts';

const loss: Metric = {
  process: 1,
  metric_name: 'loss',
  metric_source: 'castscope.metric',
  missing_values: 0,
  not_finite_values: 0,
  first_not_finite_step: null,
  kept_every: 1,
  step_values: [{ step: 0, metric_value: 2.5 }, { step: 2, metric_value: null }, { step: 3, metric_value: 0.125 }],
};

test('a metric is a curve with a gap where it was not finite', () => {
  const curve = metricCurve({ ...loss, not_finite_values: 2, first_not_finite_step: 17, missing_values: 3, kept_every: 4 });
  assert.equal(curve.title, 'loss');
  assert.deepEqual(curve.points, [{ step: 0, value: 2.5 }, { step: 2, value: null }, { step: 3, value: 0.125 }]);
  assert.equal(curve.says, ' not finite 2 times, first in step 17; 3 did not arrive; one of 4 steps is kept');
  assert.equal(metricCurve(loss).says, '');
  assert.equal(metricCurve({ ...loss, metric_source: 'GradScaler' }).says, ' as GradScaler had it');
});

test('of many points no extreme and no gap is lost', () => {
  const points = Array.from({ length: 1000 }, (_, step) => ({ step, value: step === 501 ? null : Math.sin(step) }));
  points[333].value = 99;
  points[700].value = -99;
  const kept = thinned(points, 100);
  assert.ok(kept.length <= 152, String(kept.length));
  for (const step of [333, 501, 700]) assert.ok(kept.some((one) => one.step === step), String(step));
  assert.deepEqual(kept.map(({ step }) => step), [...kept.map(({ step }) => step)].sort((a, b) => a - b));
  assert.equal(thinned(points, 1000), points);
});

test('amounts begin at zero, other numbers at their least', () => {
  assert.deepEqual(rangeOf('zero', 5, 100), [0, 108]);
  assert.deepEqual(rangeOf('least', 10, 20), [9.2, 20.8]);
  assert.deepEqual(rangeOf('least', 4, 4), [3.6, 4.4]);
  assert.deepEqual(rangeOf('least', null, null), [0, 1]);
});
