// The model as a tree: the precision in which each layer ran, and what its casts cost.

import { api } from '../api/client.ts';
import { cssOf, lookOf } from '../model/colours.ts';
import { shortDtype } from '../model/definitions.ts';
import { duration, grouped, percent } from '../model/format.ts';
import { searchForModule } from '../model/search.ts';
import { moduleTree, precisionOf } from '../model/module_tree.ts';
import type { ModuleNode } from '../model/module_tree.ts';
import type { State } from '../model/state.ts';
import { el, fill, nothing } from '../dom.ts';
import type { Panel } from './side.ts';

const kOpenedDepth = 2;
const kMostChildren = 400;

export class ModulesPanel implements Panel {
  readonly tab = 'modules';
  readonly title = 'Modules';
  readonly element = el('div');
  private readonly state: State;
  private readonly find: (text: string) => void;
  private readonly folds = new Map<string, boolean>();
  private trees: ModuleNode[] = [];
  private askedMs = -Infinity;

  constructor(state: State, find: (text: string) => void) {
    this.state = state;
    this.find = find;
    state.on('judgement', () => {
      if (state.tab === 'modules') this.show();
    });
    state.on('look', () => {
      if (state.tab === 'modules') this.draw();
    });
  }

  show(): void {
    const { run } = this.state;
    if (!run || performance.now() - this.askedMs < 2000) return;
    this.askedMs = performance.now();
    api.modules(run.run_name).then(
      (models) => {
        this.trees = models.map(({ model, modules }) => moduleTree(model, modules));
        this.draw();
      },
      () => fill(this.element, nothing('The modules could not be asked for.')),
    );
  }

  private draw(): void {
    if (this.trees.length === 0) return fill(this.element, nothing('No cast came from within a module.'));
    const looked = this.trees.some((tree) => tree.computed.size > 0);
    fill(
      this.element,
      el('p', { class: 'soft' }, looked ? 'Precision that operators computed in, in deep steps.' : 'To which precision was cast. Deep steps (castscope run --deep) tell what operators computed in.'),
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
        el('button', { class: 'link name', title: 'find its casts, operators and kernels in the timeline', click: () => this.find(searchForModule(model, at.path, this.trees.length === 1)) }, at.name, at.type !== null && el('span', { class: 'soft' }, ` ${at.type}`)),
        el('span', { class: 'words' }, words),
        bar,
        el('span', { class: 'number soft', title: `${grouped(at.casts)} casts, ${grouped(at.hits)} from the cache` }, at.cpuNs > 0 ? duration(at.cpuNs) : grouped(at.casts)),
      ),
      open && children,
    );
  }
}
