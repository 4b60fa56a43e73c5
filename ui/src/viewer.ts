// The actions on the view, by key, mouse or panel: each in one place.

import { Feed } from './feed/feed.ts';
import { api, release } from './api/client.ts';
import type { EventDetail, Finding, TrackKind } from './api/types.ts';
import type { Timeline } from './draw/timeline.ts';
import { kColourBy } from './model/colours.ts';
import type { ColourBy } from './model/colours.ts';
import { stepOf } from './model/format.ts';
import type { Action } from './model/keymap.ts';
import type { ViewState } from './model/url_state.ts';
import type { FindingsPanel } from './panels/findings.ts';
import type { State } from './model/state.ts';
import { rowOf, tracksOf } from './model/lanes.ts';
import { centred, fitting, lengthOf, showing } from './model/time_window.ts';
import { keep } from './kept.ts';
import { otherEnd } from './launch.ts';
import type { OtherEnd } from './launch.ts';
import { openHelp } from './panels/help.ts';
import { dismissToast, toast } from './dom.ts';
import type { Pointer } from './interact/pointer.ts';

const kAroundInstantNs = 10_000;
const kAroundFindingNs = 50e6;

export interface Parts {
  search: HTMLInputElement;
  clearSearch(): void;
  foldSide(): void;
  pointer(): Pointer;
  findings(): FindingsPanel;
}

export class Viewer {
  readonly feed: Feed;
  readonly state: State;
  private readonly timeline: Timeline;
  private readonly parts: Parts;
  private finding = 0;

  constructor(state: State, timeline: Timeline, parts: Parts) {
    this.state = state;
    this.timeline = timeline;
    this.parts = parts;
    this.feed = new Feed(state, () => timeline.room());
    state.on(['window', 'lanes'], () => this.feed.want());
  }

  act(action: Action): void {
    const { state, timeline } = this;
    const nowMs = performance.now();
    const page = timeline.lanesSurface.height * 0.8;
    const acts: Partial<Record<Action, () => void>> = {
      scrollUp: () => timeline.scrollBy(-40),
      scrollDown: () => timeline.scrollBy(40),
      pageUp: () => timeline.scrollBy(-page),
      pageDown: () => timeline.scrollBy(page),
      all: () => state.showAll(nowMs),
      back: () => state.back(),
      follow: () => this.follow(),
      measure: () => this.measure(),
      colours: () => this.colourBy(kColourBy[(kColourBy.indexOf(state.colourBy) + 1) % kColourBy.length]),
      theme: () => this.nextTheme(),
      search: () => this.parts.search.select(),
      searchNext: () => void this.findStep('next'),
      searchPrevious: () => void this.findStep('previous'),
      findingNext: () => this.stepFinding(1),
      findingPrevious: () => this.stepFinding(-1),
      siteNext: () => void this.neighbour('next', true),
      sitePrevious: () => void this.neighbour('previous', true),
      eventNext: () => void this.neighbour('next', false),
      eventPrevious: () => void this.neighbour('previous', false),
      fitEvent: () => this.fitEvent(),
      alongFlow: () => void this.alongFlow(),
      selectWindow: () => this.selectWindow(),
      list: () => state.openTab('list'),
      filterLanes: () => timeline.filter.focus(),
      side: () => this.parts.foldSide(),
      copyLink: () => void this.copyLink(),
      help: () => openHelp(),
      escape: () => this.escape(),
    };
    acts[action]?.();
  }

  follow(): void {
    const { state } = this;
    if (!state.live) return toast('This run has ended: there is nothing to follow.');
    if (state.following) state.pause();
    else state.follow();
    this.feed.want();
  }

  colourBy(by: ColourBy): void {
    this.state.colourBy = by;
    keep('colours', by);
    this.state.tell('look');
  }

  nextTheme(): void {
    const order = ['system', 'light', 'dark'] as const;
    this.state.themeChoice = order[(order.indexOf(this.state.themeChoice) + 1) % order.length];
    keep('theme', this.state.themeChoice);
    this.applyTheme();
  }

  applyTheme(): void {
    const { state } = this;
    const dark = matchMedia('(prefers-color-scheme: dark)').matches;
    state.theme = state.themeChoice === 'system' ? (dark ? 'dark' : 'light') : state.themeChoice;
    document.documentElement.dataset.theme = state.theme;
    state.tell('look');
  }

  /** Shows a view that an address names, as after Back. */
  async restore(view: ViewState): Promise<void> {
    const { state } = this;
    state.take(view);
    if (!state.chosen && !state.live) state.window = state.allWindow();
    state.event = null;
    this.parts.search.value = view.find;
    state.layOut();
    for (const topic of ['look', 'hidden', 'selection', 'compare', 'tables', 'window', 'event', 'finding', 'tab'] as const) state.tell(topic);
    await this.find(view.find);
    if (view.event) await this.choose(view.event.track, view.event.at, 0, false);
  }

  /** Chooses the event at this place of a track, and shows its details unless the panel should stay as it is. */
  async choose(track: number, at: number, withinNs: number, details = true): Promise<void> {
    const { state } = this;
    if (!state.run) return;
    try {
      const event = await api.event(state.run.run_name, track, at, withinNs);
      if (!event) return toast('Single events of this stretch are no longer held.');
      this.choseEvent(event, details);
    } catch {
      toast('That event could not be asked for.');
    }
  }

  choseEvent(event: EventDetail, details = true): void {
    const { state } = this;
    state.event = event;
    state.pause();
    state.tell('event');
    if (details) state.openTab('detail');
  }

  private async neighbour(direction: 'next' | 'previous', sameSite: boolean): Promise<void> {
    const { state } = this;
    if (!state.run || !state.event) return toast('Choose an event first: click one.');
    const from = state.event;
    const event = await api
      .neighbour(state.run.run_name, from.begin_ns, direction, {
        track: sameSite ? undefined : from.track,
        track_kind: sameSite ? state.run.tracks.find((one) => one.track === from.track)?.track_kind : undefined,
        subject: sameSite ? from.subject : undefined,
        hide: this.hiddenBut(from.shade),
      })
      .catch(() => null);
    if (!event) return toast(direction === 'next' ? 'That was the last one.' : 'That was the first one.');
    await this.goToEvent(event);
  }

  /** Hidden kinds are skipped, except the kind of the chosen event. */
  private hiddenBut(shade: number): number[] {
    return this.state.hiddenShades().filter((one) => one !== shade);
  }

  /** Goes to an event of this subject: the next one in view, or else the first. */
  async chooseSubject(
    kind: TrackKind,
    subject: number,
    within: { begin: number } | null = null,
    otherwise = 'No single event of it is in the timeline.',
  ): Promise<void> {
    const { state } = this;
    if (!state.run) return;
    const { run_name: id, tracks } = state.run;
    const here = within?.begin ?? state.window.begin;
    for (const from of [here - 1, -1]) {
      const event = await api.neighbour(id, from, 'next', { track_kind: kind, subject }).catch(() => null);
      if (event && tracks.some((one) => one.track === event.track && one.track_kind === kind)) return this.goToEvent(event);
    }
    toast(otherwise);
  }

  private async goToEvent(event: EventDetail, details = true): Promise<void> {
    const { state } = this;
    state.show(showing(state.window, event.begin_ns, event.end_ns, state.whole), performance.now());
    this.revealTrack(event.track);
    await this.choose(event.track, event.begin_ns, 0, details);
  }

  /** Goes on along the chosen event's flow: across a launch, or else to the first event that belongs to it. */
  private async alongFlow(): Promise<void> {
    const { state } = this;
    const from = state.event;
    if (!state.run || !from) return toast('Choose an event first: click one.');
    const launch = await otherEnd(state.run, state.definitions, from).catch(() => null);
    const to = launch ?? from.linked_events?.[0]?.event;
    if (!to) return toast('Nothing is known of where it comes from or goes to: that takes a deep step.');
    await this.goToLinked(to);
  }

  /** Brings the chosen event and another one that belongs to it into sight, and chooses that one. */
  async goToLinked(to: OtherEnd): Promise<void> {
    const { state } = this;
    const from = state.event ?? to;
    state.show(showing(state.window, Math.min(from.begin_ns, to.begin_ns), Math.max(from.end_ns, to.end_ns), state.whole), performance.now());
    this.revealTrack(to.track);
    await this.choose(to.track, to.begin_ns, 0);
  }

  /** Scrolls so that a track is in sight. */
  revealTrack(track: number): void {
    const { layout, scrollTop, run } = this.state;
    const of = run?.tracks.find((one) => one.track === track);
    const row = of && rowOf(layout, of);
    if (!row) return;
    const room = this.timeline.lanesSurface.height - layout.pinnedHeight;
    if (row.y < scrollTop) this.timeline.scrollBy(row.y - scrollTop);
    else if (row.y + row.height > scrollTop + room) this.timeline.scrollBy(row.y + row.height - room - scrollTop);
  }

  /** Shows the first event of a finding in the timeline, and marks all of them. The panel stays as it is. */
  goToFinding(finding: Finding): void {
    if (finding.first_event_ns === null) return;
    const { state } = this;
    this.chooseFinding(finding);
    const length = Math.min(lengthOf(state.window), kAroundFindingNs, lengthOf(state.whole) / 4);
    state.show(centred(finding.first_event_ns, length, state.whole), performance.now());
    if (finding.track === null) return;
    this.revealTrack(finding.track);
    void this.choose(finding.track, finding.first_event_ns, 1e3, false);
  }

  /** Shows a finding among the others. */
  openFinding(finding: Finding): void {
    this.state.openTab('findings');
    this.chooseFinding(finding);
  }

  /** Shows the first of the findings that one mark stands for, or the one after the chosen one. */
  openFindings(marked: readonly Finding[]): void {
    const at = marked.findIndex((one) => one.fingerprint === this.state.finding);
    this.openFinding(marked[(at + 1) % marked.length]);
  }

  private chooseFinding(finding: Finding | null): void {
    const { state } = this;
    state.finding = finding?.fingerprint ?? null;
    if (state.marked === '') this.forgetFound();
    state.tell('finding');
    this.feed.wantAll();
  }

  private stepFinding(step: 1 | -1): void {
    const next = this.parts.findings().neighbour(step);
    if (!next) return toast(this.state.findings.length === 0 ? 'There are no findings.' : step > 0 ? 'That was the last finding.' : 'That was the first finding.');
    this.openFinding(next);
    this.goToFinding(next);
  }

  openSource(file: string, line: number | null): void {
    this.state.source = { file, line };
    this.state.openTab('source');
  }

  async find(asked: string): Promise<void> {
    const { state } = this;
    // A step is a place, not a name: Enter goes there.
    const text = stepOf(asked) === null ? asked : '';
    if (text === '' && state.find === '') return;
    this.finding += 1;
    const turn = this.finding;
    state.find = text;
    state.found = null;
    state.findProblem = null;
    if (text === '') this.show('');
    state.tell('find');
    if (text === '' || !state.run) return;
    // What is still being typed is often no search yet: then nothing else is asked for.
    const problem = await api.searchProblem(text).catch(() => null);
    if (turn !== this.finding) return;
    state.findProblem = problem;
    this.show(problem === null ? text : '');
    if (problem !== null) return state.tell('find');
    const found = await api.find(state.run.run_name, text, state.hiddenShades()).catch(() => null);
    if (turn !== this.finding) return;
    state.found = found;
    state.tell('find');
  }

  /** Shows what this search finds, brighter than the rest or alone; '': everything. */
  private show(search: string): void {
    const { state } = this;
    state.sought = search;
    if (search === '') this.forgetFound();
    this.feed.wantAll();
  }

  private forgetFound(): void {
    const { state } = this;
    release(state.foundPicture);
    release(state.foundOverview);
    state.foundPicture = state.foundOverview = null;
  }

  /** Hides what the search does not find, or shows it again. */
  toggleOnlyFound(): void {
    const { state } = this;
    state.onlyFound = !state.onlyFound;
    this.forgetFound();
    state.tell('find');
    this.feed.wantAll();
  }

  async findStep(direction: 'next' | 'previous'): Promise<void> {
    const { state } = this;
    const step = stepOf(this.parts.search.value);
    if (step !== null) return this.goToStep(step);
    const { marked } = state;
    if (!state.run || (state.find === '' && marked === '')) return this.parts.search.focus();
    if (state.findProblem !== null) return toast(state.findProblem);
    const middle = state.event ? state.event.begin_ns : direction === 'next' ? state.window.begin : state.window.end;
    const event = await api.neighbour(state.run.run_name, middle, direction, { find: marked, hide: state.hiddenShades() }).catch(() => null);
    if (!event && state.found?.event_count === 0 && state.hidden.size > 0) return toast(`Nothing that is not hidden is called “${state.find}”.`);
    if (!event) return toast(state.found?.event_count === 0 ? `Nothing in the timeline is called “${state.find}”.` : direction === 'next' ? 'No hit after this.' : 'No hit before this.');
    await this.goToEvent(event, state.find !== '');
  }

  /** Marks what a search finds, and goes to a step; `step` is the process's own number. */
  async goToStepOf(search: string, step: number): Promise<void> {
    await this.find(search);
    await this.goToOwnStep(step, 'This step is no longer in the timeline.');
  }

  private async goToStep(number: number): Promise<void> {
    await this.goToOwnStep(this.state.definitions.steps.stepOf(number), `There is no step ${number} in the timeline.`);
  }

  /** `step` is the process's own number. */
  private async goToOwnStep(step: number, missing: string): Promise<void> {
    const { state } = this;
    if (step > 0) return this.chooseSubject('steps', step, { begin: 0 }, missing);
    // For the API, 0 means any step: either this is the first one, or there is none.
    const first = state.run && (await api.neighbour(state.run.run_name, -1, 'next', { track_kind: 'steps' }).catch(() => null));
    if (!first || first.subject !== 0) return toast(missing);
    await this.goToEvent(first);
  }

  private fitEvent(): void {
    const { state } = this;
    if (!state.event) return;
    const { begin_ns: begin, end_ns: end } = state.event;
    // An instant has no length of its own: the time around it is what people want to see.
    const air = begin === end ? kAroundInstantNs : 0;
    state.show(fitting(begin - air, end + air, state.whole), performance.now());
  }

  private selectWindow(): void {
    const { state } = this;
    state.pause();
    const row = this.timeline.gutter.chosen();
    const lanes = row?.kind === 'process' ? state.layout.rows.filter((one) => one.process.process === row.process.process) : row;
    const tracks = lanes ? tracksOf([lanes].flat()) : null;
    state.selection = { begin: Math.floor(Math.max(state.window.begin, 0)), end: Math.ceil(state.window.end), tracks };
    state.tell('selection');
    state.openTab('selection');
  }

  private measure(): void {
    const { state } = this;
    if (state.measure) state.measure = null;
    else {
      const at = this.parts.pointer().at ?? (state.window.begin + state.window.end) / 2;
      state.measure = { from: at, to: at, fixed: false };
      state.pause();
      toast('Measuring: click where it ends, Esc to stop.');
    }
    this.timeline.soon();
  }

  private escape(): void {
    const { state } = this;
    if (document.activeElement === this.parts.search || state.find !== '') {
      this.parts.clearSearch();
    } else if (state.measure) state.measure = null;
    else {
      state.selection = null;
      state.event = null;
      state.tell('selection');
      state.tell('event');
      this.chooseFinding(null);
    }
    dismissToast();
    (document.activeElement as HTMLElement | null)?.blur();
    this.timeline.lanes.focus({ preventScroll: true });
    this.timeline.soon();
  }

  async copyLink(): Promise<void> {
    try {
      await navigator.clipboard.writeText(location.href);
      toast('Link copied.');
    } catch {
      toast('The address line holds the link to this place.');
    }
  }
}
