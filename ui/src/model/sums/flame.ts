// Flame views: values of leaves (casts, operators) added up along paths (stacks, or module paths), and laid out as
// boxes that are as wide as their share.

export interface Leaf {
  /** From the outside in; each step is a key of FlameNames. */
  path: readonly string[];
  value: number;
  /** What most of it is cast to or computed in; '' = not known. */
  dtype: string;
}

export interface FlameNode {
  /** The key of the last step; '' for the root. */
  key: string;
  parent: FlameNode | null;
  /** The sum of all leaves in it. */
  value: number;
  /** The part of it that ends here. */
  own: number;
  byDtype: Map<string, number>;
  /** The largest first. */
  children: FlameNode[];
}

function nodeOf(key: string, parent: FlameNode | null): FlameNode {
  return { key, parent, value: 0, own: 0, byDtype: new Map(), children: [] };
}

/** Adds the leaves up. Those of no value are left out. */
export function flameOf(leaves: readonly Leaf[]): FlameNode {
  const root = nodeOf('', null);
  const children = new Map<FlameNode, Map<string, FlameNode>>();
  for (const { path, value, dtype } of leaves) {
    if (value <= 0) continue;
    let node = root;
    add(node, value, dtype);
    for (const key of path) {
      let known = children.get(node);
      if (!known) children.set(node, (known = new Map()));
      let child = known.get(key);
      if (!child) {
        known.set(key, (child = nodeOf(key, node)));
        node.children.push(child);
      }
      node = child;
      add(node, value, dtype);
    }
    node.own += value;
  }
  const sort = (node: FlameNode) => {
    node.children.sort((a, b) => b.value - a.value);
    node.children.forEach(sort);
  };
  sort(root);
  return root;
}

function add(node: FlameNode, value: number, dtype: string): void {
  node.value += value;
  node.byDtype.set(dtype, (node.byDtype.get(dtype) ?? 0) + value);
}

/** The dtype of most of a node. */
export function mostDtype(node: FlameNode): string {
  let best = '';
  let most = -1;
  for (const [dtype, value] of node.byDtype)
    if (value > most) {
      most = value;
      best = dtype;
    }
  return best;
}

export interface FlameBox {
  /** For the box of several that are too narrow: what holds them. */
  node: FlameNode;
  /** How many children the box stands for that are too narrow to be seen; 0: it is a node's own. */
  rest: number;
  /** Rows from the top. */
  depth: number;
  /** Shares of the width. */
  left: number;
  width: number;
}

/** The boxes below `node`, which fills the width, and above it those that hold it, unless they are not wanted. Boxes
 * narrower than `least` (a share) are put together: nobody could see or click one of them. */
export function boxesOf(node: FlameNode, least: number, withHolders = true): FlameBox[] {
  const above: FlameNode[] = [node];
  for (let at = node.parent; at && withHolders; at = at.parent) above.unshift(at);
  const boxes: FlameBox[] = above.map((one, depth) => ({ node: one, rest: 0, depth, left: 0, width: 1 }));
  const place = (one: FlameNode, depth: number, left: number) => {
    let at = left;
    // The largest come first: those that are too narrow lie together at the end.
    const seen = one.children.filter((child) => child.value / node.value >= least);
    for (const child of seen) {
      const width = child.value / node.value;
      boxes.push({ node: child, rest: 0, depth, left: at, width });
      place(child, depth + 1, at);
      at += width;
    }
    const rest = one.children.slice(seen.length);
    const width = rest.reduce((sum, child) => sum + child.value, 0) / node.value;
    if (rest.length > 0 && width >= least) boxes.push({ node: one, rest: rest.length, depth, left: at, width });
  };
  if (node.value > 0) place(node, above.length, 0);
  return boxes;
}

/** The keys from the root to a node, by which it is found again in a newer flame. */
export function pathOf(node: FlameNode): string[] {
  const path: string[] = [];
  for (let at: FlameNode | null = node; at?.parent; at = at.parent) path.unshift(at.key);
  return path;
}

/** The node at a path, or as far along it as there is one. */
export function nodeAt(root: FlameNode, path: readonly string[]): FlameNode {
  let node = root;
  for (const key of path) {
    const child = node.children.find((one) => one.key === key);
    if (!child) break;
    node = child;
  }
  return node;
}

export interface KeySum {
  key: string;
  own: number;
  total: number;
}

/** For each key what ends in it, and what is in it: a path that has a key twice counts once. */
export function sumsByKey(leaves: readonly Leaf[]): KeySum[] {
  const sums = new Map<string, KeySum>();
  for (const { path, value } of leaves) {
    if (value <= 0) continue;
    for (const key of new Set(path)) {
      const sum = sums.get(key) ?? { key, own: 0, total: 0 };
      sums.set(key, sum);
      sum.total += value;
      if (key === path[path.length - 1]) sum.own += value;
    }
  }
  return [...sums.values()].sort((a, b) => b.total - a.total);
}

/** The callers of a key, from it outwards, and what it calls: the two halves of a sandwich view. Of a path that has the
 * key twice, the outermost counts. */
export function sandwichOf(leaves: readonly Leaf[], key: string): { callers: FlameNode; callees: FlameNode } {
  const callers: Leaf[] = [];
  const callees: Leaf[] = [];
  for (const leaf of leaves) {
    const at = leaf.path.indexOf(key);
    if (at < 0) continue;
    callers.push({ ...leaf, path: leaf.path.slice(0, at + 1).reverse() });
    callees.push({ ...leaf, path: leaf.path.slice(at) });
  }
  return { callers: flameOf(callers), callees: flameOf(callees) };
}
