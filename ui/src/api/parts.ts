// Lists that can be long come in parts: each names the address of the next one, relative to its own.

export interface Part {
  next: string | null;
}

/** As many entries as the collector gives at once. */
export const kLargestPart = 10_000;

/** The entries of all parts, in order. */
export async function allParts<Answer extends Part, Entry>(
  ask: (path: string) => Promise<Answer>,
  path: string,
  of: (answer: Answer) => Entry[],
): Promise<Entry[]> {
  const folder = path.slice(0, path.lastIndexOf('/') + 1);
  const entries: Entry[] = [];
  let next: string | null = `${path}${path.includes('?') ? '&' : '?'}limit=${kLargestPart}`;
  while (next !== null) {
    const answer = await ask(next);
    entries.push(...of(answer));
    next = answer.next === null ? null : folder + answer.next;
  }
  return entries;
}
