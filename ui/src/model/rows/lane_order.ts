// The order of lanes and processes when somebody has moved one: keys (lanes.ts) in their order. Rows that are not in
// the list come after those that are, in their usual order.

/** The rows in their usual order, then sorted by the list. */
export function ordered<T>(rows: readonly T[], key: (row: T) => string, order: readonly string[]): T[] {
  if (order.length === 0) return [...rows];
  const places = new Map(order.map((one, place) => [one, place]));
  const place = (row: T) => places.get(key(row)) ?? order.length;
  return [...rows].sort((a, b) => place(a) - place(b));
}

/** The list in which `moved` stands in the place of `target`. `siblings` are both and the others, in their present
 * order. */
export function moving(
  order: readonly string[],
  siblings: readonly string[],
  moved: string,
  target: string,
): readonly string[] {
  const from = siblings.indexOf(moved);
  const to = siblings.indexOf(target);
  if (from < 0 || to < 0 || from === to) return order;
  const now = siblings.filter((key) => key !== moved);
  now.splice(to, 0, moved);
  return [...order.filter((key) => !siblings.includes(key)), ...now];
}
