// The ways between findings and the timeline.

import type { Finding } from './api/types.ts';
import { toast } from './dom.ts';
import type { Feed } from './feed/feed.ts';
import type { Going } from './going.ts';
import type { State } from './model/state.ts';
import { centred, lengthOf } from './model/time/time_window.ts';
import type { FindingsPanel } from './panels/findings.ts';
import type { Searching } from './searching.ts';

const kAroundFindingNs = 50e6;

export class FindingWays {
  private readonly state: State;
  private readonly feed: Feed;
  private readonly going: Going;
  private readonly searching: Searching;
  private readonly list: () => FindingsPanel;

  constructor(state: State, feed: Feed, going: Going, searching: Searching, list: () => FindingsPanel) {
    this.state = state;
    this.feed = feed;
    this.going = going;
    this.searching = searching;
    this.list = list;
  }

  /** Shows the first event of a finding in the timeline, and marks all of them. The panel stays as it is. */
  goTo(finding: Finding): void {
    if (finding.first_event_ns === null) return;
    const { state } = this;
    this.choose(finding);
    const length = Math.min(lengthOf(state.window), kAroundFindingNs, lengthOf(state.whole) / 4);
    state.show(centred(finding.first_event_ns, length, state.whole), performance.now());
    if (finding.track === null) return;
    this.going.revealTrack(finding.track);
    void this.going.choose(finding.track, finding.first_event_ns, 1e3, { details: false });
  }

  /** Shows a finding among the others. */
  open(finding: Finding): void {
    this.state.openTab('findings');
    this.choose(finding);
  }

  /** Shows the first of the findings that one mark stands for, or the one after the chosen one. */
  openOneOf(marked: readonly Finding[]): void {
    const at = marked.findIndex((one) => one.fingerprint === this.state.finding);
    this.open(marked[(at + 1) % marked.length]);
  }

  choose(finding: Finding | null): void {
    const { state } = this;
    state.finding = finding?.fingerprint ?? null;
    if (state.marked === '') this.searching.forgetFound();
    state.tell('finding');
    this.feed.wantAll();
  }

  /** Goes to the next finding of the list, or to the one before. */
  step(step: 1 | -1): void {
    const next = this.list().neighbour(step);
    if (!next) return toast(this.state.findings.length === 0 ? 'There are no findings.' : step > 0 ? 'That was the last finding.' : 'That was the first finding.');
    this.open(next);
    this.goTo(next);
  }
}
