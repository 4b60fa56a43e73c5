// Makes the leaves of a flame view: from counts of casts and operators, along their stacks or their modules.

import type { Stacks } from '../../api/told.ts';
import type { Place } from '../../api/types.ts';
import type { Definitions } from '../definitions.ts';
import type { Leaf } from './flame.ts';
import type { FlameMeasure } from './flame_look.ts';
import { quoted, searchForLine, searchForModule } from '../search.ts';
import { toldApart } from '../tell_apart.ts';
import { place } from '../words/format.ts';
import { isLibrary } from '../words/paths.ts';

export type FlameBy = 'stacks' | 'modules';

/** What was counted of a site or an operator use. */
export interface Counted {
  kind: 'casts' | 'operators';
  subject: number;
  ns: number;
  bytes: number;
  count: number;
}

/** What a key of a path stands for. */
export interface Step {
  label: string;
  /** The whole name, for where the steps around it are not in sight. */
  name: string;
  /** The place in the source, or the search that finds it. */
  place: Place | null;
  search: string;
}

export class FlameLeaves {
  private readonly definitions: Definitions;
  private readonly stacks: Stacks;
  private readonly cwd: string;
  readonly steps = new Map<string, Step>();
  /** Modules of several models may have the same path. */
  private readonly severalModels: boolean;
  /** By the number of a frame. */
  private readonly own: (boolean | undefined)[] = [];

  constructor(definitions: Definitions, stacks: Stacks, cwd: string) {
    this.definitions = definitions;
    this.stacks = stacks;
    this.cwd = cwd;
    this.severalModels = new Set([...definitions.sites.values(), ...definitions.uses.values()].map((one) => one.model)).size > 1;
  }

  /** `ownCode`: frames of installed packages are left out of stacks that have others. */
  of(counted: readonly Counted[], by: FlameBy, measure: FlameMeasure, ownCode: boolean): Leaf[] {
    const rows = counted.map((one) => ({ one, path: by === 'stacks' ? this.stackOf(one, ownCode) : this.modulesOf(one) }));
    const { definitions, cwd } = this;
    const told = toldApart(
      rows,
      ({ one, path }) => [...path, definitions.nameOf(one.kind, one.subject)].join('\n'),
      ({ one }) => definitions.traitsOf(one.kind, one.subject, cwd),
      ({ one }) => one.subject,
    );
    return rows.map((row) => ({
      path: [...row.path, this.subject(row.one, told.get(row))],
      value: measure === 'time' ? row.one.ns : row.one[measure],
      dtype: this.dtypeOf(row.one),
    }));
  }

  private definitionOf({ kind, subject }: Counted) {
    return kind === 'casts' ? this.definitions.sites.get(subject) : this.definitions.uses.get(subject);
  }

  private dtypeOf(one: Counted): string {
    if (one.kind === 'casts') return this.definitions.sites.get(one.subject)?.to_dtype ?? '';
    return this.definitions.uses.get(one.subject)?.computed_in ?? '';
  }

  private step(key: string, make: () => Step): string {
    if (!this.steps.has(key)) this.steps.set(key, make());
    return key;
  }

  /** `told` is what tells it from others of the same name in the same place. */
  private subject(one: Counted, told?: string): string {
    return this.step(`${one.kind} ${one.subject}`, () => {
      const of = this.definitionOf(one);
      const at = of?.file ? of : null;
      const label = [this.definitions.nameOf(one.kind, one.subject), told].filter((part) => part !== undefined).join(' · ');
      return { label, name: at ? `${label} ${place(at, this.cwd)}` : label, place: at, search: at ? searchForLine(at) : '' };
    });
  }

  private stackOf({ kind, subject }: Counted, ownCode: boolean): string[] {
    const { node_frames: frameOf, node_parents: parents, site_nodes: sites, operator_use_nodes: uses } = this.stacks;
    const numbers: number[] = [];
    for (let node = (kind === 'casts' ? sites : uses)[subject - 1] ?? 0; node > 0; node = parents[node - 1]) numbers.push(frameOf[node - 1]);
    numbers.reverse();
    const own = ownCode ? numbers.filter((number) => this.isOwn(number)) : numbers;
    return (own.length > 0 ? own : numbers).map((number) => this.frame(number));
  }

  private isOwn(frame: number): boolean {
    this.own[frame] ??= !isLibrary(this.stacks.frames[frame].file);
    return this.own[frame];
  }

  private frame(number: number): string {
    return this.step(`frame ${number}`, () => {
      const at = this.stacks.frames[number];
      const label = `${at.function ?? ''} ${place(at, this.cwd)}`.trim();
      return { label, name: label, place: at, search: `stack:${quoted(`${at.file}:${at.line}`)}` };
    });
  }

  private modulesOf(one: Counted): string[] {
    const of = this.definitionOf(one);
    if (!of || of.module === null) return [this.step('no module', () => ({ label: 'outside of modules', name: 'outside of modules', place: null, search: '' }))];
    const model = of.model ?? '';
    const path = [this.step(`model ${model}`, () => ({ label: model || 'model', name: model || 'model', place: null, search: model === '' ? '' : searchForModule(model, '', true) }))];
    let name = '';
    for (const part of of.module.split('.')) {
      if (part === '' || of.module === model) continue;
      name = name === '' ? part : `${name}.${part}`;
      const module = name;
      path.push(this.step(`module ${model} ${module}`, () => ({ label: part, name: this.severalModels ? `${model} ${module}` : module, place: null, search: searchForModule(model, module, true) })));
    }
    return path;
  }
}
