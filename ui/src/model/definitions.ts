// The names of sites, regions, operator uses and kernels: all are fetched once, then only the new ones.

import type { DefinitionsAnswer, Kernel, OperatorUse, Place, Region, Site, Track, TrackKind } from '../api/types.ts';
import { causeName } from './looks/colours.ts';
import { place } from './words/format.ts';
import { StepNames } from './step_names.ts';
import type { Trait } from './tell_apart.ts';

export class Definitions {
  readonly sites = new Map<number, Site>();
  readonly regions = new Map<number, Region>();
  readonly uses = new Map<number, OperatorUse>();
  readonly kernels = new Map<number, Kernel>();
  readonly steps = new StepNames();

  /** Whether any of them is new. */
  add(answer: DefinitionsAnswer): boolean {
    for (const site of answer.sites) this.sites.set(site.site, site);
    for (const region of answer.regions) this.regions.set(region.region, region);
    for (const use of answer.operator_uses) this.uses.set(use.operator_use, use);
    for (const kernel of answer.kernels) this.kernels.set(kernel.kernel, kernel);
    return [answer.sites, answer.regions, answer.operator_uses, answer.kernels].some((one) => one.length > 0);
  }

  known(): { known_sites: number; known_regions: number; known_operator_uses: number; known_kernels: number } {
    return { known_sites: this.sites.size, known_regions: this.regions.size, known_operator_uses: this.uses.size, known_kernels: this.kernels.size };
  }

  clear(): void {
    this.sites.clear();
    this.regions.clear();
    this.uses.clear();
    this.kernels.clear();
    this.steps.clear();
  }

  /** The subject of an event, in words; its number if its definition has not come yet. `level`: of a row of modules. */
  nameOf(track: TrackKind, subject: number, level = Infinity): string {
    if (track === 'modules') return this.levelsOf(subject).slice(0, level + 1).join('.');
    if (track === 'casts') return this.sites.get(subject)?.label ?? `site ${subject}`;
    if (track === 'operators') return this.uses.get(subject)?.label ?? `operator ${subject}`;
    if (track === 'kernels') return this.kernels.get(subject)?.label ?? `kernel ${subject}`;
    if (track === 'regions') return this.regions.get(subject)?.label ?? `region ${subject}`;
    if (track === 'steps') return stepWords(this.steps.nameOf(subject));
    return '';
  }

  /** The line of the source that the subject of an event comes from; null if it is of a kind that has none. */
  placeOf(track: TrackKind, subject: number): Place | null {
    const tables: Partial<Record<TrackKind, ReadonlyMap<number, Place>>> = { casts: this.sites, operators: this.uses, kernels: this.kernels, regions: this.regions };
    return tables[track]?.get(subject) ?? null;
  }

  /** The text for a box: the most telling part of the name. */
  labelOf(track: Track, subject: number): string {
    if (track.track_kind === 'steps') return this.steps.nameOf(subject);
    if (track.track_kind === 'modules') return this.levelsOf(subject)[track.row_depth] ?? '';
    if (track.track_kind === 'casts') return this.castLabel(this.sites.get(subject));
    if (track.track_kind === 'operators') {
      const use = this.uses.get(subject);
      if (!use) return '';
      return `${shortOperator(use.operator)}${use.computed_in ? ` ${shortDtype(use.computed_in)}` : ''}`;
    }
    if (track.track_kind === 'kernels') {
      const kernel = this.kernels.get(subject);
      if (!kernel) return '';
      const cast = kernel.site === null ? '' : this.castLabel(this.sites.get(kernel.site));
      // Namespaces say little: most are at::native.
      const name = kernel.label.split('::').at(-1)!;
      return cast !== '' ? cast : kernel.operator === null ? name : `${shortOperator(kernel.operator)} · ${name}`;
    }
    return this.nameOf(track.track_kind, subject);
  }

  /** Of the module whose first operator this is. */
  private levelsOf(use: number): string[] {
    const of = this.uses.get(use);
    return of ? moduleLevels(of.model, of.module) : [];
  }

  private castLabel(site: Site | undefined): string {
    if (!site) return '';
    const what = argumentWords(site.argument) || site.role;
    return `${castOf(site)} ${what}${site.operator ? ` of ${shortOperator(site.operator)}` : ''}`.trim();
  }

  /** What may tell the subject from others of the same name, the most telling first; always the same traits for one
   * kind of track. */
  traitsOf(track: TrackKind, subject: number, cwd: string): Trait[] {
    const at = this.placeOf(track, subject);
    const line: Trait = { name: '', value: at?.file ? place(at, cwd) : '' };
    if (track === 'casts') return [...siteTraits(this.sites.get(subject), this.regionOf(subject, cwd)), line, this.gradientOf(subject, cwd)];
    if (track === 'regions') {
      const region = this.regions.get(subject);
      return [line, { name: '', value: region ? (region.cache_enabled ? 'cache on' : 'cache off') : '' }, { name: 'nesting', value: String(region?.nesting ?? '') }];
    }
    const of = this.uses.get(subject);
    if (track === 'operators') return [{ name: '', value: of?.module ?? '' }, line, { name: '', value: of?.phase ?? '' }, { name: 'given', value: of?.argument_dtypes ?? '' }, { name: 'gives', value: of?.result_dtype ?? '' }];
    return [line];
  }

  private regionOf(site: number, cwd: string): string {
    const region = this.regions.get(this.sites.get(site)?.region ?? -1);
    return region ? `${region.label} of ${place(region, cwd)}` : '';
  }

  private gradientOf(site: number, cwd: string): Trait {
    const forward = this.sites.get(this.sites.get(site)?.forward_site ?? -1);
    return { name: 'gradient of', value: forward ? `${forward.label}, ${place(forward, cwd)}` : '' };
  }

  /** The kernels that GPUs ran for this cast site or operator use. */
  kernelsOf(track: string, subject: number): Kernel[] {
    if (track !== 'casts' && track !== 'operators') return [];
    const of = track === 'casts' ? 'site' : 'operator_use';
    return [...this.kernels.values()].filter((kernel) => kernel[of] === subject && !kernel.replayed);
  }

  /** Says in a line what a kernel was launched for: "cast linear weight, float32 to bfloat16 · train.py:8". */
  purposeOf(subject: number): string {
    const kernel = this.kernels.get(subject);
    if (!kernel) return '';
    const at = kernel.file === null ? '' : `${kernel.file.slice(kernel.file.lastIndexOf('/') + 1)}:${kernel.line}`;
    return [kernel.launched_by_text ?? '', at].filter((one) => one !== '').join(' · ');
  }
}

function siteTraits(site: Site | undefined, region: string): Trait[] {
  return [
    { name: '', value: site?.module ?? '' },
    { name: '', value: site?.phase ?? '' },
    { name: '', value: site?.role ?? '' },
    { name: '', value: site ? causeName(site.cause) : '' },
    { name: '', value: site?.why_not_cached?.replaceAll('_', ' ') ?? '' },
    { name: 'in', value: region },
    { name: 'model', value: site?.model ?? '' },
  ];
}

/** "step 12", "evaluation 3". */
function stepWords(name: string): string {
  return /^\d/.test(name) ? `step ${name}` : name;
}

/** The model, then each part of the path; a number belongs to the name before it ("layer.0"). As in
 * server/timeline/tracks/modules.cc. */
export function moduleLevels(model: string | null, path: string | null): string[] {
  const levels = [model ?? ''];
  let afterName = false;
  for (const part of path ? path.split('.') : []) {
    const number = /^\d+$/.test(part);
    levels.push(number && afterName ? `${levels.pop()}.${part}` : part);
    afterName = !number;
  }
  return levels;
}

export function shortOperator(operator: string): string {
  return operator.startsWith('aten::') ? operator.slice(6) : operator;
}

/** "weight", or "argument 2" of an argument that is known by its position alone. */
export function argumentWords(argument: string | null): string {
  return argument !== null && /^\d+$/.test(argument) ? `argument ${argument}` : (argument ?? '');
}

const kShort: Record<string, string> = {
  float64: 'fp64',
  float32: 'fp32',
  float16: 'fp16',
  bfloat16: 'bf16',
  float8_e4m3fn: 'fp8e4',
  float8_e5m2: 'fp8e5',
};

/** "fp32→bf16"; '' for a site that only counts pass-throughs. */
export function castOf(site: { from_dtype: string | null; to_dtype: string | null }): string {
  return site.from_dtype === null || site.to_dtype === null ? '' : `${shortDtype(site.from_dtype)}→${shortDtype(site.to_dtype)}`;
}

export function shortDtype(dtype: string): string {
  return kShort[dtype] ?? dtype;
}
