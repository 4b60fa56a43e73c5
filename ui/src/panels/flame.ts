// A flame view of casts or operators, by stack or by module: boxes as wide as their time, bytes or count. A click on a
// box zooms to it; the sandwich shows who calls it and what it calls.

import { api } from '../api/client.ts';
import type { Stacks } from '../api/told.ts';
import { css, cssOf, inkOn, lookOf } from '../model/looks/colours.ts';
import { boxesOf, flameOf, mostDtype, nodeAt, pathOf, sandwichOf, sumsByKey } from '../model/sums/flame.ts';
import type { FlameBox, FlameNode, KeySum, Leaf } from '../model/sums/flame.ts';
import { FlameLeaves } from '../model/sums/flame_leaves.ts';
import type { Counted, FlameBy, Step } from '../model/sums/flame_leaves.ts';
import { kFlameMeasures } from '../model/sums/flame_look.ts';
import type { FlameLook, FlameMeasure } from '../model/sums/flame_look.ts';
import { bytes, duration, grouped, percent } from '../model/words/format.ts';
import type { State } from '../model/state.ts';
import { el, fill, nothing } from '../dom.ts';
import { TableView } from './table_view.ts';

export interface FlameActions {
  find(search: string): void;
  source(file: string, line: number | null): void;
}

/** What the leaves depend on. */
interface Made extends Pick<FlameLook, 'of' | 'measure' | 'range' | 'ownCode'> {
  by: FlameBy | null;
  onlyFind: string | undefined;
  /** What all of it is, in words. */
  whole: string;
}

const kRowPx = 20;
const kLeastPx = 3;
const kFormats: Record<FlameMeasure, (value: number) => string> = { time: duration, bytes, count: grouped };

export class FlameView {
  readonly element: HTMLElement;
  private readonly state: State;
  private readonly actions: FlameActions;
  private readonly body = el('div', { class: 'flame-body' });
  private readonly says = el('p', { class: 'flame-says soft', role: 'status' });
  /** null: nothing was shown yet. */
  private by: FlameBy | null = null;
  /** What the leaves were made for: while another answer is awaited, they are drawn and named as what they are. */
  private made: Made | null = null;
  private leaves: Leaf[] = [];
  private steps: ReadonlyMap<string, Step> = new Map();
  private stacks: { judgement: number; answer: Promise<Stacks> } | null = null;
  private readonly asChosen: ((look: FlameLook) => void)[] = [];
  private readonly nodeOf = new WeakMap<Element, FlameNode>();
  private turn = 0;
  private timer = 0;

  constructor(state: State, actions: FlameActions) {
    this.state = state;
    this.actions = actions;
    const choose = (label: string, part: 'of' | 'measure' | 'range', choices: [string, string][]) => {
      const select = el('select', { class: 'field', 'aria-label': label }, ...choices.map(([value, words]) => el('option', { value }, words)));
      select.addEventListener('change', () => this.relook({ [part]: select.value }));
      this.asChosen.push((look) => (select.value = look[part]));
      return select;
    };
    const own = el('input', { type: 'checkbox' });
    own.addEventListener('change', () => this.relook({ ownCode: own.checked }));
    const sandwich = el('button', { class: 'act', title: 'what calls a place, and what it calls', click: () => this.relook({ sandwich: !state.flame.sandwich }) }, 'lines, with callers and calls');
    this.asChosen.push((look) => {
      own.checked = look.ownCode;
      sandwich.setAttribute('aria-pressed', String(look.sandwich));
    });
    this.element = el(
      'div',
      { class: 'flame' },
      el(
        'div',
        { class: 'row table-tools' },
        choose('What is counted', 'of', [['casts', 'casts'], ['operators', 'operators (deep steps)']]),
        choose('Measure', 'measure', kFlameMeasures.map((one) => [one, one === 'time' ? 'CPU time' : one])),
        choose('Of', 'range', [['run', 'the whole run'], ['shown', 'what is shown or selected']]),
        el('label', {}, own, ' own code only'),
        sandwich,
      ),
      this.says,
      this.body,
    );
    state.on(['window', 'selection'], () => {
      if (state.flame.range === 'shown') this.soon(400);
    });
    state.on('find', () => {
      if (!this.isMade()) this.soon(400);
    });
    state.on('flame', () => this.take());
    state.on(['judgement', 'definitions'], () => this.soon(400));
    state.on(['look', 'finding'], () => this.draw());
    let width = 0;
    new ResizeObserver(() => {
      // Its height follows from what is drawn.
      if (this.body.clientWidth !== width) this.draw();
      width = this.body.clientWidth;
    }).observe(this.body);
    this.take();
  }

  private relook(change: Partial<FlameLook>): void {
    this.state.flame = { ...this.state.flame, ...change };
    this.state.tell('flame');
  }

  /** Shows what was chosen here, or what an address asks for. */
  private take(): void {
    const { flame } = this.state;
    for (const show of this.asChosen) show(flame);
    if (this.isMade()) this.draw();
    else void this.ask();
  }

  private wanted(): Made {
    const { flame, onlyFind, selection } = this.state;
    const { of, measure, range, ownCode } = flame;
    const all = range === 'run' ? 'the whole run' : selection ? 'what is selected' : 'what is shown';
    return { by: this.by, of, measure, range, ownCode, onlyFind, whole: onlyFind === undefined ? all : `${all}, only what is found` };
  }

  /** A change of what is shown or selected asks anew by itself. */
  private isMade(): boolean {
    const kind = (one: Made | null) => one && JSON.stringify({ ...one, whole: '' });
    return kind(this.made) === kind(this.wanted());
  }

  show(by: FlameBy): void {
    const other = this.by !== null && by !== this.by;
    this.by = by;
    // A place in a stack is none in a module.
    if (other) this.relook({ zoomed: [] });
    else void this.ask();
  }

  private soon(ms: number): void {
    clearTimeout(this.timer);
    if (this.element.isConnected) this.timer = window.setTimeout(() => void this.ask(), ms);
  }

  private async ask(): Promise<void> {
    const { run, definitions } = this.state;
    if (!run || !this.element.isConnected) return;
    this.turn += 1;
    const turn = this.turn;
    const wanted = this.wanted();
    if (this.stacks?.judgement !== run.judgement) this.stacks = { judgement: run.judgement, answer: api.stacks(run.run_name) };
    const both = await Promise.all([this.stacks.answer, this.counted(run.run_name)]).catch(() => null);
    if (turn !== this.turn) return;
    if (!both) {
      this.stacks = null;
      return fill(this.body, nothing('The stacks could not be asked for.'));
    }
    await otherTask();
    if (turn !== this.turn) return;
    const leaves = new FlameLeaves(definitions, both[0], run.cwd);
    this.leaves = leaves.of(both[1], wanted.by ?? 'stacks', wanted.measure, wanted.ownCode);
    this.made = wanted;
    this.steps = leaves.steps;
    await otherTask();
    if (turn === this.turn) this.draw();
  }

  /** Casts of the whole run are counted exactly; else the events that the timeline has are counted. */
  private async counted(run: string): Promise<Counted[]> {
    const { state } = this;
    const { of, range } = state.flame;
    if (of === 'casts' && range === 'run' && state.onlyFind === undefined)
      return (await api.sites(run)).map((one) => ({ kind: 'casts', subject: one.site, ns: one.cpu_ns, bytes: one.bytes, count: one.casts }));
    const span = range === 'run' ? state.whole : (state.selection ?? state.window);
    // An operator that another one calls lies within its time.
    const tracks = state.run!.tracks.filter((one) => one.track_kind === of && one.row_depth === 0).map((one) => one.track);
    if (tracks.length === 0) return [];
    const summary = await api.summary(run, Math.max(span.begin, 0), Math.max(span.end, 1), tracks, state.hiddenShades(), state.onlyFind);
    return summary.by_subject
      .filter((row) => row.track_kind === of && ['down', 'up', 'same', 'operator'].includes(row.shade_kind))
      .map((row) => ({ kind: of, subject: row.subject, ns: row.window_ns, bytes: row.event_bytes, count: row.event_count }));
  }

  /** Draws, and leaves the keyboard where it was: a run that goes on is drawn anew again and again. */
  private draw(): void {
    const held = this.nodeOf.get(document.activeElement!);
    const wasIn = held !== undefined && this.body.contains(document.activeElement);
    this.fillBody();
    if (!wasIn || this.body.contains(document.activeElement)) return;
    const path = JSON.stringify(pathOf(held));
    const all = [...this.body.querySelectorAll<HTMLElement>('.flame-box')];
    const same = all.find((part) => this.nodeOf.has(part) && JSON.stringify(pathOf(this.nodeOf.get(part)!)) === path);
    const next = same ?? all.find((part) => part.tabIndex === 0);
    if (!next) return;
    for (const part of all) if (part.parentElement === next.parentElement) part.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  private fillBody(): void {
    if (!this.made || !this.element.isConnected || this.body.clientWidth === 0) return;
    const root = flameOf(this.leaves);
    if (root.value === 0) {
      this.say(null, root);
      return fill(this.body, nothing(whyNothing(this.made)));
    }
    const { zoomed, sandwich } = this.state.flame;
    const node = nodeAt(root, zoomed);
    this.say(node, root);
    if (sandwich) return this.drawSandwich(node);
    fill(this.body, this.flame(node, 'Flame', (chosen) => this.zoom(chosen)));
  }

  private zoom(node: FlameNode): void {
    this.relook({ zoomed: pathOf(node) });
    this.body.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
  }

  private stepOf(node: FlameNode): Step {
    const whole = this.made?.whole ?? '';
    return this.steps.get(node.key) ?? { label: whole, name: whole, place: null, search: '' };
  }

  private say(node: FlameNode | null, root: FlameNode): void {
    if (!node) return fill(this.says);
    const { name, place: at, search } = this.stepOf(node);
    const { format } = this;
    fill(
      this.says,
      el('b', {}, name),
      ` ${format(node.value)} (${percent(node.value / root.value)})${node.own > 0 && node.own < node.value ? `, ${format(node.own)} of it itself` : ''} `,
      at?.file !== null && at !== null && el('button', { class: 'link', click: () => this.actions.source(at.file!, at.line) }, 'source'),
      search !== '' && el('button', { class: 'link', click: () => this.actions.find(search) }, 'show in the timeline'),
      node.parent !== null && el('button', { class: 'link', click: () => this.zoom(root) }, 'whole flame'),
      ` ${this.made ? limits(this.made) : ''}`,
    );
  }

  private get format(): (value: number) => string {
    return kFormats[this.made?.measure ?? this.state.flame.measure];
  }

  /** One tab stop; arrows go to the caller, the first call, and the boxes beside. */
  private flame(node: FlameNode, label: string, choose: (node: FlameNode) => void, withHolders = true): HTMLElement {
    const width = this.body.clientWidth;
    const boxes = boxesOf(node, kLeastPx / width, withHolders);
    const element = el('div', { class: 'flame-boxes', role: 'tree', 'aria-label': label });
    element.style.height = `${(1 + Math.max(...boxes.map((box) => box.depth))) * kRowPx}px`;
    const parts = new Map(boxes.filter((box) => box.rest === 0).map((box) => [box.node, this.box(box, width, box.node === node, () => choose(box.node))]));
    element.append(...parts.values(), ...boxes.filter((box) => box.rest > 0).map((box) => restBox(box, width, () => choose(box.node))));
    element.addEventListener('keydown', (event) => {
      const now = boxes.find((box) => parts.get(box.node) === document.activeElement)?.node;
      const next = now && neighbourOf(now, event.key);
      const part = next && parts.get(next);
      if (!part) return;
      event.preventDefault();
      event.stopPropagation();
      parts.get(now)!.tabIndex = -1;
      part.tabIndex = 0;
      part.focus();
    });
    return element;
  }

  private box({ node, depth, left, width }: FlameBox, allPx: number, isChosen: boolean, choose: () => void): HTMLElement {
    const { label } = this.stepOf(node);
    const words = `${label}: ${this.format(node.value)}`;
    const look = lookOf({ shade: 0, track_kind: 'casts', shade_kind: 'down', shade_dtype: mostDtype(node), cause: null }, 'dtype', this.state.theme);
    const part = el('button', { class: 'flame-box', role: 'treeitem', 'aria-level': depth + 1, 'aria-selected': String(isChosen), 'aria-label': `${words}, mostly ${mostDtype(node) || 'of no dtype'}`, title: words, tabindex: isChosen ? 0 : -1, click: choose }, width * allPx > 24 ? label : '');
    this.nodeOf.set(part, node);
    if (this.isOfFinding(node)) part.classList.add('of-finding');
    part.style.left = `${left * 100}%`;
    part.style.width = `${width * 100}%`;
    part.style.top = `${depth * kRowPx}px`;
    part.style.background = cssOf(look);
    part.style.color = css(inkOn(look.colour));
    return part;
  }

  /** Whether a box is the line of the chosen finding. */
  private isOfFinding(node: FlameNode): boolean {
    const { finding } = this.state;
    const line = finding === null ? null : this.state.links().lineOf(finding);
    const at = line && this.steps.get(node.key)?.place;
    return !!at && at.file === line.file && at.line === line.line;
  }

  private drawSandwich(node: FlameNode): void {
    // The last step of a path is the cast itself. The table lists lines and modules, so the line or module before it gets
    // the cast's value. A cast that has no such step before it is listed itself.
    const rows = sumsByKey(this.leaves.map((leaf) => ({ ...leaf, path: leaf.path.length > 1 ? leaf.path.slice(0, -1) : leaf.path })));
    const key = node.parent ? node.key : rows.reduce((most, row) => (row.own > most.own ? row : most)).key;
    const { format } = this;
    const table = new TableView<KeySum>({
      columns: [
        { key: 'name', title: 'place', value: (row) => this.steps.get(row.key)?.name ?? row.key },
        { key: 'own', title: 'itself', number: true, value: (row) => row.own, text: (row) => (row.own === 0 ? '' : format(row.own)), format },
        { key: 'total', title: 'in all', number: true, value: (row) => row.total, format },
      ],
      order: { key: 'own', down: true },
      label: 'Places',
      empty: '',
      filterable: true,
      choose: (row) => this.zoomToKey(row.key),
      chosen: (row) => row.key === key,
    });
    table.set(rows);
    const { callers, callees } = sandwichOf(this.leaves, key);
    const go = (to: FlameNode) => to.parent && this.zoomToKey(to.key);
    fill(
      this.body,
      el('div', { class: 'sandwich' }, table.element, el('div', {}, el('h3', {}, 'Called from'), this.flame(callers.children[0] ?? callers, 'Called from', go, false), el('h3', {}, 'Calls'), this.flame(callees.children[0] ?? callees, 'Calls', go, false))),
    );
  }

  private zoomToKey(key: string): void {
    const leaf = this.leaves.find((one) => one.path.includes(key) && one.value > 0);
    this.relook({ zoomed: leaf ? leaf.path.slice(0, leaf.path.indexOf(key) + 1) : [] });
  }
}

function whyNothing({ of, measure, onlyFind }: Made): string {
  if (onlyFind !== undefined) return 'The search finds nothing of what is counted here, and the rest is hidden.';
  if (of === 'operators') return 'Operators have events in deep steps only (castscope run --deep).';
  return measure === 'time' ? 'No cast was timed here.' : 'Nothing was cast here.';
}

/** What is counted, and what is not. */
function limits({ of, measure }: Made): string {
  if (of === 'operators') return 'Of operators whose events the timeline has: of deep steps, and as far as they were kept.';
  return measure === 'time' ? 'With the first cast of each place, which takes longer; without casts that were not timed.' : '';
}

/** Of ten thousand sites each part of the work takes its time: between them the page draws and hears keys. */
function otherTask(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

/** What stands for several that are too narrow. */
function restBox({ rest, depth, left, width }: FlameBox, allPx: number, comeNearer: () => void): HTMLElement {
  const words = `${grouped(rest)} more`;
  const part = el('div', { class: 'flame-box flame-rest', title: `${words}, each too narrow to be seen: a click comes nearer`, click: comeNearer }, width * allPx > 60 ? words : '');
  part.style.left = `${left * 100}%`;
  part.style.width = `${width * 100}%`;
  part.style.top = `${depth * kRowPx}px`;
  return part;
}

function neighbourOf(node: FlameNode, key: string): FlameNode | undefined {
  const beside = node.parent?.children ?? [node];
  const at = beside.indexOf(node);
  if (key === 'ArrowUp') return node.parent ?? undefined;
  if (key === 'ArrowDown') return node.children[0];
  return key === 'ArrowLeft' ? beside[at - 1] : key === 'ArrowRight' ? beside[at + 1] : undefined;
}
