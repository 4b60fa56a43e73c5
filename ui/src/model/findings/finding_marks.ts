// Where findings are marked over the timeline: each at its first event. Marks that would cover each other become one.

import type { Finding } from '../../api/types.ts';
import type { TimeScale } from '../time/time_window.ts';

export interface FindingMark {
  /** css px, as the scale counts them. */
  x: number;
  /** The most severe first. */
  findings: Finding[];
}

// As wide as a mark with its count, and a little more.
const kMergePx = 46;
const kBeyondPx = 8;

type InTime = Finding & { first_event_ns: number; track: number };

export class FindingMarks {
  /** In order of time. */
  private readonly byTrack = new Map<number, InTime[]>();
  private readonly byTime: InTime[];
  private readonly rank: Map<Finding, number>;

  /** `findings` come with the most severe first. */
  constructor(findings: readonly Finding[]) {
    this.rank = new Map(findings.map((finding, i) => [finding, i]));
    this.byTime = findings.filter((one): one is InTime => one.first_event_ns !== null && one.track !== null).sort((a, b) => a.first_event_ns - b.first_event_ns);
    for (const finding of this.byTime) {
      const list = this.byTrack.get(finding.track);
      if (list) list.push(finding);
      else this.byTrack.set(finding.track, [finding]);
    }
  }

  tracks(): Iterable<number> {
    return this.byTrack.keys();
  }

  onTrack(track: number, scale: TimeScale): FindingMark[] {
    return this.merged(this.byTrack.get(track) ?? [], scale);
  }

  onAll(scale: TimeScale): FindingMark[] {
    return this.merged(this.byTime, scale);
  }

  private merged(sorted: readonly InTime[], scale: TimeScale): FindingMark[] {
    const marks: FindingMark[] = [];
    for (let i = firstFrom(sorted, scale.ns(-kBeyondPx)); i < sorted.length; i += 1) {
      const x = scale.px(sorted[i].first_event_ns);
      if (x > scale.widthPx + kBeyondPx) break;
      const last = marks[marks.length - 1];
      if (last && x - last.x < kMergePx) last.findings.push(sorted[i]);
      else marks.push({ x, findings: [sorted[i]] });
    }
    for (const mark of marks) if (mark.findings.length > 1) mark.findings.sort((a, b) => this.rank.get(a)! - this.rank.get(b)!);
    return marks;
  }
}

/** The place of the first finding that is not before `ns`. */
function firstFrom(sorted: readonly InTime[], ns: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle].first_event_ns < ns) low = middle + 1;
    else high = middle;
  }
  return low;
}
