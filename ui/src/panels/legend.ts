// Explains the colours, with counts for the stretch that is shown. Each entry hides or shows its kind.

import type { Summary } from '../api/types.ts';
import { causeName, colourOf, costColour, css, kindName, legendKey } from '../model/colours.ts';
import type { ColourBy } from '../model/colours.ts';
import { grouped } from '../model/format.ts';
import type { State } from '../model/state.ts';
import { el, fill } from '../dom.ts';

const kOrder = ['down', 'up', 'same', 'cache_hit', 'pass_through', 'operator', 'cast_kernel', 'kernel', 'gpu_copy', 'region', 'region_off', 'step_deep', 'cache_clear', 'optimizer_step', 'scaler', 'backward', 'values'];

interface Entry {
  key: string;
  name: string;
  kind: string;
  colour: string;
  kinds: Set<string>;
}

export class Legend {
  readonly element = el('div', { class: 'legend', role: 'toolbar', 'aria-label': 'Legend: what is shown' });
  private readonly state: State;
  private readonly changed: () => void;
  private counts = new Map<string, number>();
  private buttons = new Map<string, HTMLElement>();

  constructor(state: State, changed: () => void) {
    this.state = state;
    this.changed = changed;
    state.on('look', () => this.build());
  }

  /** null: the collector does not answer. */
  count(summary: Summary | null): void {
    this.counts = new Map(summary?.by_shade_kind.map((kind) => [kind.shade_kind, kind.event_count]));
    for (const [key, element] of this.buttons) element.textContent = this.countOf(key);
  }

  private countOf(key: string): string {
    const kind = key.split('.')[1];
    if (!key.startsWith('kind.')) return '';
    const count = this.counts.get(kind);
    return count === undefined ? '' : grouped(count);
  }

  private entries(by: ColourBy): Entry[] {
    const entries = new Map<string, Entry>();
    for (const shade of this.state.run?.shades ?? []) {
      if (shade.shade_kind === 'step') continue;
      const name = legendKey(shade, by === 'cost' ? 'kind' : by);
      const told = shade.track_kind === 'casts' || shade.track_kind === 'operators' || shade.track_kind === 'kernels';
      const key = `${told && by !== 'cost' ? by : 'kind'}.${name}`;
      const entry = entries.get(key);
      if (entry) entry.kinds.add(shade.shade_kind);
      else
        entries.set(key, {
          key,
          name: told && by === 'cause' ? causeName(name) : told && by === 'dtype' ? name : kindName(shade.shade_kind),
          kind: shade.shade_kind,
          colour: css(colourOf(shade, by === 'cost' ? 'kind' : by, this.state.theme)),
          kinds: new Set([shade.shade_kind]),
        });
    }
    const place = (entry: Entry) => (kOrder.indexOf(entry.kind) + kOrder.length) % kOrder.length;
    return [...entries.values()].sort((a, b) => place(a) - place(b));
  }

  private build(): void {
    const { state } = this;
    this.buttons.clear();
    const ramp = state.colourBy === 'cost' ? [this.ramp()] : [];
    fill(this.element, ...ramp, ...this.entries(state.colourBy).map((entry) => this.button(entry)));
    this.element.hidden = this.element.childElementCount === 0;
  }

  private button(entry: Entry): HTMLElement {
    const { hidden } = this.state;
    const shape = entry.kind === 'cache_hit' ? ' low' : entry.kind === 'pass_through' ? ' middle' : ['cache_clear', 'optimizer_step', 'scaler', 'backward', 'values'].includes(entry.kind) ? ' dot' : '';
    const tint = entry.kind === 'region' || entry.kind === 'region_off' ? ' tint' : '';
    const swatch = el('i', { class: `swatch${tint}${entry.kinds.size === 1 ? shape : ''}`, 'aria-hidden': 'true' });
    swatch.style.color = entry.colour;
    const count = el('b', {}, this.countOf(entry.key));
    this.buttons.set(entry.key, count);
    return el(
      'button',
      {
        'aria-pressed': String(!hidden.has(entry.key)),
        title: `${hidden.has(entry.key) ? 'show' : 'hide'}${this.meaning(entry)}`,
        click: () => {
          if (!hidden.delete(entry.key)) hidden.add(entry.key);
          this.build();
          this.changed();
        },
      },
      swatch,
      entry.name,
      count,
    );
  }

  /** Single events of these kinds come only from deep steps. */
  private meaning(entry: Entry): string {
    const { run } = this.state;
    if (!run) return '';
    if (['cast_kernel', 'kernel', 'gpu_copy'].includes(entry.kind)) return ' · of deep steps whose kernels were timed';
    if (entry.kind !== 'pass_through' && entry.kind !== 'operator') return '';
    const all = entry.kind === 'pass_through' ? `; the whole run had ${grouped(run.totals.pass_throughs)}` : '';
    return ` · shown of deep steps only${all}`;
  }

  private ramp(): HTMLElement {
    const ramp = el('i', { class: 'ramp', 'aria-hidden': 'true' });
    const stops = [0, 0.33, 0.66, 1].map((share) => css(costColour(share, this.state.theme)));
    ramp.style.background = `linear-gradient(90deg, ${stops.join(', ')})`;
    return el('span', { class: 'soft' }, 'little', ramp, 'all of the time');
  }
}
