// Shows two stretches of one run side by side, two steps for instance: what happened more often, what less.

import { api } from '../api/client.ts';
import type { Stacks } from '../api/told.ts';
import type { Run, Summary } from '../api/types.ts';
import { kindName } from '../model/looks/colours.ts';
import { countsOf, isChanged, lookedAt, stretchesCompared } from '../model/sums/compare.ts';
import type { StretchRow } from '../model/sums/compare.ts';
import { linesOnlyIn } from '../model/sums/new_lines.ts';
import type { NewLine } from '../model/sums/new_lines.ts';
import { counted, duration, grouped, place, signedBytes, signedCount, signedDuration } from '../model/words/format.ts';
import type { Selection, State } from '../model/state.ts';
import type { Column } from '../model/table.ts';
import { toldApart } from '../model/tell_apart.ts';
import { stepIn } from '../steps.ts';
import { el, fill, nothing } from '../dom.ts';
import { exportButtons } from './export.ts';
import { TableView } from './table_view.ts';

export interface StretchActions {
  /** Forgets the first stretch. */
  release(): void;
  source(file: string, line: number | null): void;
  /** Goes to an event of this row, in the stretch that has more of it. */
  choose(row: StretchRow, within: Selection): void;
}

const kMostLines = 8;
const kHint = 'Choose a step and press < or >, which compares it with the one before or after it. Or select a stretch in the timeline, press “Compare with another stretch” in Selection, then select the other one. Or choose another run above.';

export class StretchesView {
  private readonly state: State;
  private readonly actions: StretchActions;
  private turn = 0;
  /** Rows that are equal, and those of what only deep steps tell, are left out. */
  private changedOnly = true;

  constructor(state: State, actions: StretchActions) {
    this.state = state;
    this.actions = actions;
  }

  async show(body: HTMLElement): Promise<void> {
    const { run, selection, firstStretch: first } = this.state;
    if (!run || !first) return fill(body, nothing(kHint));
    const same = selection === null || JSON.stringify(selection) === JSON.stringify(first);
    if (same) return fill(body, nothing(`The first stretch is kept (${duration(first.end - first.begin)}). Now select the other one in the timeline: another time, or other lanes.`), this.release());
    this.turn += 1;
    const turn = this.turn;
    const ask = (one: Selection) => api.summary(run.run_name, Math.max(one.begin, 0), one.end, one.tracks ?? undefined, this.state.hiddenShades());
    const both = await Promise.all([ask(first), ask(selection), this.nameOf(run, first, 'First'), this.nameOf(run, selection, 'Second'), api.stacks(run.run_name)]).catch(() => null);
    if (turn !== this.turn) return;
    if (!both) return fill(body, nothing('The two stretches could not be asked for.'));
    this.draw(body, first, selection, ...both);
  }

  private async nameOf(run: Run, area: Selection, otherwise: string): Promise<string> {
    const step = await stepIn(run, area);
    return step ? this.state.definitions.nameOf('steps', step.number) : otherwise;
  }

  private release(): HTMLElement {
    return el('button', { class: 'act', click: () => this.actions.release() }, 'Forget the first stretch');
  }

  private draw(body: HTMLElement, first: Selection, second: Selection, before: Summary, after: Summary, firstName: string, secondName: string, stacks: Stacks): void {
    const rows = stretchesCompared(before, after);
    const changed = rows.filter(isChanged);
    const table = this.table(this.changedOnly ? changed : rows, firstName, secondName, (row) => this.actions.choose(row, row.after >= row.before ? second : first));
    const all = el('input', { type: 'checkbox', checked: !this.changedOnly });
    all.addEventListener('change', () => {
      this.changedOnly = !all.checked;
      this.draw(body, first, second, before, after, firstName, secondName, stacks);
    });
    fill(
      body,
      el('h2', {}, `${secondName} against ${firstName}`),
      el('p', {}, countsOf(before, after)),
      ...this.lines(secondName, linesOnlyIn('after', rows, stacks)),
      ...this.lines(firstName, linesOnlyIn('before', rows, stacks)),
      el('p', { class: 'soft' }, `${firstName} took ${duration(first.end - first.begin)}, ${secondName} ${duration(second.end - second.begin)}.${looking(rows, firstName, secondName)}`),
      el('p', { class: 'row' }, el('label', {}, all, ` also the ${grouped(rows.length - changed.length)} rows that are equal, operators and what passed through`), this.release()),
      table.element,
    );
  }

  /** The lines that cast, or call what casts, in one of the two only. */
  private lines(name: string, lines: NewLine[]): HTMLElement[] {
    const told = lines.slice(0, kMostLines).map(({ place: at, casts, hits }) => {
      const counts = [casts > 0 && counted(casts, 'cast', 'casts'), hits > 0 && counted(hits, 'cache hit', 'cache hits')].filter((one) => one !== false).join(', ');
      const words = `${at.function ?? ''} ${place(at, this.state.run?.cwd ?? '')}`.trim();
      return el('li', {}, el('button', { class: 'link', disabled: at.file === null, click: () => at.file !== null && this.actions.source(at.file, at.line) }, words), el('span', { class: 'soft' }, ` ${counts} in what it calls`));
    });
    if (told.length === 0) return [];
    const rest = lines.length - told.length;
    return [el('h3', {}, `Lines that cast in ${name} only`), el('ul', { class: 'new-lines' }, ...told, rest > 0 && el('li', { class: 'soft' }, `and ${grouped(rest)} more`))];
  }

  private table(rows: StretchRow[], firstName: string, secondName: string, choose: (row: StretchRow) => void): TableView<StretchRow> {
    const { definitions, run } = this.state;
    const cwd = run?.cwd ?? '';
    const nameOf = (row: StretchRow) => definitions.nameOf(row.track, row.subject);
    const whereOf = ({ track, subject }: StretchRow) => {
      const of = track === 'casts' ? definitions.sites.get(subject) : definitions.uses.get(track === 'operators' ? subject : -1);
      const at = definitions.placeOf(track, subject);
      return [of?.module ?? '', at?.file ? place(at, cwd) : ''].filter((part) => part !== '').join(' · ');
    };
    const told = toldApart(rows, (row) => `${nameOf(row)} ${row.kind} ${whereOf(row)}`, (row) => definitions.traitsOf(row.track, row.subject, cwd), (row) => row.subject);
    const columns: Column<StretchRow>[] = [
      { key: 'name', title: 'what', value: nameOf, under: (row) => [kindName(row.kind), whereOf(row), told.get(row) ?? ''].filter((part) => part !== '').join(' · ') },
      { key: 'place', title: 'place', hidden: true, value: whereOf },
      { key: 'kind', title: 'kind', hidden: true, value: (row) => kindName(row.kind) },
      { key: 'before', title: firstName.toLowerCase(), number: true, value: (row) => row.before, format: grouped },
      { key: 'after', title: secondName.toLowerCase(), number: true, value: (row) => row.after, format: grouped },
      { key: 'more', title: 'more', number: true, value: (row) => row.after - row.before, format: signedCount, says: `how many more in ${secondName}` },
      { key: 'bytes', title: 'bytes', number: true, value: (row) => row.bytes, text: (row) => (row.bytes === 0 ? '' : signedBytes(row.bytes)), format: signedBytes, unit: 'B', says: `how many more in ${secondName}` },
      { key: 'ns', title: 'time', number: true, value: (row) => row.ns, format: signedDuration, unit: 'ns', says: `how much longer in ${secondName}, ns` },
    ];
    const table = new TableView<StretchRow>({ columns, order: { key: 'more', down: true }, label: 'Two stretches', memory: { state: this.state, name: 'stretches' }, empty: 'Nothing differs in number or size.', filterable: true, groups: [{ name: 'kind', of: (row) => kindName(row.kind) }], choose });
    table.tool(exportButtons('stretches', columns, () => table.visible()));
    table.set(rows);
    return table;
  }
}

/** What makes one of the two slower and is castscope's own doing. */
function looking(rows: StretchRow[], firstName: string, secondName: string): string {
  const { before, after } = lookedAt(rows);
  if (!before && !after) return '';
  const where = before && after ? 'both' : before ? `${firstName} alone` : `${secondName} alone`;
  return ` In ${where} castscope looked at operators, which takes time of its own.`;
}
