// Finds the lines that cast in one of two stretches and not in the other: they say why its counts differ. Such a line may
// have run in both, as with a value that needed no cast before.

import type { Stacks } from '../../api/told.ts';
import type { Place } from '../../api/types.ts';
import type { StretchRow } from './compare.ts';

export interface NewLine {
  place: Place;
  casts: number;
  hits: number;
}

type Part = 'before' | 'after';

/** For the casts and cache hits of stacks that the other stretch did not have: the outermost line that is only in
 * these. What is called from there is not told again. The most first. */
export function linesOnlyIn(part: Part, rows: readonly StretchRow[], stacks: Stacks): NewLine[] {
  const casts = rows.filter((row) => row.track === 'casts' && row.kind !== 'pass_through');
  const other: Part = part === 'before' ? 'after' : 'before';
  const elsewhere = new Set<number>();
  for (const row of casts) if (row[other] > 0) for (const frame of framesOf(row, stacks)) elsewhere.add(frame);
  const lines = new Map<number, NewLine>();
  for (const row of casts) {
    if (row[part] === 0) continue;
    const frame = framesOf(row, stacks).find((one) => !elsewhere.has(one));
    if (frame === undefined) continue;
    const line = lines.get(frame) ?? { place: stacks.frames[frame], casts: 0, hits: 0 };
    lines.set(frame, line);
    line[row.kind === 'cache_hit' ? 'hits' : 'casts'] += row[part];
  }
  return [...lines.values()].sort((a, b) => b.casts + b.hits - a.casts - a.hits);
}

/** The numbers of its frames, from the outside in. */
function framesOf(row: StretchRow, stacks: Stacks): number[] {
  const frames: number[] = [];
  for (let node = stacks.site_nodes[row.subject - 1] ?? 0; node > 0; node = stacks.node_parents[node - 1]) frames.unshift(stacks.node_frames[node - 1]);
  return frames;
}
