// Curves by step.

import type { Metric } from '../../api/told.ts';
import { counted, grouped, real } from '../words/format.ts';

export interface Point {
  step: number;
  /** null: it was not finite, and the line is broken there. */
  value: number | null;
}

export interface Curve {
  title: string;
  /** What stands beside the title until somebody points at a step. */
  says: string;
  format(value: number): string;
  /** Distances of the axis's labels that read well in its unit. */
  incrs?: number[];
  /** Where the axis begins: amounts at zero, other numbers at their least. */
  from: 'zero' | 'least';
  points: Point[];
}

const kMostPoints = 4000;

export function metricCurve(metric: Metric): Curve {
  const points = thinned(metric.step_values.map(({ step, metric_value }) => ({ step, value: metric_value })));
  const says = [];
  if (metric.metric_source === 'GradScaler') says.push('as GradScaler had it');
  if (metric.not_finite_values > 0) says.push(`not finite ${counted(metric.not_finite_values, 'time', 'times')}${metric.first_not_finite_step === null ? '' : `, first in step ${grouped(metric.first_not_finite_step)}`}`);
  if (metric.missing_values > 0) says.push(`${grouped(metric.missing_values)} did not arrive`);
  if (metric.kept_every > 1) says.push(`one of ${grouped(metric.kept_every)} steps is kept`);
  return { title: metric.metric_name || 'metric', says: says.length > 0 ? ` ${says.join('; ')}` : '', format: real, from: 'least', points };
}

/** Of more points than anybody can see, keeps the least and the largest of each stretch, and what was not finite. */
export function thinned(points: Point[], most = kMostPoints): Point[] {
  if (points.length <= most) return points;
  const size = Math.ceil((2 * points.length) / most);
  const kept: Point[] = [];
  for (let i = 0; i < points.length; i += size) {
    const part = points.slice(i, i + size);
    const least = extreme(part, (a, b) => a < b);
    const largest = extreme(part, (a, b) => a > b);
    const broken = part.find(({ value }) => value === null);
    kept.push(...part.filter((one) => one === least || one === largest || one === broken));
  }
  return kept;
}

function extreme(points: Point[], beats: (a: number, b: number) => boolean): Point | undefined {
  return points.reduce<Point | undefined>((best, one) => (one.value !== null && (best === undefined || beats(one.value, best.value!)) ? one : best), undefined);
}

/** Where an axis begins and ends. Without any finite value there is nothing to fit. */
export function rangeOf(from: Curve['from'], low: number | null, high: number | null): [number, number] {
  if (low === null || high === null) return [0, 1];
  if (from === 'zero') return [0, Math.max(high, 1) * 1.08];
  const air = high > low ? (high - low) * 0.08 : Math.max(Math.abs(high) * 0.1, 1e-9);
  return [low - air, high + air];
}
