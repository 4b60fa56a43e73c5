// The order in which people look for names: layer 2 before layer 10.

// localeCompare makes one of these for each pair, which takes 160 ms for 10,000 names instead of 10.
const kCollator = new Intl.Collator('en', { numeric: true });

/** Below zero: `a` comes first. */
export function inOrder(a: string, b: string): number {
  return kCollator.compare(a, b);
}
