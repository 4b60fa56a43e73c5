// Modules in another precision than the others of their type, with the autocast region that decided it.

import type { OperatorUse, Region } from '../../api/types.ts';
import { oddModules } from './module_tree.ts';
import type { ModuleNode } from './module_tree.ts';

/** Modules of one type that one region put into one dtype. */
export interface OddGroup {
  modules: { model: string; node: ModuleNode }[];
  type: string;
  dtype: string;
  usual: string;
  /** How many of the type compute in the usual dtype, of each model. */
  others: number;
  /** The region that their operators lay in; null: it is not known, or there are several. Regions of one line that were
   * entered from several places are one. */
  region: Region | null;
}

export function usesOf(model: string, path: string, uses: readonly OperatorUse[]): OperatorUse[] {
  return uses.filter((use) => (use.module ?? '') === (path === '' ? model : path) && (use.model === null || use.model === model));
}

export function oddGroups(trees: readonly ModuleNode[], uses: readonly OperatorUse[], regions: ReadonlyMap<number, Region>): OddGroup[] {
  const groups = new Map<string, OddGroup>();
  const byModule = new Map<string | null, OperatorUse[]>();
  for (const use of uses) {
    const known = byModule.get(use.module);
    if (known) known.push(use);
    else byModule.set(use.module, [use]);
  }
  for (const tree of trees)
    for (const { node, dtype, usual, others } of oddModules(tree)) {
      const within = new Map<string, Region | null>();
      for (const use of usesOf(tree.name, node.path, byModule.get(node.path) ?? [])) {
        const region = regions.get(use.region ?? -1) ?? null;
        if (use.computed_in === dtype) within.set(JSON.stringify(region && [region.label, region.file, region.line]), region);
      }
      const [place, region] = within.size === 1 ? [...within][0] : ['', null];
      const key = JSON.stringify([node.type, dtype, usual, others, place]);
      const group = groups.get(key) ?? { modules: [], type: node.type ?? '', dtype, usual, others, region };
      groups.set(key, group);
      group.modules.push({ model: tree.name, node });
    }
  return [...groups.values()];
}
