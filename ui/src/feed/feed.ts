// Keeps the state up to date: runs, the run, its pictures, definitions, findings. Everything is polled; for each kind
// one request is in flight at a time. A missing answer is a lost connection: the page says so, and tries again less and
// less often.

import { Refused, api, release } from '../api/client.ts';
import { pictureEnd } from '../api/picture.ts';
import type { Picture } from '../api/picture.ts';
import type { Run, RunEntry } from '../api/types.ts';
import type { Room } from '../model/rows/lanes.ts';
import { Fineness, pollMs, retryMs } from '../model/time/pacing.ts';
import type { State } from '../model/state.ts';
import { lengthOf, overlap } from '../model/time/time_window.ts';
import type { TimeWindow } from '../model/time/time_window.ts';
import { kPlain } from '../model/url_state.ts';
import { Knowledge } from './knowledge.ts';

const kMostColumns = 4096;
const kRunMs = 1000;
// Most run files are read in less.
const kLoadingMs = 150;
// The time from one picture to the next while the view moves: the margins cover the frames between.
const kMovingMs = 33;
const kOverviewMs = 1000;

export interface Opening {
  runs: RunEntry[];
  run: Run | null;
  /** Why there is no run, in the collector's words. */
  problem: string | null;
  /** The run that was wanted, if it does not exist and another one is shown. */
  missing: string | null;
}

/** Finds the runs, and the one to open. It may be called before there is a page to show it. */
export async function lookUp(wanted: string | null): Promise<Opening> {
  const runs = await api.runs();
  const readable = runs.filter((run) => !run.read_error);
  const entry =
    runs.find((run) => run.run_name === wanted) ??
    readable.find((run) => run.run_state === 'live') ??
    readable[readable.length - 1] ??
    runs[0];
  const missing = entry && wanted !== null && entry.run_name !== wanted ? wanted : null;
  try {
    return { runs, run: entry ? await api.run(entry.run_name) : null, problem: null, missing };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { runs, run: null, problem: error.message, missing };
  }
}

export class Feed {
  private readonly state: State;
  private readonly surface: () => Room;
  private readonly fineness = new Fineness();
  private pictureTimer = 0;
  private inFlight = false;
  private askedMs = -Infinity;
  private dirty = false;
  private failures = 0;
  private runTimer = 0;
  private retryTimer = 0;
  private wanted: string | null = null;
  private overviewAskedMs = -Infinity;
  private readonly knowledge: Knowledge;

  constructor(state: State, surface: () => Room) {
    this.state = state;
    this.surface = surface;
    this.knowledge = new Knowledge(state);
    document.addEventListener('visibilitychange', () => this.wake());
  }

  /** Opens this run, or the one that is live, or the newest. */
  async open(wanted: string | null, opening = lookUp(wanted)): Promise<void> {
    this.wanted = wanted;
    await this.trying(async () => {
      const { runs, run, problem, missing } = await opening;
      this.state.runs = runs;
      this.state.problem = problem;
      this.state.missing = missing;
      if (missing !== null) this.state.take({ ...kPlain, theme: this.state.themeChoice }); // places of another run
      if (!run) {
        this.state.tell('run');
        this.later(() => this.open(wanted), kRunMs);
        return;
      }
      this.take(run);
      this.want();
      this.later(() => this.refreshRun(), this.untilRun());
    });
  }

  /** ms until the facts of the run are asked for again. */
  private untilRun(): number {
    const state = this.state.run?.run_state;
    if (state === 'loading') return kLoadingMs;
    return state === 'live' || state === 'lost' ? kRunMs : 5 * kRunMs;
  }

  /** The view has changed: asks for a picture of it as soon as possible. */
  want(): void {
    this.dirty = true;
    if (!this.inFlight && this.failures === 0) this.schedule(this.untilNext());
  }

  wake(): void {
    if (document.hidden) return;
    this.want();
    if (this.state.run) void this.refreshRun();
  }

  tryNow(): void {
    clearTimeout(this.retryTimer);
    this.retryTimer = 0;
    if (this.state.run) {
      this.schedule(0);
      void this.refreshRun();
    } else {
      void this.open(this.wanted);
    }
  }

  /** ms until the next picture may be asked for. */
  private untilNext(): number {
    return Math.max(this.askedMs + kMovingMs - performance.now(), 0);
  }

  private later(what: () => Promise<void>, ms: number): void {
    clearTimeout(this.runTimer);
    this.runTimer = window.setTimeout(() => void what(), ms);
  }

  private schedule(ms: number): void {
    clearTimeout(this.pictureTimer);
    this.pictureTimer = window.setTimeout(() => void this.askPicture(), ms);
  }

  /** Waits until the last answer is painted: a page that gets few frames asks for few pictures. */
  private afterPaint(ms: number): void {
    const dueMs = performance.now() + ms;
    requestAnimationFrame(() => {
      if (!this.inFlight) this.schedule(Math.max(dueMs - performance.now(), 0));
    });
  }

  private async trying(what: () => Promise<void>): Promise<void> {
    try {
      await what();
      this.failures = 0;
      if (this.state.connection.lost) {
        this.state.connection = { lost: false };
        this.state.tell('connection');
        this.want();
      }
    } catch (error) {
      if (error instanceof Refused && error.status === 404 && this.state.run) this.forgotten();
      else this.lost(error);
    }
  }

  private forgotten(): void {
    if (!this.state.forgotten) {
      this.state.forgotten = true;
      this.state.following = false;
      this.state.tell('run');
    }
    // A collector that was started again may still learn of the run.
    this.later(() => this.refreshRun(), 5 * kRunMs);
  }

  /** Several requests may fail at once: there is one next try. */
  private lost(error: unknown): void {
    if (this.retryTimer !== 0) return;
    this.failures += 1;
    const ms = retryMs(this.failures);
    const before = this.state.connection;
    this.state.connection = {
      lost: true,
      sinceMs: before.lost ? before.sinceMs : Date.now(),
      nextTryMs: Date.now() + ms,
      sentence: error instanceof Refused ? error.message : 'castscope does not answer.',
    };
    this.state.tell('connection');
    this.retryTimer = window.setTimeout(() => this.tryNow(), ms);
  }

  private async refreshRun(): Promise<void> {
    const run = this.state.run;
    if (!run) return;
    await this.trying(async () => {
      if (!document.hidden) {
        this.take(await api.run(run.run_name));
        this.state.runs = await api.runs();
      }
      this.later(() => this.refreshRun(), this.untilRun());
    });
  }

  private take(run: Run): void {
    const state = this.state;
    const before = state.run;
    if (before && before.run_name === run.run_name && run.totals.event_count < before.totals.event_count) this.restarted();
    const tracks = before?.run_name !== run.run_name || before.tracks.length !== run.tracks.length ||
      before.processes.length !== run.processes.length;
    // A collector that was started again may number them in another way.
    const shades = JSON.stringify(before?.shades) !== JSON.stringify(run.shades);
    const moved = before?.events_end_ns !== run.events_end_ns;
    state.run = run;
    state.forgotten = false;
    if (!before || before.run_name !== run.run_name) this.first();
    this.comeBack();
    state.ended();
    if (before?.run_state === 'live' && !state.live) this.wantAll(); // the last of the events
    if (state.live && state.resume) state.follow();
    if (tracks) state.layOut();
    if (shades) state.tell('look');
    state.tell('run');
    if (!state.chosen && !state.following && moved) this.showAllOf();
    void this.knowledge.askDefinitions();
    this.knowledge.judge(run.judgement);
    // The part in view comes first, the rest of the run after it.
    if (state.picture && (tracks || moved)) void this.askOverview();
  }

  private first(): void {
    const { state } = this;
    state.clock.reset();
    state.eventsSeen = state.run?.totals.event_count ?? 0;
    if (!state.chosen && state.live) state.following = true;
  }

  /** A link may name a stretch of time that this run does not have. Before the end of the run is known, it may get it. */
  private comeBack(): void {
    const { state } = this;
    if (!state.chosen || state.run?.run_state !== 'finished' || overlap(state.window, state.whole)) return;
    state.strayed = true;
    state.chosen = false;
    this.showAllOf();
  }

  private showAllOf(): void {
    this.state.window = this.state.allWindow();
    this.state.tell('window');
  }

  private restarted(): void {
    const { state } = this;
    state.picture = null;
    state.overview = null;
    state.clock.reset();
    state.restartedMs = Date.now();
    this.knowledge.forget();
  }

  /** The search, or what is hidden, has changed: asks for the overview too. */
  wantAll(): void {
    this.overviewAskedMs = -Infinity;
    void this.askOverview();
    this.want();
  }

  private async askOverview(): Promise<void> {
    const { run } = this.state;
    const nowMs = performance.now();
    if (!run || nowMs - this.overviewAskedMs < kOverviewMs * 0.9) return;
    this.overviewAskedMs = nowMs;
    const tracks = run.tracks.filter((track) => track.track_kind !== 'marks');
    const { begin, end } = this.state.whole;
    try {
      const { state } = this;
      const query = {
        begin,
        end,
        columns: tracks.length > 600 ? 200 : 600,
        hide: state.hiddenShades(),
        box: kMostColumns,
      };
      const find = state.marked;
      const only = state.onlyFind;
      const overview = await api.picture(run.run_name, { ...query, find: only });
      release(state.overview);
      state.overview = overview;
      const found = find === '' || only !== undefined ? null : await api.picture(run.run_name, { ...query, find });
      release(find === state.marked ? state.foundOverview : found);
      if (find === state.marked) state.foundOverview = found;
      this.state.tell('picture');
    } catch {
      // This is only the background; the picture itself reports when nothing answers.
    }
  }

  /** A window with margins, so that panning shows something at once. */
  private asked(): TimeWindow {
    const { window, following } = this.state;
    const length = lengthOf(window);
    return following
      ? { begin: window.begin - length * 0.05, end: window.end + length * 0.02 }
      : { begin: window.begin - length * 0.15, end: window.end + length * 0.15 };
  }

  private async askPicture(): Promise<void> {
    const { state } = this;
    const { width, tracks } = this.surface();
    if (!state.run || this.inFlight || width === 0 || document.hidden) return;
    this.inFlight = true;
    this.dirty = false;
    state.advance(performance.now());
    const window = this.asked();
    const wide = (width * lengthOf(window)) / lengthOf(state.window);
    const columns = Math.max(1, Math.min(kMostColumns, Math.round(wide * this.fineness.share)));
    const begunMs = performance.now();
    this.askedMs = begunMs;
    await this.trying(async () => {
      const query = {
        ...window,
        columns,
        tracks: tracks.length > 0 ? tracks : undefined,
        hide: state.hiddenShades(),
        box: Math.max(6 * this.fineness.share, 2),
      };
      const find = state.marked;
      const only = state.onlyFind;
      const [picture, found] = await Promise.all([
        api.picture(state.run!.run_name, { ...query, counters: true, find: only }),
        find === '' || only !== undefined ? null : api.picture(state.run!.run_name, { ...query, box: kMostColumns, find }),
      ]);
      release(find === state.marked ? state.foundPicture : found);
      if (find === state.marked) state.foundPicture = found;
      this.answered(picture, performance.now() - begunMs);
    });
    this.inFlight = false;
    if (this.failures === 0) this.next(performance.now() - begunMs);
  }

  private answered(picture: Picture, ms: number): void {
    const { state } = this;
    this.fineness.answered(ms);
    if (picture.live) state.clock.told(picture.newest, picture.behindNs, performance.now());
    release(state.picture);
    state.picture = picture;
    if (!state.overview) void this.askOverview();
    const over = state.live && !picture.live;
    if (over || picture.definitions > (state.run?.definition_count ?? 0)) void this.refreshRun();
    this.knowledge.judge(picture.judgement);
    state.tell('picture');
  }

  private next(answerMs: number): void {
    const { state } = this;
    if (this.dirty) return this.afterPaint(this.untilNext());
    const picture = state.picture;
    const ms = pollMs(
      {
        live: state.live,
        following: state.following,
        visible: !document.hidden,
        loading: state.run?.run_state === 'loading',
        atEnd: picture !== null && pictureEnd(picture) >= picture.newest,
      },
      answerMs,
    );
    if (ms !== null) this.afterPaint(ms);
  }
}
