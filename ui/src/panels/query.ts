// SQL on the run file: a box for a query, and its rows as a table. The address carries the query; what comes with a
// link runs when somebody presses Run.

import { Refused, api } from '../api/client.ts';
import type { QueryAnswer } from '../api/told.ts';
import { counted, duration, grouped } from '../model/words/format.ts';
import { inRoot } from '../model/words/paths.ts';
import { kSqlExamples } from '../model/words/sql_examples.ts';
import type { SqlExample } from '../model/words/sql_examples.ts';
import type { State } from '../model/state.ts';
import type { Column } from '../model/table.ts';
import { el, fill } from '../dom.ts';
import { exportButtons } from './export.ts';
import type { Panel } from './side.ts';
import { TableView } from './table_view.ts';

type Cell = string | number | null;
type Row = Cell[];

export class QueryPanel implements Panel {
  readonly tab = 'sql';
  readonly title = 'SQL';
  readonly element: HTMLElement;
  private readonly state: State;
  private readonly source: (file: string, line: number | null) => void;
  private readonly box = el('textarea', { class: 'field sql', rows: 5, 'aria-label': 'SQL', spellcheck: 'false', autocapitalize: 'off', placeholder: 'SELECT … FROM v_sites' });
  private readonly run = el('button', { class: 'act main', title: 'Ctrl + Enter', click: () => void this.ask() }, 'Run');
  private readonly cancel = el('button', { class: 'act', hidden: true, click: () => this.running?.abort() }, 'Cancel');
  private readonly says = el('p', { class: 'soft', role: 'status' });
  private readonly result = el('div', { class: 'sql-result' });
  private readonly examples = el('details', { open: true });
  private running: AbortController | null = null;

  constructor(state: State, source: (file: string, line: number | null) => void) {
    this.state = state;
    this.source = source;
    this.box.value = state.sql;
    this.box.addEventListener('input', () => this.wrote());
    this.box.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      void this.ask();
    });
    this.examples.append(el('summary', {}, 'The views of the run file, each with a query to begin with'), el('ul', { class: 'sql-examples' }, ...kSqlExamples.map((one) => this.example(one))));
    state.on('sql', () => {
      if (this.box.value !== state.sql) this.box.value = state.sql;
    });
    this.says.textContent = state.sql === '' ? 'Nothing but reading is possible. Ctrl + Enter runs it.' : 'This query came with the address. It runs when you press Run.';
    this.element = el('div', { class: 'wide' }, this.box, el('p', { class: 'row' }, this.run, this.cancel), this.says, this.result, this.examples);
  }

  show(): void {
    // The box keeps what is in it; the run may have another answer, so nothing is asked.
  }

  private wrote(): void {
    this.state.sql = this.box.value;
    this.state.tell('sql');
  }

  private example(one: SqlExample): HTMLElement {
    const put = () => {
      this.box.value = one.sql;
      this.wrote();
      this.box.focus();
      this.box.scrollIntoView({ block: 'nearest' });
    };
    return el('li', {}, el('button', { class: 'link mono', title: one.sql, click: put }, one.view), ' ', el('span', { class: 'soft' }, one.row));
  }

  private async ask(): Promise<void> {
    const { run } = this.state;
    const sql = this.box.value.trim();
    if (!run || this.running) return;
    if (sql === '') return this.say('Write a query first, or choose one below.');
    const asking = new AbortController();
    this.running = asking;
    this.cancel.hidden = false;
    this.run.disabled = true;
    this.say('Running…');
    const begunMs = performance.now();
    try {
      this.draw(await api.query(run.run_name, sql, asking.signal), performance.now() - begunMs);
    } catch (error) {
      fill(this.result);
      this.say(asking.signal.aborted ? 'Cancelled.' : error instanceof Refused ? error.message : 'castscope does not answer.', !asking.signal.aborted);
    }
    this.running = null;
    this.cancel.hidden = true;
    this.run.disabled = false;
  }

  private say(text: string, wrong = false): void {
    this.says.textContent = text;
    this.says.className = wrong ? 'warn' : 'soft';
  }

  private draw(answer: QueryAnswer, ms: number): void {
    const { result_columns: names, result_rows: rows } = answer;
    this.say(`${toldOf(answer)} ${duration(ms * 1e6)}.`, answer.query_stopped !== null);
    this.examples.open = rows.length === 0;
    const columns: Column<Row>[] = names.map((name, i) => columnOf(name, i, rows));
    const [file, line] = ['file', 'line'].map((name) => names.indexOf(name));
    const table = new TableView<Row>({
      columns,
      order: { key: '', down: false }, // that of the query
      label: 'Result',
      empty: 'No row.',
      filterable: rows.length > 1,
      choose: file < 0 ? undefined : (row) => {
        if (typeof row[file] === 'string') this.source(inRoot(row[file], this.state.run?.root ?? null), typeof row[line] === 'number' ? row[line] : null);
      },
    });
    if (rows.length > 0) table.tool(exportButtons('query', columns, () => table.visible()));
    table.set(rows);
    fill(this.result, table.element);
  }
}

function columnOf(name: string, i: number, rows: Row[]): Column<Row> {
  const number = rows.some((row) => typeof row[i] === 'number') && rows.every((row) => typeof row[i] !== 'string');
  return { key: `column${i}`, title: name, number, value: (row) => row[i] ?? '', text: (row) => (row[i] === null ? 'NULL' : String(row[i])) };
}

/** "120 rows; 30 more were left out." */
function toldOf({ result_rows: rows, rows_left_out: left, cells_cut: cut, query_stopped: stopped }: QueryAnswer): string {
  const parts = [counted(rows.length, 'row', 'rows')];
  if (left > 0) parts.push(`the first of ${stopped === null ? '' : 'at least '}${grouped(rows.length + left)}: ${grouped(left)} are left out`);
  if (stopped !== null) parts.push(`${stopped}, so rows may be missing`);
  if (cut > 0) parts.push(`${counted(cut, 'long cell is', 'long cells are')} cut`);
  return `${parts.join('; ')}.`;
}
