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
    for (const row of summary.by_subject) {
      const key = `${row.track_kind} ${row.subject} ${row.shade_kind}`;
      const one = rows.get(key) ?? { track: row.track_kind, subject: row.subject, kind: row.shade_kind, count: 0, before: 0, after: 0, ns: 0, bytes: 0 };
      rows.set(key, one);
      if (sign < 0) one.before += row.event_count;
      else one.after += row.event_count;
      one.ns += sign * row.window_ns;
      one.bytes += sign * row.event_bytes;
      one.count += row.event_count;
    }
  };
  add(before, -1);
  add(after, 1);
  return [...rows.values()];
}

/** "1,200 casts, 4,000 a second". */
export function perTime(summary: Summary): string {
  const casts = summary.by_shade_kind
    .filter((kind) => ['down', 'up', 'same'].includes(kind.shade_kind))
    .reduce((sum, kind) => sum + kind.event_count, 0);
  const seconds = Math.max((summary.window_end_ns - summary.window_begin_ns) / 1e9, 1e-9);
  return `${grouped(casts)} casts, ${grouped(Math.round(casts / seconds))} a second`;
}
