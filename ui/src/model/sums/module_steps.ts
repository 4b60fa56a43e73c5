// Modules by steps: how many casts or cache hits each module had in each step. Counts are exact, since they come from
// what a step did, not from single events.

import type { Behaviour } from '../../api/told.ts';
import type { Site, StepRow } from '../../api/types.ts';

export const kStepMeasures = ['casts', 'hits'] as const;
export type StepMeasure = (typeof kStepMeasures)[number];

export interface ModuleCounts {
  /** The path, '' outside of modules. */
  module: string;
  model: string;
  /** By behaviour: in one such step. */
  byBehaviour: Map<number, { casts: number; hits: number }>;
}

/** The modules that cast, in the order of their first site. */
export function moduleCounts(behaviours: readonly Behaviour[], sites: ReadonlyMap<number, Site>): ModuleCounts[] {
  const rows = new Map<string, ModuleCounts & { first: number }>();
  for (const { behaviour, sites: of } of behaviours)
    for (const { site, casts, cache_hits: hits } of of) {
      const { module, model } = sites.get(site) ?? { module: null, model: null };
      const key = `${model} ${module}`;
      const row = rows.get(key) ?? { module: module ?? '', model: model ?? '', byBehaviour: new Map(), first: site };
      rows.set(key, row);
      row.first = Math.min(row.first, site);
      const sum = row.byBehaviour.get(behaviour) ?? { casts: 0, hits: 0 };
      row.byBehaviour.set(behaviour, { casts: sum.casts + casts, hits: sum.hits + hits });
    }
  return [...rows.values()].sort((a, b) => a.first - b.first);
}

/** A stretch of columns in which all steps did the same; `behaviour` is null where that is not known. */
export interface StepStretch {
  first: number;
  last: number;
  behaviour: number | null;
}

export function stretchesOf(rows: readonly StepRow[]): StepStretch[] {
  return rows.map((row) => ({ first: row.first_step, last: row.last_step, behaviour: typeof row.behaviour === 'number' ? row.behaviour : null }));
}

/** For each of `width` columns the highest count of a module in the steps that the column stands for; −1 = not known. */
export function rowOfCounts(row: ModuleCounts, stretches: readonly StepStretch[], first: number, last: number, width: number, measure: StepMeasure): Float32Array {
  const counts = new Float32Array(width).fill(-1);
  const perStep = width / (last - first + 1);
  for (const stretch of stretches) {
    const from = Math.max(0, Math.floor((stretch.first - first) * perStep));
    const to = Math.min(width, Math.max(from + 1, Math.ceil((stretch.last + 1 - first) * perStep)));
    const count = stretch.behaviour === null ? -1 : (row.byBehaviour.get(stretch.behaviour)?.[measure] ?? 0);
    for (let x = from; x < to; x += 1) if (count > counts[x]) counts[x] = count;
  }
  return counts;
}

export function stretchAt(stretches: readonly StepStretch[], step: number): StepStretch | undefined {
  return stretches.find((one) => step >= one.first && step <= one.last);
}
