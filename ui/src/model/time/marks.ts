// Moments that somebody marked, to come back to them or to show them to a colleague. The address holds them.

export interface Mark {
  /** ns */
  at: number;
  name: string;
}

const kMost = 50;

/** With one more; its name is the smallest number that is free. null: there are enough. */
export function withMark(marks: readonly Mark[], at: number): Mark[] | null {
  if (marks.length >= kMost) return null;
  const names = new Set(marks.map((mark) => mark.name));
  let number = 1;
  while (names.has(String(number))) number += 1;
  return [...marks, { at: Math.round(at), name: String(number) }].sort((a, b) => a.at - b.at);
}

/** The nearest mark within this distance. */
export function markNear(marks: readonly Mark[], at: number, withinNs: number): Mark | null {
  let best: Mark | null = null;
  for (const mark of marks) {
    const distance = Math.abs(mark.at - at);
    if (distance <= withinNs && (best === null || distance < Math.abs(best.at - at))) best = mark;
  }
  return best;
}

export function markText(mark: Mark): string {
  return `${Math.round(mark.at)}|${mark.name}`;
}

export function markOf(text: string): Mark | null {
  const found = /^(-?\d+)\|(.*)$/s.exec(text);
  return found && Number.isSafeInteger(Number(found[1])) ? { at: Number(found[1]), name: found[2] } : null;
}
