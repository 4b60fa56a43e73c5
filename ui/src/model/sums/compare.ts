// Compares two stretches of a run, row by row.

import type { Summary, TrackKind } from '../../api/types.ts';
import { bytes, counted, grouped } from '../words/format.ts';

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

const kCasts = ['down', 'up', 'same'];

/** Whether a row differs in what the job did: in number, or in size. */
export function isChanged(row: StretchRow): boolean {
  return !isOfDeepSteps(row.kind) && (row.before !== row.after || row.bytes !== 0);
}

/** Which of the two stretches castscope looked at operator by operator. */
export function lookedAt(rows: readonly StretchRow[]): { before: boolean; after: boolean } {
  const operators = rows.filter((row) => row.kind === 'operator');
  return { before: operators.some((row) => row.before > 0), after: operators.some((row) => row.after > 0) };
}

/** Whether events of this kind come from deep steps alone: their number says how castscope looked, not what was done. */
function isOfDeepSteps(kind: string): boolean {
  return ['operator', 'pass_through', 'values', 'module', 'kernel', 'cast_kernel', 'gpu_copy', 'step', 'step_deep'].includes(kind);
}

/** "98 casts, 11 more than 87; 28 cache hits, 28 more than 0; 1.2 MB cast, as many". */
export function countsOf(before: Summary, after: Summary): string {
  const words = (kinds: string[], of: 'event_count' | 'event_bytes', format: (sum: number) => string, named: (sum: number) => string) => {
    const [a, b] = [before, after].map((summary) => summary.by_shade_kind.filter((kind) => kinds.includes(kind.shade_kind)).reduce((sum, kind) => sum + kind[of], 0));
    const difference = a === b ? 'as many' : `${format(Math.abs(b - a))} ${b > a ? 'more' : 'fewer'} than ${format(a)}`;
    return `${named(b)}, ${difference}`;
  };
  return [
    words(kCasts, 'event_count', grouped, (sum) => counted(sum, 'cast', 'casts')),
    words(['cache_hit'], 'event_count', grouped, (sum) => counted(sum, 'cache hit', 'cache hits')),
    words(kCasts, 'event_bytes', bytes, (sum) => `${bytes(sum)} cast`),
  ].join('; ');
}
