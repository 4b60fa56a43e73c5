// Modules as the tree of their paths, each with the precision that it ran in and the sums of everything within it.

import type { ModuleRow } from '../../api/types.ts';
import { inOrder } from '../words/order.ts';

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
  at.children.sort((a, b) => inOrder(a.name, b.name));
  at.children.forEach(sortTree);
}

/** The dtypes with their shares, the largest first. */
export function precisionOf(at: ModuleNode): { dtype: string; share: number }[] {
  const of = at.computed.size > 0 ? at.computed : at.castTo;
  const total = [...of.values()].reduce((sum, count) => sum + count, 0);
  if (total === 0) return [];
  return [...of].map(([dtype, count]) => ({ dtype, share: count / total })).sort((a, b) => b.share - a.share);
}

export interface OddModule {
  node: ModuleNode;
  dtype: string;
  /** What the others of its type compute in, and how many they are. */
  usual: string;
  others: number;
}

// With fewer of a type there is no "usual".
const kLeastOfType = 3;

/** Modules that computed in another dtype than the others of their type do. */
export function oddModules(tree: ModuleNode): OddModule[] {
  const byType = new Map<string, ModuleNode[]>();
  const gather = (at: ModuleNode) => {
    // A module that holds others is a mixture of those.
    if (at.type !== null && at.computed.size > 0 && at.children.length === 0) byType.set(at.type, [...(byType.get(at.type) ?? []), at]);
    at.children.forEach(gather);
  };
  gather(tree);
  const odd: OddModule[] = [];
  for (const nodes of byType.values()) {
    if (nodes.length < kLeastOfType) continue;
    const counts = new Map<string, number>();
    for (const one of nodes) counts.set(precisionOf(one)[0].dtype, (counts.get(precisionOf(one)[0].dtype) ?? 0) + 1);
    const [usual, others] = [...counts].reduce((a, b) => (b[1] > a[1] ? b : a));
    if (others * 2 <= nodes.length) continue;
    for (const one of nodes) if (precisionOf(one)[0].dtype !== usual) odd.push({ node: one, dtype: precisionOf(one)[0].dtype, usual, others });
  }
  return odd;
}
