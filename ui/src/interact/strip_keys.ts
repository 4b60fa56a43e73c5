// The keys of the minimap and the ruler, when one of them has the focus.

import type { Timeline } from '../draw/timeline.ts';
import { moment } from '../model/words/format.ts';
import type { State } from '../model/state.ts';
import { lengthOf, limited } from '../model/time/time_window.ts';
import type { TimeWindow } from '../model/time/time_window.ts';

// Shares of the window that one key press moves.
const kMove = 0.25;
const kFineMove = 1 / 40;

export class StripKeys {
  private readonly state: State;
  private readonly timeline: Timeline;

  constructor(state: State, timeline: Timeline) {
    this.state = state;
    this.timeline = timeline;
    const { minimap, ruler } = timeline;
    minimap.addEventListener('keydown', (event) => this.taken(event, this.inMinimap(event.key, event.shiftKey)));
    ruler.addEventListener('keydown', (event) => this.taken(event, this.inRuler(event.key, event.shiftKey)));
    ruler.addEventListener('blur', () => this.select(null));
    for (const strip of [minimap, ruler]) {
      strip.tabIndex = 0;
      strip.setAttribute('role', 'slider');
      strip.setAttribute('aria-valuemin', '0');
      strip.setAttribute('aria-valuemax', '100');
      strip.addEventListener('focus', () => this.tell());
    }
    state.on('window', () => {
      if ([minimap, ruler].some((strip) => strip === document.activeElement)) this.tell();
    });
    this.tell();
  }

  /** What was done here is not done by the page's own keys, too. */
  private taken(event: KeyboardEvent, done: boolean): void {
    if (!done) return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Arrows move the window, with Shift its end; Home and End go to the ends of the run. */
  private inMinimap(key: string, shift: boolean): boolean {
    const { window, whole } = this.state;
    const by = lengthOf(window) * kMove;
    const ends: Record<string, TimeWindow> = {
      ArrowLeft: { begin: window.begin - (shift ? 0 : by), end: window.end - by },
      ArrowRight: { begin: window.begin + (shift ? 0 : by), end: window.end + by },
      Home: { begin: whole.begin, end: whole.begin + lengthOf(window) },
      End: { begin: whole.end - lengthOf(window), end: whole.end },
    };
    if (ends[key] === undefined) return false;
    this.state.show(limited(ends[key], whole), performance.now());
    return true;
  }

  /** Arrows move a cursor, with Shift they select from it; Enter zooms to what is selected, Esc lets go. */
  private inRuler(key: string, shift: boolean): boolean {
    const { state } = this;
    const { window } = state;
    const span = this.timeline.rulerDrag;
    if (key === 'Escape' && span) return this.select(null);
    if (key === 'Enter' && span && span.end !== span.begin) {
      this.select(null);
      state.show({ begin: Math.min(span.begin, span.end), end: Math.max(span.begin, span.end) }, performance.now());
      return true;
    }
    const step = key === 'ArrowLeft' ? -1 : key === 'ArrowRight' ? 1 : 0;
    if (step === 0) return false;
    state.pause();
    const from = span ?? { begin: (window.begin + window.end) / 2, end: (window.begin + window.end) / 2 };
    const end = Math.min(Math.max(from.end + step * lengthOf(window) * kFineMove, window.begin), window.end);
    return this.select({ begin: shift ? from.begin : end, end });
  }

  private select(span: TimeWindow | null): true {
    this.timeline.rulerDrag = span;
    this.timeline.soon();
    this.tell();
    return true;
  }

  /** Says where the window and the ruler's cursor are. */
  private tell(): void {
    const { window, whole } = this.state;
    const span = this.timeline.rulerDrag;
    const s = (ns: number) => moment(Math.max(ns - whole.begin, 0));
    const share = (ns: number) => String(Math.round(Math.min(Math.max((ns - whole.begin) / lengthOf(whole), 0), 1) * 100));
    const says = (strip: HTMLElement, now: number, text: string) => {
      strip.setAttribute('aria-valuenow', share(now));
      strip.setAttribute('aria-valuetext', text);
    };
    says(this.timeline.minimap, (window.begin + window.end) / 2, `from ${s(window.begin)} to ${s(window.end)} s after the first event`);
    const at = span?.end ?? window.begin;
    says(this.timeline.ruler, at, span && span.begin !== span.end ? `selected from ${s(Math.min(span.begin, span.end))} to ${s(Math.max(span.begin, span.end))} s` : `${s(at)} s`);
  }
}
