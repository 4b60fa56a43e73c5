// The model as a tree: the precision in which each layer ran, and what its casts cost.

import { api } from '../api/client.ts';
import type { OperatorUse, Place } from '../api/types.ts';
import { cssOf, lookOf } from '../model/looks/colours.ts';
import { shortDtype } from '../model/definitions.ts';
import { counted, grouped, percent, place as placeText, timeOf } from '../model/words/format.ts';
import { searchForModule } from '../model/search.ts';
import { moduleTree, precisionOf } from '../model/sums/module_tree.ts';
import type { ModuleNode } from '../model/sums/module_tree.ts';
import { oddGroups, usesOf } from '../model/sums/odd_modules.ts';
import type { OddGroup } from '../model/sums/odd_modules.ts';
import type { State } from '../model/state.ts';
import { el, fill, nothing } from '../dom.ts';
import type { Panel } from './side.ts';

const kOpenedDepth = 2;
const kMostChildren = 400;

// A module of a model calls so many operators at most, as far as anybody reads.
const kMostOperators = 12;

export interface ModuleActions {
  find(text: string): void;
  source(file: string, line: number | null): void;
}

export class ModulesPanel implements Panel {
  readonly tab = 'modules';
  readonly title = 'Modules';
  readonly element = el('div');
  private readonly state: State;
  private readonly actions: ModuleActions;
  /** The module whose operators are listed: its model and path. */
  private chosen = '';
  private readonly folds = new Map<string, boolean>();
  private trees: ModuleNode[] = [];
  private groups: OddGroup[] = [];
  private askedMs = -Infinity;

  constructor(state: State, actions: ModuleActions) {
    this.state = state;
    this.actions = actions;
    state.on(['judgement', 'definitions'], () => {
      if (state.tab === 'modules' || !state.live) this.show();
    });
    state.on('look', () => {
      if (state.tab === 'modules') this.draw();
    });
  }

  /** How many modules compute in another precision than the others of their type. */
  count(): number | null {
    return this.state.oddModules || null;
  }

  show(): void {
    const { run } = this.state;
    if (!run || performance.now() - this.askedMs < 2000) return this.group();
    this.askedMs = performance.now();
    api.modules(run.run_name).then(
      (models) => {
        this.trees = models.map(({ model, modules }) => moduleTree(model, modules));
        this.group();
      },
      () => fill(this.element, nothing('The modules could not be asked for.')),
    );
  }

  private group(): void {
    const { state } = this;
    this.groups = oddGroups(this.trees, [...state.definitions.uses.values()], state.definitions.regions);
    state.oddModules = this.groups.reduce((sum, group) => sum + group.modules.length, 0);
    state.tell('modules');
    if (state.tab === 'modules') this.draw();
  }

  private draw(): void {
    if (this.trees.length === 0) return fill(this.element, nothing('No cast came from within a module.'));
    const looked = this.trees.some((tree) => tree.computed.size > 0);
    fill(
      this.element,
      el('p', { class: 'soft' }, looked ? 'Precision that operators computed in, in deep steps.' : 'To which precision was cast. Deep steps (castscope run --deep) tell what operators computed in.'),
      ...this.groups.map((group) => this.odd(group)),
      el('div', { class: 'tree-row tree-head', 'aria-hidden': 'true' }, el('span'), el('span', {}, 'module'), el('span', {}, 'precision'), el('span'), el('span', { class: 'number' }, 'casts')),
      el('ul', { class: 'tree', role: 'tree' }, ...this.trees.map((tree) => this.node(tree, 0, tree.name, tree.name))),
    );
  }

  private node(at: ModuleNode, depth: number, key: string, model: string): HTMLElement {
    const leaf = at.children.length === 0;
    const open = !leaf && (this.folds.get(key) ?? (depth < kOpenedDepth && at.children.length <= 64));
    const toggle = () => {
      this.folds.set(key, !open);
      this.draw();
    };
    const shares = precisionOf(at);
    const bar = el('span', { class: 'precision', title: shares.map((one) => `${one.dtype} ${percent(one.share)}`).join(', ') });
    for (const { dtype, share } of shares) {
      const part = el('i', { 'aria-hidden': 'true' });
      part.style.width = `${share * 100}%`;
      part.style.background = cssOf(lookOf({ shade: 0, track_kind: 'casts', shade_kind: 'down', shade_dtype: dtype, cause: null }, 'dtype', this.state.theme));
      bar.append(part);
    }
    const words = shares.slice(0, 2).map((one) => (one.share > 0.995 ? shortDtype(one.dtype) : `${shortDtype(one.dtype)} ${percent(one.share)}`)).join(', ');
    const children = el('ul', { role: 'group' });
    if (open) children.append(...at.children.slice(0, kMostChildren).map((child) => this.node(child, depth + 1, `${key}/${child.name}`, model)));
    return el(
      'li',
      { role: 'treeitem', 'aria-expanded': leaf ? null : String(open) },
      el(
        'div',
        { class: 'tree-row' },
        el('button', { class: 'fold', disabled: leaf, 'aria-label': `${open ? 'Fold' : 'Open'} ${at.name}`, click: toggle }, leaf ? '·' : open ? '▾' : '▸'),
        el('button', { class: 'link name', title: 'its operators here, its events in the timeline', click: () => this.choose(model, at) }, at.name, at.type !== null && el('span', { class: 'soft' }, ` ${at.type}`)),
        el('span', { class: 'words' }, words),
        bar,
        el('span', { class: 'number soft', title: `${grouped(at.casts)} casts, ${grouped(at.hits)} from the cache${at.casts > 0 ? `, ${timeOf(at.cpuNs, at.casts)} of CPU time` : ''}` }, grouped(at.casts)),
      ),
      this.chosen === keyOf(model, at) && this.operators(model, at),
      open && children,
    );
  }

  private choose(model: string, at: ModuleNode): void {
    const key = keyOf(model, at);
    this.chosen = this.chosen === key ? '' : key;
    this.draw();
    this.actions.find(this.chosen === '' ? '' : searchForModule(model, at.path, this.trees.length === 1));
  }

  /** Lists a module's operators, wherever in the tree it is. */
  private open(model: string, at: ModuleNode): void {
    let key = model;
    for (const part of at.path.split('.')) {
      this.folds.set(key, true);
      key = `${key}/${part}`;
    }
    if (this.chosen !== keyOf(model, at)) this.choose(model, at);
    this.element.querySelector('.module-operators')?.scrollIntoView({ block: 'nearest' });
  }

  private odd({ modules, type, dtype, usual, others, region }: OddGroup): HTMLElement {
    const one = modules.length === 1;
    const links = modules.flatMap(({ model, node }, i) => [
      i > 0 && ', ',
      el('button', { class: 'link', click: () => this.open(model, node) }, this.trees.length > 1 ? `${model} ${node.path}` : node.path),
    ]);
    return el(
      'p',
      { class: 'odd' },
      ...links,
      ` ${one ? 'computes' : 'compute'} in ${dtype}`,
      ...(region ? [`, in ${region.label} `, this.link(region)] : []),
      `; ${counted(others, 'other', 'others')} of ${one ? 'its' : 'their'} type (${type}) in ${usual}.`,
    );
  }

  private link(at: Place): HTMLElement {
    return el('button', { class: 'link mono', disabled: at.file === null, click: () => at.file !== null && this.actions.source(at.file, at.line) }, placeText(at, this.state.run?.cwd ?? ''));
  }

  /** What the operators of a module computed in, where, and within which region. */
  private operators(model: string, at: ModuleNode): HTMLElement {
    const { definitions } = this.state;
    // One that was called from several places is one line here.
    const told = new Map<string, OperatorUse>();
    for (const use of usesOf(model, at.path, [...definitions.uses.values()])) {
      const region = definitions.regions.get(use.region ?? -1);
      told.set(JSON.stringify([definitions.nameOf('operators', use.operator_use), use.file, use.line, region?.label, region?.file, region?.line]), use);
    }
    const uses = [...told.values()];
    const line = (use: OperatorUse) => {
      const region = definitions.regions.get(use.region ?? -1);
      return el(
        'li',
        {},
        `${definitions.nameOf('operators', use.operator_use)} `,
        use.file !== null && this.link(use),
        region !== undefined && el('span', { class: 'soft' }, ` in ${region.label}, `),
        region?.file !== undefined && region.file !== null && this.link(region),
      );
    };
    if (uses.length === 0) return el('p', { class: 'soft module-operators' }, 'Nobody looked at its operators: that takes a deep step.');
    return el('ul', { class: 'module-operators' }, ...uses.slice(0, kMostOperators).map(line), uses.length > kMostOperators && el('li', { class: 'soft' }, `${grouped(uses.length - kMostOperators)} more`));
  }
}

const keyOf = (model: string, at: ModuleNode) => `${model} ${at.path}`;
