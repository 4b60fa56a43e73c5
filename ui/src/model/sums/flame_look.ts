// How a flame view is looked at, and its form in the address.

export const kFlameMeasures = ['time', 'bytes', 'count'] as const;
export type FlameMeasure = (typeof kFlameMeasures)[number];

export interface FlameLook {
  of: 'casts' | 'operators';
  measure: FlameMeasure;
  /** The whole run, or what is shown or selected. */
  range: 'run' | 'shown';
  /** Frames of installed packages are left out. */
  ownCode: boolean;
  /** A table of places, with what calls each and what it calls. */
  sandwich: boolean;
  /** The keys from the root to the box that fills the width. */
  zoomed: readonly string[];
}

export const kPlainFlame: FlameLook = { of: 'casts', measure: 'time', range: 'run', ownCode: true, sandwich: false, zoomed: [] };

/** What differs from the look at first, such as "operators~bytes"; '' = nothing. What is zoomed to is not in it. */
export function flameText(look: FlameLook): string {
  const words = [look.of === 'operators' && 'operators', look.measure !== 'time' && look.measure, look.range === 'shown' && 'shown', !look.ownCode && 'all', look.sandwich && 'calls'];
  return words.filter((word) => word !== false).join('~');
}

export function flameLookOf(text: string, zoomed: readonly string[]): FlameLook {
  const words = new Set(text.split('~'));
  return {
    of: words.has('operators') ? 'operators' : 'casts',
    measure: kFlameMeasures.find((one) => words.has(one)) ?? 'time',
    range: words.has('shown') ? 'shown' : 'run',
    ownCode: !words.has('all'),
    sandwich: words.has('calls'),
    zoomed,
  };
}
