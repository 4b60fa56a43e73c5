import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvOf, filtered, grouped, reordered, sorted } from './table.ts';
import type { Column } from './table.ts';

interface Row {
  name: string;
  casts: number;
}

const columns: Column<Row>[] = [
  { key: 'name', title: 'name', value: (row) => row.name },
  { key: 'casts', title: 'casts', number: true, value: (row) => row.casts, format: (value) => `${value} casts` },
];
const rows: Row[] = [
  { name: 'blocks.10.mlp', casts: 3 },
  { name: 'blocks.2.mlp', casts: 40 },
  { name: 'head', casts: 5 },
];
const names = (list: Row[]) => list.map((row) => row.name);

test('numbers sort as numbers, names by the numbers in them', () => {
  assert.deepEqual(names(sorted(rows, columns, { key: 'casts', down: true })), ['blocks.2.mlp', 'head', 'blocks.10.mlp']);
  assert.deepEqual(names(sorted(rows, columns, { key: 'name', down: false })), ['blocks.2.mlp', 'blocks.10.mlp', 'head']);
});

test('sorting leaves the rows it was given alone', () => {
  sorted(rows, columns, { key: 'casts', down: true });
  assert.equal(rows[0].name, 'blocks.10.mlp');
});

test('a head clicked twice turns round; numbers begin with the largest', () => {
  assert.deepEqual(reordered({ key: 'name', down: false }, columns[1]), { key: 'casts', down: true });
  assert.deepEqual(reordered({ key: 'casts', down: true }, columns[1]), { key: 'casts', down: false });
});

test('a filter needs every word, in what is shown', () => {
  assert.deepEqual(names(filtered(rows, columns, 'MLP 40')), ['blocks.2.mlp']);
  assert.equal(filtered(rows, columns, '  ').length, 3);
  assert.equal(filtered(rows, columns, 'nowhere').length, 0);
});

test('groups have sums and are sorted by them', () => {
  const groups = grouped(rows, columns, (row) => row.name.split('.')[0], { key: 'casts', down: true });
  assert.deepEqual(groups.map((group) => [group.name, group.rows.length, group.sums.get('casts')]), [['blocks', 2, 43], ['head', 1, 5]]);
});

test('CSV quotes what needs it and defuses formulas', () => {
  const text = csvOf(columns, [{ name: 'a "b", c', casts: 1 }, { name: '=cmd()', casts: -2 }]);
  assert.equal(text, 'name,casts\r\n"a ""b"", c",1\r\n\'=cmd(),-2\r\n');
});

test('CSV says what numbers are counted in', () => {
  const time: Column<Row> = { key: 'ns', title: 'took', number: true, value: () => 1500, format: () => '1.5 µs', unit: 'ns' };
  assert.equal(csvOf([time], [{ name: '', casts: 0 }]), 'took (ns)\r\n1500\r\n');
});
