// Decides when the next picture is requested and how fine it is. A slow answer makes the next request later and
// coarser, so that work never queues up: one request is in flight at a time, always for the newest window.

export interface Pace {
  live: boolean;
  following: boolean;
  visible: boolean;
  loading: boolean;
  /** The window shows the newest end of a live run. */
  atEnd: boolean;
}

const kFollowMs = 40;
const kAtEndMs = 120;
const kElsewhereMs = 500;
const kLoadingMs = 300;

/** ms from one answer to the next request; null = only on demand. */
export function pollMs(pace: Pace, answerMs: number): number | null {
  if (!pace.visible) return null;
  if (pace.loading) return Math.max(kLoadingMs, answerMs);
  if (!pace.live) return null;
  const wish = pace.following ? kFollowMs : pace.atEnd ? kAtEndMs : kElsewhereMs;
  return Math.max(wish - answerMs, Math.min(answerMs, 1000));
}

/** ms until a failed request is tried again: soon at first, then less and less often. */
export function retryMs(failures: number): number {
  return Math.min(500 * 2 ** Math.max(failures - 1, 0), 10_000);
}

/** The share of the pixels that are requested: 1, 1/2 or 1/4. It falls at once and rises only when there is room. */
export class Fineness {
  share = 1;
  private good = 0;

  answered(ms: number): void {
    if (ms > 150 && this.share > 0.25) {
      this.share /= 2;
      this.good = 0;
    } else if (ms < 60 && this.share < 1) {
      this.good += 1;
      if (this.good >= 8) {
        this.share *= 2;
        this.good = 0;
      }
    }
  }
}

/** The run's clock as seen from here: it says where a live window ends, and moves evenly between pictures. */
export class LiveClock {
  private offset: number | null = null;
  private newest = 0;

  /** `nowMs`: when the answer came; newest and behind are the picture's. */
  told(newestNs: number, behindNs: number, nowMs: number): void {
    const runNow = newestNs + behindNs;
    const measured = runNow - nowMs * 1e6;
    // A late answer makes the run's clock look slow, so the largest offset is the most accurate one. It may sink
    // slowly, in case the clocks drift.
    this.offset = this.offset === null ? measured : Math.max(measured, this.offset - 2e6);
    this.newest = Math.max(newestNs, 0);
  }

  /** Where the window ends: now, but not farther than `idleNs` after the last event. */
  edge(nowMs: number, idleNs: number): number {
    if (this.offset === null) return this.newest;
    return Math.min(nowMs * 1e6 + this.offset, this.newest + idleNs);
  }

  reset(): void {
    this.offset = null;
    this.newest = 0;
  }
}
