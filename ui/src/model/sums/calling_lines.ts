// Counts the casts that the lines of a file lead to, however far inwards.

import type { Stacks } from '../../api/told.ts';

/** For each line of the file the casts of all stacks that go through it. A stack that goes through a line twice counts
 * once. `sites` has what each site cast. */
export function castsByCallingLine(file: string, sites: readonly { site: number; casts: number }[], stacks: Stacks): Map<number, number> {
  const lineOf = stacks.frames.map((frame) => (frame.file === file ? frame.line : null));
  const casts = new Map<number, number>();
  for (const { site, casts: count } of sites) {
    if (count === 0) continue;
    const lines = new Set<number>();
    for (let node = stacks.site_nodes[site - 1] ?? 0; node > 0; node = stacks.node_parents[node - 1]) {
      const line = lineOf[stacks.node_frames[node - 1]];
      if (line !== null) lines.add(line);
    }
    for (const line of lines) casts.set(line, (casts.get(line) ?? 0) + count);
  }
  return casts;
}
