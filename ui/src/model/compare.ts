// Compares two stretches of a run, row by row.

import type { Summary, TrackKind } from '../api/types.ts';
import { grouped } from './format.ts';

export interface StretchRow {
  track: TrackKind;
  subject: number;
  kind: string;
  count: number;
  before: number;
  after: number;
  /** How much longer it is in the second. */
  ns: number;
  bytes: number;
}

export function stretchesCompared(before: Summary, after: Summary): StretchRow[] {
  const rows = new Map<string, StretchRow>();
  const add = (summary: Summary, sign: 1 | -1) => {
    for (const row of summary.rows) {
      const key = `${row.track} ${row.subject} ${row.kind}`;
      const one = rows.get(key) ?? { track: row.track, subject: row.subject, kind: row.kind, count: 0, before: 0, after: 0, ns: 0, bytes: 0 };
      rows.set(key, one);
      if (sign < 0) one.before += row.count;
      else one.after += row.count;
      one.ns += sign * row.ns;
      one.bytes += sign * row.bytes;
      one.count += row.count;
    }
  };
  add(before, -1);
  add(after, 1);
  return [...rows.values()];
}

/** "1,200 casts, 4,000 a second". */
export function perTime(summary: Summary): string {
  const casts = summary.kinds
    .filter((kind) => ['down', 'up', 'same'].includes(kind.kind))
    .reduce((sum, kind) => sum + kind.count, 0);
  const seconds = Math.max((summary.to - summary.from) / 1e9, 1e-9);
  return `${grouped(casts)} casts, ${grouped(Math.round(casts / seconds))} a second`;
}
