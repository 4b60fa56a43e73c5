// Modules as the tree of their paths, each with the precision that it ran in and the sums of everything within it.

import type { ModuleRow } from '../api/types.ts';

export interface ModuleNode {
  /** The last part of the path; for the root, the model's name. */
  name: string;
  path: string;
  type: string | null;
  /** Casts of this module and all modules within it. */
  casts: number;
  hits: number;
  cpuNs: number;
  bytes: number;
  /** dtype → how often operators computed in it; where no step was deep: how often was cast to it. */
  computed: Map<string, number>;
  castTo: Map<string, number>;
  children: ModuleNode[];
}

function node(name: string, path: string): ModuleNode {
  return { name, path, type: null, casts: 0, hits: 0, cpuNs: 0, bytes: 0, computed: new Map(), castTo: new Map(), children: [] };
}

function addTo(sums: Map<string, number>, more: Record<string, number>): void {
  for (const [dtype, count] of Object.entries(more)) sums.set(dtype, (sums.get(dtype) ?? 0) + count);
}

export function moduleTree(model: string, modules: readonly ModuleRow[]): ModuleNode {
  const root = node(model, '');
  const byPath = new Map<string, ModuleNode>([['', root]]);
  const nodeAt = (path: string): ModuleNode => {
    const known = byPath.get(path);
    if (known) return known;
    const cut = path.lastIndexOf('.');
    const parent = nodeAt(cut < 0 ? '' : path.slice(0, cut));
    const made = node(path.slice(cut + 1), path);
    parent.children.push(made);
    byPath.set(path, made);
    return made;
  };
  for (const row of modules) {
    nodeAt(row.module).type = row.module_type;
    for (let path: string | null = row.module; path !== null; path = path === '' ? null : path.slice(0, Math.max(path.lastIndexOf('.'), 0))) {
      const at = nodeAt(path);
      at.casts += row.casts;
      at.hits += row.cache_hits;
      at.cpuNs += row.cpu_ns;
      at.bytes += row.bytes;
      addTo(at.computed, row.calls_by_computed_in);
      addTo(at.castTo, row.casts_by_to_dtype);
    }
  }
  sortTree(root);
  return root;
}

function sortTree(at: ModuleNode): void {
  at.children.sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
  at.children.forEach(sortTree);
}

/** The dtypes with their shares, the largest first. */
export function precisionOf(at: ModuleNode): { dtype: string; share: number }[] {
  const of = at.computed.size > 0 ? at.computed : at.castTo;
  const total = [...of.values()].reduce((sum, count) => sum + count, 0);
  if (total === 0) return [];
  return [...of].map(([dtype, count]) => ({ dtype, share: count / total })).sort((a, b) => b.share - a.share);
}
