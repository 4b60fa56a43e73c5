// How long events took: the shortest, the median, the longest, a histogram, their share of the steps. Where the timeline
// does not have all of them, it says what it does not know.

import { Refused, api } from '../api/client.ts';
import type { Durations } from '../api/told.ts';
import type { TrackKind } from '../api/types.ts';
import { bytes, counted, duration, grouped, percent } from '../model/words/format.ts';
import type { State } from '../model/state.ts';
import type { Area } from '../model/url_state.ts';
import { el, fill, nothing } from '../dom.ts';

export interface Of {
  track_kind: TrackKind;
  /** A site, an operator use or a kernel; undefined: all. */
  subject?: number;
}

export class DurationsView {
  readonly element = el('div', { class: 'durations' });
  private readonly state: State;
  private turn = 0;

  constructor(state: State) {
    this.state = state;
  }

  clear(): void {
    this.turn += 1;
    fill(this.element);
  }

  async ask(area: Area, of: Of): Promise<void> {
    const { run } = this.state;
    if (!run) return;
    this.turn += 1;
    const turn = this.turn;
    try {
      const told = await api.durations(run.run_name, area.begin, area.end, { ...of, tracks: area.tracks ?? undefined, hide: this.state.hiddenShades() });
      if (turn === this.turn) this.draw(told);
    } catch (error) {
      if (turn === this.turn) fill(this.element, nothing(error instanceof Refused ? error.message : 'The durations could not be asked for.'));
    }
  }

  private draw(told: Durations): void {
    if (told.event_count === 0) return fill(this.element, nothing('None of them lies here.'), this.notes(told));
    const of = (ns: number | null) => (ns === null ? 'not known' : duration(ns));
    const lines: [string, string, string?][] = [
      ['count', grouped(told.event_count)],
      ['together', duration(told.events_ns), 'the time of these events as a whole'],
      ['shortest', of(told.shortest_ns)],
      ['median', of(told.median_ns), 'half of them took no longer'],
      ['95 %', of(told.p95_ns), '95 of 100 took no longer'],
      ['longest', of(told.longest_ns)],
      ['bytes', told.event_bytes > 0 ? bytes(told.event_bytes) : ''],
      ['of the steps', told.steps_ns > 0 ? `${percent(told.window_ns / told.steps_ns)} of ${counted(told.step_count, 'step', 'steps')}` : '', 'their time in this stretch, as a share of the steps in it; several threads together may have more than 100 %'],
    ];
    fill(
      this.element,
      el('dl', { class: 'facts-list' }, ...lines.flatMap(([name, value, says]) => (value === '' ? [] : [el('dt', { title: says }, name), el('dd', {}, value)]))),
      told.duration_bars.length > 0 && histogram(told),
      this.notes(told),
    );
  }

  private notes(told: Durations): HTMLElement {
    const notes = [];
    if (told.single_events < told.event_count)
      notes.push(
        told.single_events === 0
          ? 'Single events of this stretch are no longer held, so how long each took is not known; count, time and bytes are from sums.'
          : `Only ${grouped(told.single_events)} of ${grouped(told.event_count)} events are still held one by one: shortest, median, 95 %, longest and the bars are of these. Count, time and bytes are from sums.`,
      );
    if (told.not_kept_ns > 0) notes.push(`For ${duration(told.not_kept_ns)} of this stretch the run file keeps no events: there were more. A run with --keep all has them.`);
    if ((this.state.run?.totals.compiled_casts ?? 0) > 0) notes.push('Casts in compiled graphs are counted and not timed: they are left out here.');
    return el('div', {}, ...notes.map((note) => el('p', { class: 'soft' }, note)));
  }
}

/** The height of a bar grows with the logarithm of its count, so that a few slow events show beside many fast ones. */
function histogram({ duration_bars: bars }: Durations): HTMLElement {
  const most = Math.max(...bars.map((bar) => bar.event_count));
  const words = (bar: (typeof bars)[number]) => `${duration(bar.least_ns)} to ${duration(bar.below_ns)}: ${grouped(bar.event_count)}`;
  const told = bars.filter((bar) => bar.event_count > 0).map(words).join('; ');
  const columns = bars.map((bar) => {
    const fill = el('i');
    fill.style.height = `${(100 * Math.log1p(bar.event_count)) / Math.log1p(most)}%`;
    return el('span', { title: words(bar) }, fill);
  });
  return el(
    'figure',
    {},
    el('div', { class: 'histogram', role: 'img', 'aria-label': `Histogram of durations. ${told}` }, ...columns),
    el('div', { class: 'histogram-axis soft' }, el('span', {}, duration(bars[0].least_ns)), el('span', {}, 'each bar is about twice as long as the one before'), el('span', {}, duration(bars[bars.length - 1].below_ns))),
  );
}
