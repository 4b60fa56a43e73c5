// The stretch of time that is shown, and how people move it. All times are ns since the run began; only TimeScale knows
// pixels: it is the one place that turns ns into css px and back.

export interface TimeWindow {
  readonly begin: number;
  readonly end: number;
}

export const kShortestNs = 200;
// The share of the window that may lie outside the run: the ends stay within reach, and nobody gets lost.
const kOutside = 0.5;

/** Whether they have a moment in common. */
export function overlap(a: TimeWindow, b: TimeWindow): boolean {
  return a.begin < b.end && b.begin < a.end;
}

export function lengthOf(window: TimeWindow): number {
  return window.end - window.begin;
}

/** Keeps a window within reach of the whole run. */
export function limited(window: TimeWindow, whole: TimeWindow): TimeWindow {
  const longest = Math.max(lengthOf(whole) * (1 + kOutside), kShortestNs);
  const length = Math.min(Math.max(lengthOf(window), kShortestNs), longest);
  const middle = (window.begin + window.end) / 2;
  const lowest = whole.begin - length * kOutside;
  const highest = whole.end + length * kOutside;
  const begin = Math.min(Math.max(middle - length / 2, lowest), Math.max(lowest, highest - length));
  return { begin, end: begin + length };
}

/** factor < 1 comes nearer; the moment `at` stays where it is. */
export function zoomed(window: TimeWindow, at: number, factor: number, whole: TimeWindow): TimeWindow {
  const longest = Math.max(lengthOf(whole) * (1 + kOutside), kShortestNs);
  const length = Math.min(Math.max(lengthOf(window) * factor, kShortestNs), longest);
  const share = (at - window.begin) / lengthOf(window);
  return limited({ begin: at - share * length, end: at + (1 - share) * length }, whole);
}

export function panned(window: TimeWindow, ns: number, whole: TimeWindow): TimeWindow {
  return limited({ begin: window.begin + ns, end: window.end + ns }, whole);
}

// The share of the whole run that is shown before its begin and after its end.
export const kAir = 0.015;

/** The window that shows [begin, end] with some air around it. */
export function fitting(begin: number, end: number, whole: TimeWindow, air = 0.15): TimeWindow {
  const length = Math.max(end - begin, kShortestNs / 2);
  const middle = (begin + end) / 2;
  return limited({ begin: middle - length * (0.5 + air), end: middle + length * (0.5 + air) }, whole);
}

/** Moves as little as necessary so that [begin, end) is well within the window. */
export function showing(window: TimeWindow, begin: number, end: number, whole: TimeWindow): TimeWindow {
  const length = lengthOf(window);
  if (end - begin > length) return fitting(begin, end, whole);
  const margin = Math.min(length * 0.1, (length - (end - begin)) / 2);
  if (begin >= window.begin + margin && end <= window.end - margin) return window;
  return centred((begin + end) / 2, length, whole);
}

/** The window of this length with `at` in its middle, but not beyond the ends of the run, where nothing is. */
export function centred(at: number, length: number, whole: TimeWindow): TimeWindow {
  const air = lengthOf(whole) * kAir;
  const first = whole.begin - air;
  const last = Math.max(whole.end + air - length, first);
  const from = Math.min(Math.max(at - length / 2, first), last);
  return limited({ begin: from, end: from + length }, whole);
}

export function same(a: TimeWindow, b: TimeWindow): boolean {
  return a.begin === b.begin && a.end === b.end;
}

/** ns ↔ css px of one drawing surface. */
export class TimeScale {
  readonly window: TimeWindow;
  readonly widthPx: number;
  readonly pxPerNs: number;

  constructor(window: TimeWindow, widthPx: number) {
    this.window = window;
    this.widthPx = widthPx;
    this.pxPerNs = widthPx / lengthOf(window);
  }

  px(ns: number): number {
    return (ns - this.window.begin) * this.pxPerNs;
  }

  ns(px: number): number {
    return this.window.begin + px / this.pxPerNs;
  }
}

/** The earlier windows, for Backspace. A change that follows the last one at once belongs to it. */
export class WindowHistory {
  private readonly entries: TimeWindow[] = [];
  private lastChangeMs = -Infinity;

  remember(before: TimeWindow, nowMs: number): void {
    if (nowMs - this.lastChangeMs > 700) {
      this.entries.push(before);
      if (this.entries.length > 100) this.entries.shift();
    }
    this.lastChangeMs = nowMs;
  }

  back(): TimeWindow | undefined {
    this.lastChangeMs = -Infinity;
    return this.entries.pop();
  }
}
