// Compares two stretches of a run, row by row.

import type { Summary, TrackKind } from '../../api/types.ts';
import { counted, grouped } from '../words/format.ts';

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

/** Whether events of this kind come from deep steps alone: their number says how castscope looked, not what was done. */
export function isOfDeepSteps(kind: string): boolean {
  return ['operator', 'pass_through', 'values', 'module', 'kernel', 'cast_kernel', 'gpu_copy', 'step', 'step_deep'].includes(kind);
}

/** "98 casts, 11 more than 87; 28 cache hits, 28 more than 0". */
export function countsOf(before: Summary, after: Summary): string {
  const count = (summary: Summary, kinds: string[]) => summary.by_shade_kind.filter((kind) => kinds.includes(kind.shade_kind)).reduce((sum, kind) => sum + kind.event_count, 0);
  const words = (kinds: string[], one: string, many: string) => {
    const [a, b] = [count(before, kinds), count(after, kinds)];
    const difference = a === b ? 'as many' : `${grouped(Math.abs(b - a))} ${b > a ? 'more' : 'fewer'} than ${grouped(a)}`;
    return `${counted(b, one, many)}, ${difference}`;
  };
  return `${words(['down', 'up', 'same'], 'cast', 'casts')}; ${words(['cache_hit'], 'cache hit', 'cache hits')}`;
}
