// The findings of castscope as a list to work through: by rule, with a filter, an order, and marks for what is done.

import { api } from '../api/client.ts';
import type { RuleWords } from '../api/told.ts';
import type { Finding, SourceFile } from '../api/types.ts';
import { keep, kept } from '../kept.ts';
import { counted, duration, grouped } from '../model/words/format.ts';
import type { State } from '../model/state.ts';
import { isOpenAtFirst, kFewFindings, kFindingOrders, workList } from '../model/findings/work_list.ts';
import type { FindingOrder, RuleGroup, WorkListLook } from '../model/findings/work_list.ts';
import { el, fill, nothing } from '../dom.ts';
import { editorLink } from './editor.ts';
import { findingCard } from './finding_card.ts';
import type { CardActions } from './finding_card.ts';
import type { Panel } from './side.ts';
import { TallListView } from './tall_list_view.ts';
import type { Entry } from './tall_list_view.ts';

export interface FindingActions {
  goTo(finding: Finding): void;
  source(file: string, line: number | null): void;
}

const kOrderWords: Record<FindingOrder, string> = { severity: 'most severe first', saving: 'largest saving first', time: 'by time', place: 'by place' };
// css px, before they are measured.
const kGroupHeight = 34;
const kClosedHeight = 92;
const kOpenHeight = 340;

export class FindingsPanel implements Panel {
  readonly tab = 'findings';
  readonly title = 'Findings';
  readonly element: HTMLElement;
  private readonly state: State;
  private readonly actions: CardActions;
  private readonly says = el('p', { class: 'soft', role: 'status' });
  private readonly tools: HTMLElement;
  private readonly none = el('div');
  private readonly list: TallListView;
  /** Findings and groups that somebody opened (true) or closed. */
  private readonly opened = new Map<string, boolean>();
  private readonly files = new Map<string, Promise<SourceFile | null>>();
  private rules: Promise<RuleWords[]> | null = null;
  private done = new Set<string>();
  private doneOf = '';

  constructor(state: State, scroller: HTMLElement, actions: FindingActions) {
    this.state = state;
    this.list = new TallListView(scroller);
    this.actions = {
      ...actions,
      goTo: (finding) => {
        this.opened.set(finding.fingerprint, true);
        actions.goTo(finding);
      },
      toggle: (finding) => this.toggle(finding.fingerprint, this.isOpen(finding)),
      done: (finding, done) => this.mark(finding, done),
      editor: (at) => editorLink(state, at),
      file: (file) => this.file(file),
      rule: (rule) => this.rule(rule),
    };
    this.tools = this.makeTools();
    this.element = el('div', { class: 'findings' }, this.tools, this.none, this.list.element);
    state.on(['findings', 'run'], () => this.show());
    state.on('editor', () => this.show());
    state.on('finding', () => this.showChosen());
    state.on(['workList', 'modules'], () => this.show());
  }

  private makeTools(): HTMLElement {
    const filter = el('input', { type: 'search', class: 'field', placeholder: 'filter', 'aria-label': 'Filter findings' });
    filter.addEventListener('input', () => this.relook({ filter: filter.value }));
    const order = el('select', { class: 'field', 'aria-label': 'Order of the findings' }, ...kFindingOrders.map((one) => el('option', { value: one }, kOrderWords[one])));
    order.addEventListener('change', () => this.relook({ order: order.value as FindingOrder }));
    const hide = el('input', { type: 'checkbox' });
    hide.addEventListener('change', () => this.relook({ hideDone: hide.checked }));
    const asChosen = () => {
      const { workList } = this.state;
      if (filter.value !== workList.filter) filter.value = workList.filter;
      order.value = workList.order;
      hide.checked = workList.hideDone;
    };
    this.state.on('workList', asChosen);
    asChosen();
    return el('div', {}, el('div', { class: 'row table-tools' }, filter, order, el('label', {}, hide, ' hide done')), this.says);
  }

  private relook(change: Partial<WorkListLook>): void {
    this.state.workList = { ...this.state.workList, ...change };
    this.state.tell('workList');
  }

  count(): number {
    return this.state.findings.length;
  }

  show(): void {
    const { findings, run, workList: look, finding: chosen } = this.state;
    if (!run) return;
    this.remember(run.run_name);
    const groups = workList(findings, this.done, look);
    this.tools.hidden = findings.length === 0;
    const strayed = chosen !== null && run.run_state === 'finished' && !findings.some((one) => one.fingerprint === chosen);
    fill(
      this.none,
      strayed && el('p', { class: 'warn' }, 'The finding that the link names is not in this run.'),
      this.oddModules(),
      findings.length === 0 ? nothing(this.nothingFound()) : groups.length === 0 && nothing('No finding fits.'),
    );
    const shown = groups.reduce((sum, group) => sum + group.findings.length, 0);
    const done = findings.filter((one) => this.done.has(one.fingerprint)).length;
    const words = `${shown < findings.length ? `${grouped(shown)} of ` : ''}${counted(findings.length, 'finding', 'findings')}${done > 0 ? `, ${grouped(done)} done` : ''}`;
    if (this.says.textContent !== words) this.says.textContent = words;
    this.list.set(this.entries(groups));
  }

  /** No rule judges it: it may well be meant. */
  private oddModules(): HTMLElement | false {
    const { state } = this;
    return state.oddModules > 0 && el('p', { class: 'odd' }, el('button', { class: 'link', click: () => state.openTab('modules') }, `${counted(state.oddModules, 'module computes', 'modules compute')} in another precision than the others of ${state.oddModules === 1 ? 'its' : 'their'} type`));
  }

  private nothingFound(): string {
    const { run, live } = this.state;
    if (live) return 'Nothing found so far. Findings appear here as the run goes on.';
    if (!run || run.run_state === 'loading') return 'The run is being read.';
    if (run.damage !== null) return 'The run file is damaged: what is left of it cannot be judged.';
    const { casts, other_casts: others, compiled_casts: compiled, cache_hits: hits, step_count: steps } = run.totals;
    const ending = run.signal !== null ? 'The job was killed' : run.complete ? null : 'The run is incomplete';
    if (casts + others + compiled + hits === 0) return `${ending === null ? 'Nothing' : `${ending}, and nothing`} was cast, so there was nothing to judge.`;
    if (ending !== null) return `${ending}: nothing was found in what was seen of it, ${grouped(steps)} ${steps === 1 ? 'step' : 'steps'}.`;
    return 'castscope found nothing to complain of in this run.';
  }

  private entries(groups: RuleGroup[]): Entry[] {
    const entries: Entry[] = [];
    const count = groups.reduce((sum, group) => sum + group.findings.length, 0);
    let place = 0;
    for (const group of groups) {
      const open = this.opened.get(group.rule) ?? isOpenAtFirst(group, count);
      entries.push({ key: `rule ${group.rule}`, estimate: kGroupHeight, contents: () => JSON.stringify([open, group.findings.length, group.savedNs]), build: () => this.head(group, open) });
      for (const finding of group.findings) {
        place += 1;
        if (open) entries.push(this.entry(finding, place, count));
      }
    }
    return entries;
  }

  private entry(finding: Finding, place: number, count: number): Entry {
    const open = this.isOpen(finding);
    const look = () => ({
      open,
      place,
      count,
      done: this.done.has(finding.fingerprint),
      chosen: this.state.finding === finding.fingerprint,
      cwd: this.state.run?.cwd ?? '',
      steps: this.state.run?.totals.step_count ?? 0,
    });
    return {
      key: finding.fingerprint,
      estimate: open ? kOpenHeight : kClosedHeight,
      // What is chosen is marked in place: the card keeps its focus.
      contents: () => JSON.stringify([finding, { ...look(), chosen: null, done: null }, this.state.editor]),
      build: () => findingCard(finding, look(), this.actions),
    };
  }

  private head({ rule, severity, findings, savedNs }: RuleGroup, open: boolean): HTMLElement {
    return el(
      'h2',
      { class: `rule-group ${severity}` },
      el(
        'button',
        { 'aria-expanded': String(open), click: () => this.toggle(rule, open) },
        `${open ? '▾' : '▸'} `,
        el('code', {}, rule),
        ` ×${grouped(findings.length)}`,
        savedNs > 0 && el('span', { class: 'saved' }, ` would save ${duration(savedNs)}${(this.state.run?.totals.step_count ?? 0) > 1 ? ' a step' : ''}`),
      ),
    );
  }

  private isOpen(finding: Finding): boolean {
    return this.opened.get(finding.fingerprint) ?? this.state.findings.length <= kFewFindings;
  }

  private toggle(key: string, open: boolean): void {
    this.opened.set(key, !open);
    this.show();
  }

  /** Marks the chosen finding; scrolls to it if somebody chose it elsewhere. */
  private showChosen(): void {
    const { finding: chosen, findings } = this.state;
    for (const one of this.list.element.querySelectorAll('[aria-current]')) {
      one.removeAttribute('aria-current');
      one.classList.remove('chosen');
    }
    const finding = findings.find((one) => one.fingerprint === chosen);
    if (!finding) return this.show();
    const inside = this.list.elementOf(finding.fingerprint)?.contains(document.activeElement) === true;
    if (!inside) {
      this.opened.set(finding.fingerprint, true);
      this.opened.set(finding.rule, true);
    }
    if (this.state.tab === 'findings') {
      this.show();
      if (!inside) this.list.reveal(finding.fingerprint);
    }
    const card = this.list.elementOf(finding.fingerprint);
    card?.setAttribute('aria-current', 'true');
    card?.classList.add('chosen');
  }

  /** The finding after the chosen one, or before it, in the order of the list. */
  neighbour(step: 1 | -1): Finding | null {
    const list = workList(this.state.findings, this.done, this.state.workList).flatMap((group) => group.findings);
    const at = list.findIndex((one) => one.fingerprint === this.state.finding);
    return list[at < 0 ? (step > 0 ? 0 : list.length - 1) : at + step] ?? null;
  }

  /** Reads the marks of what is done, once for each run. */
  private remember(run: string): void {
    if (run === this.doneOf) return;
    this.doneOf = run;
    this.done = new Set((kept(`done.${run}`) ?? '').split(' ').filter((one) => one !== ''));
  }

  private mark(finding: Finding, done: boolean): void {
    if (done) this.done.add(finding.fingerprint);
    else this.done.delete(finding.fingerprint);
    keep(`done.${this.doneOf}`, this.done.size === 0 ? null : [...this.done].join(' '));
    this.list.elementOf(finding.fingerprint)?.classList.toggle('done', done);
    this.show();
  }

  private file(file: string): Promise<SourceFile | null> {
    const { run } = this.state;
    const known = this.files.get(file) ?? (run ? api.sourceFile(run.run_name, file).catch(() => null) : Promise.resolve(null));
    this.files.set(file, known);
    return known;
  }

  private async rule(rule: string): Promise<RuleWords | null> {
    this.rules ??= api.rules();
    const words = await this.rules.catch(() => {
      this.rules = null;
      return [];
    });
    return words.find((one) => one.rule === rule) ?? null;
  }
}
