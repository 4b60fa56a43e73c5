// What sites, regions and operator uses are called: asked for once, then only what is new.

import type { DefinitionsAnswer, OperatorUse, Region, Site, Track, TrackKind } from '../api/types.ts';

export class Definitions {
  readonly sites = new Map<number, Site>();
  readonly regions = new Map<number, Region>();
  readonly uses = new Map<number, OperatorUse>();

  add(answer: DefinitionsAnswer): void {
    for (const site of answer.sites) this.sites.set(site.id, site);
    for (const region of answer.regions) this.regions.set(region.id, region);
    for (const use of answer.uses) this.uses.set(use.id, use);
  }

  known(): { sites: number; regions: number; uses: number } {
    return { sites: this.sites.size, regions: this.regions.size, uses: this.uses.size };
  }

  clear(): void {
    this.sites.clear();
    this.regions.clear();
    this.uses.clear();
  }

  /** The subject of an event, in words; the number where its definition has not come yet. */
  nameOf(track: TrackKind, subject: number): string {
    if (track === 'casts') return this.sites.get(subject)?.name ?? `site ${subject}`;
    if (track === 'operators' || track === 'kernels') return this.uses.get(subject)?.name ?? `operator ${subject}`;
    if (track === 'regions') return this.regions.get(subject)?.name ?? `region ${subject}`;
    if (track === 'steps') return `step ${subject}`;
    return '';
  }

  /** What fits into a box: the part of the name that tells most. */
  labelOf(track: Track, subject: number): string {
    if (track.track === 'steps') return `${subject}`;
    if (track.track === 'casts') {
      const site = this.sites.get(subject);
      if (!site) return '';
      const what = site.argument ?? site.role;
      return `${castOf(site)} ${what}${site.operator ? ` of ${shortOperator(site.operator)}` : ''}`.trim();
    }
    if (track.track === 'operators') {
      const use = this.uses.get(subject);
      if (!use) return '';
      return `${shortOperator(use.operator)}${use.computed ? ` ${shortDtype(use.computed)}` : ''}`;
    }
    return this.nameOf(track.track, subject);
  }
}

export function shortOperator(operator: string): string {
  return operator.startsWith('aten::') ? operator.slice(6) : operator;
}

const kShort: Record<string, string> = {
  float64: 'fp64',
  float32: 'fp32',
  float16: 'fp16',
  bfloat16: 'bf16',
  float8_e4m3fn: 'fp8e4',
  float8_e5m2: 'fp8e5',
};

/** "fp32→bf16"; '' of what only counts pass-throughs. */
export function castOf(site: { from: string | null; to: string | null }): string {
  return site.from === null || site.to === null ? '' : `${shortDtype(site.from)}→${shortDtype(site.to)}`;
}

export function shortDtype(dtype: string): string {
  return kShort[dtype] ?? dtype;
}
