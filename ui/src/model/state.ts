// Everything that the page knows and shows, in one place. Code that changes something says so (`tell`), and code that
// draws listens. There is no document and no network here.

import type { EventDetail, FindAnswer, Finding, Run, RunEntry } from '../api/types.ts';
import type { Picture } from '../api/picture.ts';
import type { ColourBy, Theme } from './looks/colours.ts';
import { legendKey } from './looks/colours.ts';
import { Definitions } from './definitions.ts';
import { kNoEditor } from './words/editor.ts';
import type { EditorChoice } from './words/editor.ts';
import { FindingLinks } from './findings/finding_links.ts';
import { FindingMarks } from './findings/finding_marks.ts';
import { kPlainWorkList } from './findings/work_list.ts';
import type { WorkListLook } from './findings/work_list.ts';
import { moving } from './rows/lane_order.ts';
import type { Layout, Row } from './rows/lanes.ts';
import { layoutOf, siblingsOf } from './rows/lanes.ts';
import { searchForLine } from './search.ts';
import { kPlainFlame } from './sums/flame_look.ts';
import type { FlameLook } from './sums/flame_look.ts';
import { LiveClock } from './time/pacing.ts';
import type { Mark } from './time/marks.ts';
import type { StreamLoad } from './rows/streams.ts';
import type { TimeWindow } from './time/time_window.ts';
import { WindowHistory, kAir, limited, same } from './time/time_window.ts';
import type { Area, Below, Tab, ThemeChoice, ViewState } from './url_state.ts';

export type Topic =
  | 'window' // the stretch of time that is shown
  | 'lanes' // the rows that exist, and how they are scrolled
  | 'loads' // what streams of GPUs did in the window
  | 'look' // colours, theme
  | 'hidden' // what the legend hides
  | 'picture' // newer columns
  | 'run' // the facts about the run
  | 'definitions'
  | 'judgement' // findings and counts have to be fetched again
  | 'findings'
  | 'finding' // the chosen one
  | 'workList' // which findings are listed, and how
  | 'modules' // how many are in another precision than their like
  | 'selection'
  | 'event'
  | 'find'
  | 'compare' // the run or stretch to compare with
  | 'tables'
  | 'editor' // where places of the source can be opened
  | 'marks' // marked moments, and a measure that is fixed
  | 'sql' // the text in the box for SQL
  | 'tab'
  | 'below' // what lies below the timeline
  | 'flame' // how the flame views are looked at
  | 'connection';

export type Selection = Area;

export type Connection = { lost: false } | { lost: true; sinceMs: number; nextTryMs: number; sentence: string };

export interface Measure {
  from: number;
  to: number;
  fixed: boolean;
}

const kFollowedNs = 5e9;
// A live window stops this long after the last event; the badge then says that nothing comes.
const kIdleNs = 1e9;

export class State {
  runs: RunEntry[] = [];
  run: Run | null = null;
  problem: string | null = null;
  /** The run that the address names, if there is none of that name. */
  missing: string | null = null;
  /** The address named a stretch of time that the run does not have. */
  strayed = false;
  connection: Connection = { lost: false };
  restartedMs: number | null = null;
  /** The collector does not know the run any more; no more data will come. */
  forgotten = false;
  readonly definitions = new Definitions();
  picture: Picture | null = null;
  overview: Picture | null = null;
  /** The same windows, with only the events that the search finds. */
  foundPicture: Picture | null = null;
  foundOverview: Picture | null = null;
  findings: Finding[] = [];
  /** The fingerprint of the chosen finding; the finding may not have come yet. */
  finding: string | null = null;
  workList: WorkListLook = kPlainWorkList;
  /** How many modules compute in another precision than the others of their type. */
  oddModules = 0;
  window: TimeWindow = { begin: 0, end: 1e9 };
  readonly history = new WindowHistory();
  readonly clock = new LiveClock();
  /** The viewer has chosen the window's length; otherwise everything is shown. */
  chosen = false;
  following = false;
  /** The window followed the run when it went silent: if the run goes on, it is followed again. */
  resume = false;
  eventsSeen = 0;
  layout: Layout = { pinned: [], pinnedHeight: 0, rows: [], height: 0 };
  scrollTop = 0;
  /** Loads of the streams in sight, by the key of their row. */
  loads: ReadonlyMap<string, StreamLoad> = new Map();
  /** The css px that are left for rows. */
  roomPx = 0;
  readonly collapsed = new Set<string>();
  pinned: string[] = [];
  order: readonly string[] = [];
  filter = '';
  colourBy: ColourBy = 'kind';
  readonly hidden = new Set<string>();
  themeChoice: ThemeChoice = 'system';
  theme: Theme = 'light';
  selection: Selection | null = null;
  event: EventDetail | null = null;
  find = '';
  found: FindAnswer | null = null;
  /** Why the collector does not understand the search. */
  findProblem: string | null = null;
  /** The search that is shown: `find`, as soon as the collector has said that it understands it. */
  sought = '';
  /** What the search does not find is hidden. */
  onlyFound = false;
  measure: Measure | null = null;
  /** The run that this one is compared with, or the stretch that the next selection is compared with. */
  compareWith: string | null = null;
  firstStretch: Selection | null = null;
  /** The looks of tables that somebody has changed, by name (lookText). */
  tables = new Map<string, string>();
  tab: Tab = 'findings';
  /** null: it was not chosen. */
  below: Below | null = null;
  flame: FlameLook = kPlainFlame;
  source: { file: string; line: number | null } | null = null;
  marks: Mark[] = [];
  sql = '';
  editor: EditorChoice = kNoEditor;
  /** Made when somebody asks; anew after findings or definitions have come. */
  private knownLinks: FindingLinks | null = null;
  private knownMarks: FindingMarks | null = null;
  private reading: ((read: boolean) => void) | null = null;
  private readonly listeners = new Map<Topic, (() => void)[]>();

  on(topics: Topic | Topic[], listener: () => void): void {
    for (const topic of [topics].flat()) this.listeners.set(topic, [...(this.listeners.get(topic) ?? []), listener]);
  }

  /** Waits until there is a run and its file has been read: only then is it known what the run does not have. false:
   * something else was asked for meanwhile. */
  read(): Promise<boolean> {
    this.stopReading();
    if (this.isRead) return Promise.resolve(true);
    return new Promise((resolve) => {
      this.reading = resolve;
    });
  }

  /** What waits in read() is no longer asked for. */
  stopReading(): void {
    this.reading?.(false);
    this.reading = null;
  }

  private get isRead(): boolean {
    return this.run !== null && this.run.run_state !== 'loading';
  }

  tell(topic: Topic): void {
    if (topic === 'findings' || topic === 'definitions') this.knownLinks = this.knownMarks = null;
    for (const listener of this.listeners.get(topic) ?? []) listener();
    if (topic !== 'run' || !this.isRead) return;
    this.reading?.(true);
    this.reading = null;
  }

  /** What stands out in the timeline: what the search finds, or else the events of the chosen finding. */
  get marked(): string {
    if (this.find !== '' || this.finding === null) return this.sought;
    const line = this.links().lineOf(this.finding);
    return line === null ? '' : searchForLine(line);
  }

  /** Which findings and events belong together. */
  links(): FindingLinks {
    this.knownLinks ??= new FindingLinks(this.findings, this.definitions);
    return this.knownLinks;
  }

  findingMarks(): FindingMarks {
    this.knownMarks ??= new FindingMarks(this.findings);
    return this.knownMarks;
  }

  get newest(): number {
    return Math.max(this.run?.events_end_ns ?? 0, this.picture?.newest ?? 0, this.overview?.newest ?? 0);
  }

  get whole(): TimeWindow {
    const begin = this.run?.events_begin_ns ?? 0;
    const newest = this.newest;
    return { begin, end: newest > begin ? newest : begin + 1e6 };
  }

  get live(): boolean {
    return this.run?.run_state === 'live';
  }

  get events(): number {
    return Math.max(this.picture?.events ?? 0, this.overview?.events ?? 0, this.run?.totals.event_count ?? 0);
  }

  /** Shows a window that somebody chose: this pauses following, and Backspace leads back. */
  show(window: TimeWindow, nowMs: number): void {
    const next = limited(window, this.whole);
    if (same(next, this.window) && !this.following) return;
    this.history.remember(this.window, nowMs);
    this.resume = false;
    this.pause();
    this.chosen = true;
    this.window = next;
    this.tell('window');
  }

  showAll(nowMs: number): void {
    this.show(this.allWindow(), nowMs);
    this.chosen = false;
    this.tell('window');
  }

  allWindow(): TimeWindow {
    const { begin, end } = this.whole;
    const air = (end - begin) * kAir;
    return { begin: begin - air, end: end + air };
  }

  back(): void {
    const before = this.history.back();
    if (!before) return;
    this.pause();
    this.window = limited(before, this.whole);
    this.tell('window');
  }

  pause(): void {
    if (!this.following) return;
    this.following = false;
    this.eventsSeen = this.events;
    this.tell('run');
  }

  /** A run that has ended is not followed; the view stays at its last place. */
  ended(): void {
    if (!this.following || this.live) return;
    this.following = false;
    this.resume = true;
    this.chosen = true;
    this.window = limited(this.window, this.whole);
    this.tell('window');
  }

  follow(): void {
    if (!this.live || this.following) return;
    this.following = true;
    this.resume = false;
    this.tell('run');
    this.tell('window');
  }

  /** Moves a followed window to where the run is; returns false when it does not move. */
  advance(nowMs: number): boolean {
    if (!this.following) return false;
    // Before the first picture the clock is not set.
    const edge = Math.max(this.clock.edge(nowMs, kIdleNs), this.run?.events_end_ns ?? 0);
    const all = this.allWindow();
    const length = this.chosen
      ? this.window.end - this.window.begin
      : Math.min(kFollowedNs, Math.max(all.end - all.begin, 1e6));
    // A little room at the right, where the newest events appear.
    const end = edge + length * 0.02;
    const next = { begin: end - length, end };
    if (same(next, this.window)) return false;
    this.window = next;
    return true;
  }

  zoomFollowed(factor: number): void {
    const { begin, end } = this.window;
    const length = Math.min(Math.max((end - begin) * factor, 1e6), 3600e9);
    this.chosen = true;
    this.window = { begin: end - length, end };
    this.tell('window');
  }

  layOut(): void {
    this.layout = layoutOf(this.run?.processes ?? [], this.run?.tracks ?? [], this);
    this.tell('lanes');
  }

  /** Puts a row in the place of another: among pinned ones, lanes of one process, or processes. */
  move(row: Row, target: string): void {
    const siblings = siblingsOf(this.layout, row);
    if (row.kind === 'lane' && row.pinned) this.pinned = [...moving(this.pinned, siblings, row.key, target)];
    else this.order = moving(this.order, siblings, row.key, target);
    this.layOut();
  }

  /** The search that hides all else; undefined: none does. */
  get onlyFind(): string | undefined {
    return this.onlyFound && this.sought !== '' ? this.sought : undefined;
  }

  hiddenShades(): number[] {
    if (this.hidden.size === 0 || !this.run) return [];
    return this.run.shades
      .filter((shade) =>
        (['kind', 'dtype', 'cause'] as const).some((by) => this.hidden.has(`${by}.${legendKey(shade, by)}`)),
      )
      .map((shade) => shade.shade);
  }

  openTab(tab: Tab): void {
    this.tab = tab;
    this.tell('tab');
  }

  take(view: ViewState): void {
    this.colourBy = view.colourBy;
    this.themeChoice = view.theme;
    this.filter = view.filter;
    this.pinned = [...view.pinned];
    this.order = [...view.order];
    this.hidden.clear();
    for (const key of view.hidden) this.hidden.add(key);
    this.collapsed.clear();
    for (const key of view.collapsed) this.collapsed.add(key);
    this.selection = view.selection;
    this.find = view.find;
    this.onlyFound = view.onlyFound;
    this.tables = new Map(view.tables);
    this.compareWith = view.compareWith;
    this.firstStretch = view.firstStretch;
    this.source = view.source;
    this.finding = view.finding;
    this.workList = view.workList;
    this.sql = view.sql;
    this.marks = [...view.marks];
    this.measure = view.measure && { ...view.measure, fixed: true };
    if (view.tab) this.tab = view.tab;
    this.below = view.below;
    this.flame = view.flame;
    this.chosen = view.range !== null;
    if (view.range) {
      this.window = view.range;
      this.following = view.following;
    }
  }

  viewState(): ViewState {
    return {
      run: this.run?.run_name ?? null,
      range: this.chosen ? this.window : null,
      following: this.following,
      colourBy: this.colourBy,
      hidden: [...this.hidden],
      collapsed: [...this.collapsed],
      pinned: this.pinned,
      order: this.order,
      filter: this.filter,
      find: this.find,
      onlyFound: this.onlyFound,
      selection: this.selection,
      event: this.event ? { track: this.event.track, at: this.event.begin_ns } : null,
      finding: this.finding,
      workList: this.workList,
      compareWith: this.compareWith,
      tables: [...this.tables],
      firstStretch: this.firstStretch,
      tab: this.tab,
      below: this.below,
      flame: this.flame,
      source: this.tab === 'source' ? this.source : null,
      sql: this.sql,
      marks: this.marks,
      measure: this.measure?.fixed ? { from: this.measure.from, to: this.measure.to } : null,
      theme: this.themeChoice,
    };
  }
}
