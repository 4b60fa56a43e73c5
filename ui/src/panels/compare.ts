// Shows two runs, or two stretches of one run (a training and an evaluation phase, say), side by side.

import { Refused, api } from '../api/client.ts';
import type { DiffFinding, DiffOperator, DiffSite, Difference } from '../api/told.ts';
import { argumentWords, shortDtype, shortOperator } from '../model/definitions.ts';
import { bytes, duration, grouped, place, signedDuration } from '../model/words/format.ts';
import type { Selection, State } from '../model/state.ts';
import type { Column } from '../model/table.ts';
import { el, fill, nothing } from '../dom.ts';
import { exportButtons } from './export.ts';
import type { Panel } from './side.ts';
import { TableView } from './table_view.ts';
import { StretchesView } from './stretches.ts';
import type { StretchActions } from './stretches.ts';

interface SiteRow {
  change: string;
  name: string;
  place: string;
  before: number;
  after: number;
  cpu: number;
}

export class ComparePanel implements Panel {
  readonly tab = 'compare';
  readonly title = 'Compare';
  readonly element = el('div', { class: 'wide' });
  private readonly state: State;
  private readonly choice = el('select', { class: 'field', 'aria-label': 'Compare with' });
  private readonly body = el('div');
  private known = '';
  private turn = 0;
  private readonly stretches: StretchesView;

  constructor(state: State, actions: Pick<StretchActions, 'choose' | 'source'>) {
    this.state = state;
    this.stretches = new StretchesView(state, { release: () => this.against(null, null), ...actions });
    this.choice.addEventListener('change', () => this.against(this.choice.value === '' ? null : this.choice.value, null));
    this.element.append(el('p', { class: 'row' }, el('span', {}, 'this run and'), this.choice), this.body);
    state.on('run', () => {
      if (state.tab === 'compare' && this.choice.childElementCount === 0) this.show();
    });
    state.on(['selection', 'hidden'], () => {
      if (state.firstStretch && state.tab === 'compare') this.show();
    });
  }

  private against(run: string | null, stretch: Selection | null): void {
    this.state.compareWith = run;
    this.state.firstStretch = stretch;
    this.state.tell('compare');
    if (this.state.tab === 'compare') this.show();
  }

  /** Keeps the stretch that the next selection is compared with. */
  keep(): void {
    const { selection, window } = this.state;
    this.against(null, selection ?? { begin: Math.max(window.begin, 0), end: window.end, tracks: null });
    this.state.openTab('compare');
  }

  show(): void {
    const { runs, run } = this.state;
    if (!run) return;
    const others = runs.filter((one) => one.run_name !== run.run_name);
    const key = others.map((one) => one.run_name).join(' ');
    if (key !== this.known || this.choice.childElementCount === 0) {
      this.known = key;
      fill(this.choice, el('option', { value: '' }, 'another stretch of it'), ...others.map((one) => el('option', { value: one.run_name }, one.run_name)));
    }
    const { compareWith } = this.state;
    this.choice.value = compareWith ?? '';
    if (compareWith === null) void this.stretches.show(this.body);
    else void this.runs(compareWith);
  }

  private async runs(other: string): Promise<void> {
    const { run } = this.state;
    if (!run) return;
    this.turn += 1;
    const turn = this.turn;
    fill(this.body, nothing('Comparing…'));
    const told = await api.compare(run.run_name, other).catch((error: unknown) => (error instanceof Refused ? ` (${error.message})` : ''));
    if (turn !== this.turn) return;
    if (typeof told === 'string') return fill(this.body, nothing(`This run and “${other}” could not be compared${told}.`));
    this.drawRuns(told);
  }

  private drawRuns(difference: Difference): void {
    const cwd = this.state.run?.cwd ?? '';
    const { per_step } = difference;
    const steps = stepsOf(difference);
    const rows: SiteRow[] = difference.site_changes.filter((one) => !one.by_time_alone && one.change !== 'elsewhere').map(({ change, before, after }) => {
      const one = (after ?? before) as DiffSite;
      return {
        change,
        name: siteName(before, after),
        place: place({ file: one.file ?? null, line: one.line ?? null }, cwd),
        before: (before?.casts ?? 0) / steps.before,
        after: (after?.casts ?? 0) / steps.after,
        cpu: (after?.cpu_ns ?? 0) / steps.after - (before?.cpu_ns ?? 0) / steps.before,
      };
    });
    const columns: Column<SiteRow>[] = [
      { key: 'change', title: 'change', value: (row) => row.change },
      { key: 'name', title: 'site', value: (row) => row.name, under: (row) => row.place },
      { key: 'place', title: 'place', hidden: true, value: (row) => row.place },
      { key: 'before', title: 'here', number: true, value: (row) => row.before, format: grouped, says: `casts of this run${per_step ? ' per step' : ''}` },
      { key: 'after', title: 'there', number: true, value: (row) => row.after, format: grouped, says: `casts of the other${per_step ? ' per step' : ''}` },
      { key: 'cpu', title: 'CPU', number: true, value: (row) => row.cpu, format: signedDuration, unit: 'ns', says: `difference in CPU time${per_step ? ' per step' : ''}` },
    ];
    const table = new TableView<SiteRow>({ columns, order: { key: 'change', down: false }, label: 'Sites that differ', memory: { state: this.state, name: 'runs' }, empty: 'The same casts at the same places.', filterable: true, groups: [{ name: 'change', of: (row) => row.change }] });
    table.tool(exportButtons('comparison', columns, () => table.visible()));
    table.set(rows);
    fill(
      this.body,
      ...difference.doubts.map((doubt) => el('p', { class: 'warn' }, doubt)),
      totalsTable(difference),
      ...this.precision(difference),
      ...this.metrics(difference),
      per_step && el('p', { class: 'soft' }, 'The runs have different numbers of steps: sites are compared by what a step does, and the table below tells that.'),
      ...this.findings('Found only there', difference.finding_changes.new_findings),
      ...this.findings('Found only here', difference.finding_changes.fixed_findings),
      el('h3', {}, 'Sites'),
      table.element,
    );
  }

  private findings(title: string, list: DiffFinding[]): (HTMLElement | false)[] {
    if (list.length === 0) return [];
    return [el('h3', {}, title), el('ul', {}, ...list.map((one) => el('li', {}, el('code', {}, one.rule), ` ${one.title}`, el('span', { class: 'soft' }, ` ${place(one, this.state.run?.cwd ?? '')}`))))];
  }

  /** Operators that computed in another dtype: often the reason why numbers differ. */
  private precision({ precision_changes: changed, new_in_a_half: fresh }: Difference): (HTMLElement | false)[] {
    if (changed.length + fresh.length === 0) return [];
    const rows = [...changed, ...fresh.map((after) => ({ before: null, after, in_part: false }))].map(({ before, after, in_part }) => ({ of: (after ?? before) as DiffOperator, here: before?.computed_in ?? '', there: `${after?.computed_in ?? ''}${in_part ? ' in part' : ''}` }));
    const columns: Column<(typeof rows)[number]>[] = [
      { key: 'operator', title: 'operator', value: (row) => shortOperator(row.of.operator), under: (row) => [place(row.of, this.state.run?.cwd ?? ''), row.of.module ?? ''].filter((one) => one !== '').join(' · ') },
      { key: 'here', title: 'here', value: (row) => row.here },
      { key: 'there', title: 'there', value: (row) => row.there },
    ];
    // In the order told: what autocast's lists do not explain comes first.
    const table = new TableView<(typeof rows)[number]>({ columns, order: { key: '', down: false }, label: 'Operators in another precision', empty: '' });
    table.set(rows);
    return [el('h3', {}, `Computed in another dtype (${grouped(rows.length)})`), table.element];
  }

  private metrics({ metric_changes: changed }: Difference): (HTMLElement | false)[] {
    if (changed.length === 0) return [];
    const number = (value: number) => el('td', { class: 'number' }, String(Number(value.toPrecision(6))));
    return [
      el('h3', {}, 'Metrics'),
      el(
        'table',
        { class: 'kinds', 'aria-label': 'Metrics' },
        el('thead', {}, el('tr', {}, ...['', 'first here', 'first there', 'last here', 'last there'].map((title, i) => el('th', { scope: 'col', class: i > 0 ? 'number' : '' }, title)))),
        el('tbody', {}, ...changed.map(({ metric_name, first_value: first, last_value: last }) => el('tr', {}, el('td', {}, metric_name), number(first.before), number(first.after), number(last.before), number(last.after)))),
      ),
    ];
  }
}

/** The number of steps that the sites' counts are divided by: 1 where the counts are compared directly. */
function stepsOf(difference: Difference): { before: number; after: number } {
  if (!difference.per_step) return { before: 1, after: 1 };
  const { before, after } = difference.total_changes.step_count;
  return { before: Math.max(before, 1), after: Math.max(after, 1) };
}

function siteName(before: DiffSite | null, after: DiffSite | null): string {
  const one = (after ?? before) as DiffSite;
  const cast = (site: DiffSite) => `${shortDtype(site.from_dtype)}→${shortDtype(site.to_dtype)}`;
  const casts = before && after && cast(before) !== cast(after) ? `${cast(before)}, there ${cast(after)}` : cast(one);
  return `${shortOperator(one.operator ?? '')} ${argumentWords(one.argument)} ${casts}`.trim();
}

/** What is counted of a whole run means little where the runs have different numbers of steps: it stands there per step,
 * too. */
function totalsTable({ total_changes: changes }: Difference): HTMLElement {
  const steps = changes.step_count ?? { before: 0, after: 0 };
  const each = (name: string, { before, after }: { before: number; after: number }) =>
    isSummed(name) && steps.before > 0 && steps.after > 0 ? [amount(name, before / steps.before), amount(name, after / steps.after)] : ['', ''];
  const number = (text: string) => el('td', { class: 'number' }, text);
  return el(
    'table',
    { class: 'kinds', 'aria-label': 'Totals' },
    el('thead', {}, el('tr', {}, ...['', 'here', 'there', 'a step here', 'a step there'].map((title, i) => el('th', { scope: 'col', class: i > 0 ? 'number' : '' }, title)))),
    el('tbody', {}, ...Object.entries(changes).map(([name, change]) =>
      el('tr', { class: change.before === change.after ? 'soft' : '' }, el('td', {}, totalName(name)), ...[amount(name, change.before), amount(name, change.after), ...each(name, change)].map(number)))),
  );
}

function totalName(name: string): string {
  return { cpu_ns: 'CPU time', cache_peak_bytes: 'cache at most' }[name] ?? name.replaceAll('_', ' ');
}

/** Whether a total grows with each step. */
function isSummed(name: string): boolean {
  return !/^(step_count|evaluation_count|finding_count)$|peak/.test(name);
}

function amount(name: string, value: number): string {
  const words = name.split(/[ _]/);
  return words.includes('bytes') ? bytes(value) : words.includes('ns') ? duration(value) : grouped(value);
}
