// What the legend tells: an entry for each look that occurs in the run, and how many events of it are in view.

import type { Shade, Summary } from '../../api/types.ts';
import type { ColourBy, Look, Shape, Theme } from './colours.ts';
import { causeName, isCounted, kindName, legendKey, lookOf, shapeOf } from './colours.ts';
import { grouped } from '../words/format.ts';

const kOrder = ['down', 'up', 'same', 'cache_hit', 'pass_through', 'operator', 'cast_kernel', 'kernel', 'gpu_copy', 'region', 'region_off', 'step_deep', 'cache_clear', 'optimizer_step', 'scaler', 'backward', 'values'];
const kCasts = ['down', 'up', 'same'];
// As in server/store/run/causes.h: TorchScript and the package's annotations cast in autocast's place.
const kByAutocast = ['autocast', 'script', 'annotation'];

export interface Entry {
  /** As in State.hidden. */
  key: string;
  name: string;
  /** null: by cost these have no colour of their own. */
  look: Look | null;
  shape: Shape;
  shades: Shade[];
}

export function legendEntries(shades: readonly Shade[], by: ColourBy, theme: Theme): Entry[] {
  const entries = new Map<string, Entry>();
  const named = by === 'cost' ? 'kind' : by;
  for (const shade of shades) {
    // These are told by their rows.
    if (shade.shade_kind === 'step' || shade.shade_kind === 'module') continue;
    const told = isCounted(shade);
    const name = legendKey(shade, named);
    const key = `${told ? named : 'kind'}.${name}`;
    const entry = entries.get(key);
    if (entry) {
      entry.shades.push(shade);
      if (entry.shape !== shapeOf(shade)) entry.shape = 'bar';
      continue;
    }
    entries.set(key, {
      key,
      name: told && by === 'cause' ? causeName(name) : told && by === 'dtype' ? name : kindName(shade.shade_kind),
      look: told && by === 'cost' ? null : lookOf(shade, by, theme),
      shape: shapeOf(shade),
      shades: [shade],
    });
  }
  const place = (entry: Entry) => (kOrder.indexOf(entry.shades[0].shade_kind) + kOrder.length) % kOrder.length;
  return [...entries.values()].sort((a, b) => place(a) - place(b));
}

export class Counts {
  private readonly byShade: Map<number, number>;
  readonly known: boolean;
  private readonly exact: boolean;

  /** null: the collector does not answer. */
  constructor(summary: Summary | null) {
    this.known = summary !== null;
    this.exact = summary?.exact ?? true;
    this.byShade = new Map(summary?.by_shade.map((one) => [one.shade, one.event_count]));
  }

  of(shades: readonly Shade[]): number {
    return shades.reduce((sum, { shade }) => sum + (this.byShade.get(shade) ?? 0), 0);
  }

  /** "1,200 cast down, 800 operators": what an entry's number is made of. */
  parts(shades: readonly Shade[]): string {
    const kinds = [...new Set(shades.map((one) => one.shade_kind))];
    const sums = kinds.map((kind) => ({ kind, sum: this.of(shades.filter((one) => one.shade_kind === kind)) }));
    return sums.filter(({ sum }) => sum > 0).map(({ kind, sum }) => `${grouped(sum)} ${kindName(kind)}`).join(', ');
  }

  /** All casts in view, in the words of the header. */
  casts(shades: readonly Shade[]): string {
    const casts = shades.filter((one) => one.track_kind === 'casts' && kCasts.includes(one.shade_kind));
    if (!this.known || casts.length === 0) return '';
    const all = this.of(casts);
    const own = this.of(casts.filter((one) => one.cause !== null && kByAutocast.includes(one.cause)));
    const about = this.exact ? '' : 'about ';
    if (all === 0) return 'no cast in view';
    const parts = own === all ? 'all by autocast' : own === 0 ? 'none by autocast' : `${grouped(own)} by autocast, ${grouped(all - own)} other`;
    return `in view ${about}${grouped(all)} ${all === 1 ? 'cast' : 'casts'}: ${parts}`;
  }
}
