// Sorts, filters and groups tables, and makes their CSV. A table's columns know what it contains.

import { inOrder } from './words/order.ts';

export interface Column<T> {
  key: string;
  title: string;
  /** The value for sorting and for CSV. */
  value(row: T): number | string;
  /** The text that is shown; the value if left out. */
  text?(row: T): string;
  /** Formats a number: that of a row, or the sum of a group. */
  format?(value: number): string;
  /** Numbers stand at the right, are summed in groups, and sort from the largest. */
  number?: boolean;
  /** A second line in the same cell. */
  under?(row: T): string;
  /** Only in filters and CSV; another column shows it. */
  hidden?: boolean;
  /** What a value is counted in, for CSV, whose numbers have none beside them. */
  unit?: 'ns' | 'B';
  /** A longer word for it, shown beside the pointer. */
  says?: string;
}

/** How a table is sorted, grouped and filtered, in the form in which the address holds it. */
export interface TableLook {
  order: Order;
  group: string;
  filter: string;
}

export function lookText(look: TableLook): string {
  return [look.order.key, look.order.down ? 'down' : 'up', look.group, look.filter].join('|');
}

export function lookOf(text: string): TableLook | null {
  const found = /^(\w+)\|(down|up)\|([^|]*)\|(.*)$/s.exec(text);
  return found && { order: { key: found[1], down: found[2] === 'down' }, group: found[3], filter: found[4] };
}

export interface Order {
  key: string;
  down: boolean;
}

export interface Group<T> {
  name: string;
  rows: T[];
  sums: Map<string, number>;
}

export function textOf<T>(column: Column<T>, row: T): string {
  if (column.text) return column.text(row);
  const value = column.value(row);
  return typeof value === 'number' && column.format ? column.format(value) : String(value);
}

export function sorted<T>(rows: readonly T[], columns: readonly Column<T>[], order: Order): T[] {
  const column = columns.find((one) => one.key === order.key);
  if (!column) return [...rows];
  const sign = order.down ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [x, y] = [column.value(a), column.value(b)];
    if (typeof x === 'number' && typeof y === 'number') return sign * (x - y);
    return sign * inOrder(String(x), String(y));
  });
}

/** A click on a column's head inverts the order, or sorts by this column in its natural direction. */
export function reordered<T>(order: Order, column: Column<T>): Order {
  if (order.key === column.key) return { key: order.key, down: !order.down };
  return { key: column.key, down: column.number === true };
}

/** Every word must be somewhere in the row. */
export function filtered<T>(rows: readonly T[], columns: readonly Column<T>[], text: string): T[] {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== '');
  if (words.length === 0) return [...rows];
  return rows.filter((row) => {
    const all = columns.map((column) => textOf(column, row)).join(' ').toLowerCase();
    return words.every((word) => all.includes(word));
  });
}

export function grouped<T>(
  rows: readonly T[],
  columns: readonly Column<T>[],
  nameOf: (row: T) => string,
  order: Order,
): Group<T>[] {
  const groups = new Map<string, Group<T>>();
  for (const row of rows) {
    const name = nameOf(row);
    let group = groups.get(name);
    if (!group) groups.set(name, (group = { name, rows: [], sums: new Map() }));
    group.rows.push(row);
    for (const column of columns) {
      if (!column.number) continue;
      const value = column.value(row);
      group.sums.set(column.key, (group.sums.get(column.key) ?? 0) + (typeof value === 'number' ? value : 0));
    }
  }
  const list = [...groups.values()];
  const sign = order.down ? -1 : 1;
  const numbers = columns.some((column) => column.key === order.key && column.number);
  list.sort((a, b) =>
    numbers
      ? sign * ((a.sums.get(order.key) ?? 0) - (b.sums.get(order.key) ?? 0))
      : sign * inOrder(a.name, b.name),
  );
  return list;
}

function field(value: number | string): string {
  if (typeof value === 'number') return String(value);
  // Spreadsheets would execute a cell that begins like a formula.
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function csvOf<T>(columns: readonly Column<T>[], rows: readonly T[]): string {
  const lines = [columns.map((column) => field(column.unit ? `${column.title} (${column.unit})` : column.title)).join(',')];
  for (const row of rows) lines.push(columns.map((column) => field(column.value(row))).join(','));
  return `${lines.join('\r\n')}\r\n`;
}
