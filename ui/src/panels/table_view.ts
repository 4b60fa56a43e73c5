// A table that can be sorted, filtered and grouped. A long table shows its first rows, and more on request.

import { grouped as groupedNumber } from '../model/words/format.ts';
import { filtered, grouped, lookOf, lookText, reordered, sorted, textOf } from '../model/table.ts';
import type { State } from '../model/state.ts';
import type { Column, Group, Order } from '../model/table.ts';
import { el, fill, nothing } from '../dom.ts';

export interface TableOptions<T> {
  columns: Column<T>[];
  order: Order;
  label: string;
  empty: string;
  groups?: { name: string; of(row: T): string }[];
  choose?(row: T): void;
  chosen?(row: T): boolean;
  filterable?: boolean;
  /** Where the look of the table is kept, and under which name. */
  memory?: { state: State; name: string };
}

const kPage = 100;

export class TableView<T> {
  readonly element = el('div', { class: 'table-view' });
  private readonly options: TableOptions<T>;
  private readonly tools = el('div', { class: 'row table-tools' });
  private readonly body = el('div');
  private rows: T[] = [];
  order: Order;
  filter = '';
  group = '';
  private shownRows = kPage;
  private readonly folded = new Set<string>();

  constructor(options: TableOptions<T>) {
    this.options = options;
    this.order = options.order;
    this.recall();
    this.element.append(this.tools, this.body);
    if (options.filterable) {
      const input = el('input', { type: 'search', class: 'field', placeholder: 'filter', 'aria-label': `Filter ${options.label}`, value: this.filter });
      input.addEventListener('input', () => {
        this.filter = input.value;
        this.shownRows = kPage;
        this.remember();
      });
      this.tools.append(input);
    }
    if (options.groups) {
      const choice = el('select', { class: 'field', 'aria-label': 'Group by' }, el('option', { value: '' }, 'not grouped'));
      for (const group of options.groups) choice.append(el('option', { value: group.name, selected: group.name === this.group }, `by ${group.name}`));
      choice.addEventListener('change', () => {
        this.group = choice.value;
        this.remember();
      });
      this.tools.append(choice);
    }
    this.tools.hidden = this.tools.childElementCount === 0;
  }

  /** Adds a tool beside the filter. */
  tool(element: HTMLElement): void {
    this.tools.hidden = false;
    this.tools.append(element);
  }

  private recall(): void {
    const { memory, columns } = this.options;
    const look = lookOf(memory?.state.tables.get(memory.name) ?? '');
    if (!look) return;
    if (columns.some((column) => column.key === look.order.key)) this.order = look.order;
    this.group = look.group;
    this.filter = look.filter;
  }

  private remember(): void {
    const { memory } = this.options;
    memory?.state.tables.set(memory.name, lookText(this));
    memory?.state.tell('tables');
    this.draw();
  }

  set(rows: T[]): void {
    this.rows = rows;
    this.draw();
  }

  /** The rows that are shown now, in their order. */
  visible(): T[] {
    return sorted(filtered(this.rows, this.options.columns, this.filter), this.options.columns, this.order);
  }

  draw(): void {
    const rows = this.visible();
    if (rows.length === 0) {
      fill(this.body, nothing(this.rows.length === 0 ? this.options.empty : 'No row fits this filter.'));
      return;
    }
    const body = el('tbody');
    const groups = this.options.groups?.find((one) => one.name === this.group);
    if (groups) for (const group of grouped(rows, this.options.columns, groups.of, this.order)) this.addGroup(body, group);
    else body.append(...rows.slice(0, this.shownRows).map((row) => this.row(row)));
    const rest = groups ? 0 : rows.length - this.shownRows;
    fill(
      this.body,
      el('div', { class: 'scroll-x' }, el('table', { 'aria-label': this.options.label }, el('thead', {}, this.head()), body)),
      rest > 0 &&
        el('button', { class: 'act more', click: () => {
          this.shownRows += kPage * 5;
          this.draw();
        } }, `${groupedNumber(rest)} more`),
    );
  }

  private columns(): Column<T>[] {
    return this.options.columns.filter((column) => column.hidden !== true);
  }

  private head(): HTMLElement {
    return el(
      'tr',
      {},
      ...this.columns().map((column) => {
        const mine = this.order.key === column.key;
        return el(
          'th',
          { scope: 'col', class: column.number ? 'number' : '', 'aria-sort': mine ? (this.order.down ? 'descending' : 'ascending') : 'none' },
          el('button', { title: column.says, click: () => {
            this.order = reordered(this.order, column);
            this.remember();
          } }, column.title, mine ? (this.order.down ? ' ↓' : ' ↑') : ''),
        );
      }),
    );
  }

  private addGroup(body: HTMLElement, group: Group<T>): void {
    const open = this.folded.has(group.name);
    const toggle = () => {
      if (!this.folded.delete(group.name)) this.folded.add(group.name);
      this.draw();
    };
    const cells = this.columns().map((column, i) => {
      if (i === 0) return el('td', {}, el('button', { class: 'group-name', 'aria-expanded': String(open), click: toggle }, `${open ? '▾' : '▸'} ${group.name === '' ? 'none' : group.name} `, el('span', { class: 'soft' }, `(${groupedNumber(group.rows.length)})`)));
      const sum = group.sums.get(column.key);
      if (sum === undefined) return el('td');
      return el('td', { class: 'number' }, column.format ? column.format(sum) : groupedNumber(sum));
    });
    body.append(el('tr', { class: 'group' }, ...cells));
    if (open) body.append(...group.rows.slice(0, 200).map((row) => this.row(row)));
  }

  private row(row: T): HTMLElement {
    const { choose, chosen } = this.options;
    const element = el(
      'tr',
      { class: chosen?.(row) ? 'chosen' : '', tabindex: choose ? 0 : null },
      ...this.columns().map((column) =>
        el(
          'td',
          { class: column.number ? 'number' : '' },
          textOf(column, row),
          column.under !== undefined && el('span', { class: 'under' }, column.under(row)),
        ),
      ),
    );
    if (choose) {
      element.classList.add('can-choose');
      element.addEventListener('click', () => choose(row));
      element.addEventListener('keydown', (event) => {
        if (event.key === 'Enter') choose(row);
      });
    }
    return element;
  }
}
