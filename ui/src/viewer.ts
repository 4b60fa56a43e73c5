// The actions on the view, by key, mouse or panel: each in one place.

import type { Timeline } from './draw/timeline.ts';
import { Feed } from './feed/feed.ts';
import { FindingWays } from './finding_ways.ts';
import { Going } from './going.ts';
import type { Pointer } from './interact/pointer.ts';
import { keep } from './kept.ts';
import { kColourBy } from './model/looks/colours.ts';
import type { ColourBy } from './model/looks/colours.ts';
import type { Action } from './model/keymap.ts';
import { tracksOf } from './model/rows/lanes.ts';
import { withMark } from './model/time/marks.ts';
import type { Mark } from './model/time/marks.ts';
import type { State } from './model/state.ts';
import { fitting, lengthOf } from './model/time/time_window.ts';
import type { Area, ViewState } from './model/url_state.ts';
import type { FindingsPanel } from './panels/findings.ts';
import { openHelp } from './panels/help.ts';
import { Searching } from './searching.ts';
import { nextPair } from './steps.ts';
import { dismissToast, toast } from './dom.ts';

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
  readonly going: Going;
  readonly searching: Searching;
  readonly findings: FindingWays;
  private comparing: Promise<void> = Promise.resolve();

  constructor(state: State, timeline: Timeline, parts: Parts) {
    this.state = state;
    this.timeline = timeline;
    this.parts = parts;
    this.feed = new Feed(state, () => timeline.room());
    this.going = new Going(state, timeline);
    this.searching = new Searching(state, this.feed, this.going, parts.search);
    this.findings = new FindingWays(state, this.feed, this.going, this.searching, parts.findings);
    state.on(['window', 'lanes'], () => this.feed.want());
  }

  act(action: Action): void {
    const { state, timeline, going, searching, findings } = this;
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
      searchNext: () => void searching.findStep('next'),
      searchPrevious: () => void searching.findStep('previous'),
      findingNext: () => findings.step(1),
      findingPrevious: () => findings.step(-1),
      siteNext: () => void going.neighbour('next', true),
      sitePrevious: () => void going.neighbour('previous', true),
      eventNext: () => void going.neighbour('next', false),
      eventPrevious: () => void going.neighbour('previous', false),
      fitEvent: () => going.fitEvent(),
      alongFlow: () => void going.alongFlow(),
      selectWindow: () => this.selectWindow(),
      list: () => state.openTab('list'),
      filterLanes: () => timeline.filter.focus(),
      mark: () => this.mark(),
      stepBefore: () => this.compareSteps('previous'),
      stepAfter: () => this.compareSteps('next'),
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
    for (const topic of ['look', 'hidden', 'selection', 'compare', 'tables', 'sql', 'marks', 'window', 'event', 'workList', 'finding', 'below', 'flame', 'tab'] as const) state.tell(topic);
    await this.searching.restore(view.find);
    await this.going.chooseOf(view);
  }

  openSource(file: string, line: number | null): void {
    this.state.source = { file, line };
    this.state.openTab('source');
  }

  private selectWindow(): void {
    const { state } = this;
    state.pause();
    const row = this.timeline.gutter.chosen();
    const lanes = row?.kind === 'process' ? state.layout.rows.filter((one) => one.process.process === row.process.process) : row;
    const tracks = lanes ? tracksOf([lanes].flat()) : null;
    this.select({ begin: Math.floor(Math.max(state.window.begin, 0)), end: Math.ceil(state.window.end), tracks });
  }

  select(area: Area): void {
    this.state.selection = area;
    this.state.tell('selection');
    this.state.openTab('selection');
  }

  private at(): number {
    return this.parts.pointer().at ?? (this.state.window.begin + this.state.window.end) / 2;
  }

  private mark(): void {
    const { state } = this;
    const marks = withMark(state.marks, this.at());
    if (!marks) return toast('There are as many marks as the address can hold.');
    state.marks = marks;
    state.tell('marks');
    toast('Marked. The tab Selection has the marks, with a name for each.');
  }

  goToMark({ at }: Mark): void {
    const half = lengthOf(this.state.window) / 2;
    this.state.show({ begin: at - half, end: at + half }, performance.now());
  }

  /** Who presses the key twice goes on by two. */
  private compareSteps(direction: 'next' | 'previous'): void {
    this.comparing = this.comparing.then(() => this.showSteps(direction));
  }

  /** Shows two steps side by side. */
  private async showSteps(direction: 'next' | 'previous'): Promise<void> {
    const { state } = this;
    const pair = await nextPair(state, direction, this.at()).catch(() => null);
    if (!pair) return toast(direction === 'next' ? 'There is no step after this one.' : 'There is no step before this one.');
    const [first, second] = pair;
    state.compareWith = null;
    state.firstStretch = { begin: first.begin, end: first.end, tracks: first.tracks };
    state.selection = { begin: second.begin, end: second.end, tracks: second.tracks };
    state.show(fitting(first.begin, second.end, state.whole, 0.04), performance.now());
    state.tab = 'compare'; // before the panels hear of the selection: it asks for both at once
    state.tell('compare');
    state.tell('selection');
    state.tell('tab');
  }

  private measure(): void {
    const { state } = this;
    if (state.measure) state.measure = null;
    else {
      const at = this.at();
      state.measure = { from: at, to: at, fixed: false };
      state.pause();
      toast('Measuring: click where it ends, Esc to stop.');
    }
    state.tell('marks');
  }

  private escape(): void {
    const { state } = this;
    if (document.activeElement === this.parts.search || state.find !== '') {
      this.parts.clearSearch();
    } else if (state.measure) {
      state.measure = null;
      state.tell('marks');
    } else {
      state.selection = null;
      state.event = null;
      state.tell('selection');
      state.tell('event');
      this.findings.choose(null);
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
