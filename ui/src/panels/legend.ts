// Explains the colours, with counts for the stretch that is shown. Each entry hides or shows its events. The whole
// legend is one stop of the Tab key; arrows lead from entry to entry.

import type { Summary } from '../api/types.ts';
import { costColour, css, cssOf } from '../model/looks/colours.ts';
import { grouped } from '../model/words/format.ts';
import { Counts, legendEntries } from '../model/looks/legend.ts';
import type { Entry } from '../model/looks/legend.ts';
import type { State } from '../model/state.ts';
import { el, fill } from '../dom.ts';

interface Shown {
  entry: Entry;
  button: HTMLButtonElement;
  count: HTMLElement;
}

export class Legend {
  readonly element = el('div', { class: 'legend', role: 'toolbar', 'aria-label': 'Legend: what is shown' });
  private readonly casts = el('span', { class: 'soft total' });
  private readonly state: State;
  private readonly changed: () => void;
  private counts = new Counts(null);
  private shown: Shown[] = [];
  /** The entry that the Tab key leads to. */
  private stop = '';

  constructor(state: State, changed: () => void) {
    this.state = state;
    this.changed = changed;
    state.on('look', () => this.build());
    this.element.addEventListener('keydown', (event) => this.key(event));
  }

  /** null: the collector does not answer. */
  count(summary: Summary | null): void {
    this.counts = new Counts(summary);
    this.write();
  }

  private build(): void {
    const { state } = this;
    const held = this.shown.some(({ button }) => button === document.activeElement);
    const entries = legendEntries(state.run?.shades ?? [], state.colourBy, state.theme);
    this.shown = entries.map((entry) => this.made(entry));
    const ramp = state.colourBy === 'cost' && entries.length > 0 ? this.ramp() : null;
    fill(this.element, this.casts, ramp, ...this.shown.map(({ button }) => button));
    this.element.hidden = entries.length === 0;
    this.stopAt(this.shown.find(({ entry }) => entry.key === this.stop) ?? this.shown[0], held);
    this.write();
  }

  private write(): void {
    const { counts } = this;
    const casts = counts.casts(this.state.run?.shades ?? []);
    if (this.casts.textContent !== casts) this.casts.textContent = casts;
    for (const { entry, button, count } of this.shown) {
      const text = counts.known ? grouped(counts.of(entry.shades)) : '';
      if (count.textContent !== text) count.textContent = text;
      const parts = counts.parts(entry.shades);
      button.title = `${this.state.hidden.has(entry.key) ? 'show' : 'hide'}${parts === '' ? '' : `; in view: ${parts}`}${this.meaning(entry)}`;
    }
  }

  private made(entry: Entry): Shown {
    const { hidden } = this.state;
    const swatch = el('i', { class: `swatch ${entry.shape}`, 'aria-hidden': 'true' }, el('i'));
    if (entry.look) (swatch.firstElementChild as HTMLElement).style.background = cssOf(entry.look);
    if (entry.look) swatch.style.color = css(entry.look.colour);
    const count = el('b');
    const click = () => {
      this.stop = entry.key;
      if (!hidden.delete(entry.key)) hidden.add(entry.key);
      this.build();
      this.changed();
    };
    return { entry, count, button: el('button', { 'aria-pressed': String(!hidden.has(entry.key)), click }, swatch, entry.name, count) };
  }

  private stopAt(at: Shown | undefined, focus: boolean): void {
    if (!at) return;
    this.stop = at.entry.key;
    for (const one of this.shown) one.button.tabIndex = one === at ? 0 : -1;
    if (focus) at.button.focus();
  }

  private key(event: KeyboardEvent): void {
    const at = this.shown.findIndex(({ button }) => button === event.target);
    const last = this.shown.length - 1;
    const to: Record<string, number> = { ArrowRight: at === last ? 0 : at + 1, ArrowDown: at === last ? 0 : at + 1, ArrowLeft: at === 0 ? last : at - 1, ArrowUp: at === 0 ? last : at - 1, Home: 0, End: last };
    if (at < 0 || !(event.key in to) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.stopAt(this.shown[to[event.key]], true);
  }

  /** Single events of these kinds come only from deep steps. */
  private meaning(entry: Entry): string {
    const { run } = this.state;
    const kinds = new Set(entry.shades.map((one) => one.shade_kind));
    const only = (...of: string[]) => [...kinds].every((kind) => of.includes(kind));
    if (!run) return '';
    if (only('cast_kernel', 'kernel', 'gpu_copy')) return ' · of deep steps whose kernels were timed';
    if (!only('pass_through', 'operator')) return '';
    const all = kinds.has('pass_through') ? `; the whole run had ${grouped(run.totals.pass_throughs)}` : '';
    return ` · shown of deep steps only${all}`;
  }

  private ramp(): HTMLElement {
    const ramp = el('i', { class: 'ramp', 'aria-hidden': 'true' });
    const stops = [0, 0.33, 0.66, 1].map((share) => css(costColour(share, this.state.theme)));
    ramp.style.background = `linear-gradient(90deg, ${stops.join(', ')})`;
    return el('span', { class: 'soft' }, 'little', ramp, 'all of the time');
  }
}
