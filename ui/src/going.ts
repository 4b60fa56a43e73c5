// Goes to events: chooses one, brings it into sight, and goes on from it to others.

import { api } from './api/client.ts';
import type { EventDetail, TrackKind } from './api/types.ts';
import { toast } from './dom.ts';
import type { Timeline } from './draw/timeline.ts';
import { otherEnd } from './launch.ts';
import type { OtherEnd } from './launch.ts';
import { rowOf } from './model/rows/lanes.ts';
import type { State } from './model/state.ts';
import { fitting, showing } from './model/time/time_window.ts';
import type { ViewState } from './model/url_state.ts';

const kAroundInstantNs = 10_000;

export interface ChoosingHow {
  /** Its details are shown; else the panel stays as it is. */
  details?: boolean;
  /** Only an event of this shade. */
  shade?: number;
  /** What is said where there is none. */
  otherwise?: string;
}

export class Going {
  private readonly state: State;
  private readonly timeline: Timeline;

  constructor(state: State, timeline: Timeline) {
    this.state = state;
    this.timeline = timeline;
  }

  /** Chooses the event at this place of a track. */
  async choose(track: number, at: number, withinNs: number, { details = true, shade, otherwise = 'Single events of this stretch are no longer held.' }: ChoosingHow = {}): Promise<void> {
    const { state } = this;
    if (!state.run) return;
    state.stopReading();
    try {
      const asked = (find?: string) => api.event(state.run!.run_name, track, at, withinNs, shade, find);
      // While a search or a finding dims the other events, a click means one of those that it found.
      const event = (shade !== undefined && state.marked !== '' ? await asked(state.marked) : null) ?? (await asked());
      if (!event) return toast(otherwise);
      this.choseEvent(event, details);
    } catch {
      toast('That event could not be asked for.');
    }
  }

  /** Chooses the event that an address names, if it names one. */
  async chooseOf({ event }: ViewState): Promise<void> {
    if (!event) return;
    if (await this.state.read()) await this.choose(event.track, event.at, 0, { details: false, otherwise: 'The event of this link is not in this run, or is no longer held one by one.' });
  }

  choseEvent(event: EventDetail, details = true): void {
    const { state } = this;
    state.event = event;
    const kind = state.run?.tracks.find((one) => one.track === event.track)?.track_kind;
    const at = kind === undefined ? null : state.definitions.placeOf(kind, event.subject);
    if (at && at.file !== null) state.source = { file: at.file, line: at.line };
    state.pause();
    state.tell('event');
    if (details) state.openTab('detail');
  }

  async neighbour(direction: 'next' | 'previous', sameSite: boolean): Promise<void> {
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

  async goToEvent(event: EventDetail, details = true): Promise<void> {
    const { state } = this;
    state.show(showing(state.window, event.begin_ns, event.end_ns, state.whole), performance.now());
    this.revealTrack(event.track);
    await this.choose(event.track, event.begin_ns, 0, { details });
  }

  /** Goes on along the chosen event's flow: across a launch, or else to the first event that belongs to it. */
  async alongFlow(): Promise<void> {
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

  async goToStep(number: number): Promise<void> {
    if (await this.state.read()) await this.goToOwnStep(this.state.definitions.steps.stepOf(number), `There is no step ${number} in the timeline.`);
  }

  /** `step` is the process's own number. */
  async goToOwnStep(step: number, missing: string): Promise<void> {
    const { state } = this;
    if (step > 0) return this.chooseSubject('steps', step, { begin: 0 }, missing);
    // For the API, 0 means any step: either this is the first one, or there is none.
    const first = state.run && (await api.neighbour(state.run.run_name, -1, 'next', { track_kind: 'steps' }).catch(() => null));
    if (!first || first.subject !== 0) return toast(missing);
    await this.goToEvent(first);
  }

  fitEvent(): void {
    const { state } = this;
    if (!state.event) return;
    const { begin_ns: begin, end_ns: end } = state.event;
    // An instant has no length of its own: the time around it is what people want to see.
    const air = begin === end ? kAroundInstantNs : 0;
    state.show(fitting(begin - air, end + air, state.whole), performance.now());
  }
}
