import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PictureTrack } from '../api/bands.ts';
import type { TrackKind } from '../api/types.ts';
import type { Rows, Target } from './raster.ts';
import { clearSpan, fillTrack, fullSpan, Inks, rowsFor } from './raster.ts';

const kinds = ['', 'down', 'cache_hit', 'pass_through', 'up', 'same'];
const shades = kinds.slice(1).map((kind, i) => ({ shade: i + 1, track_kind: 'casts' as const, shade_kind: kind, shade_dtype: 'bfloat16', cause: 'autocast' }));
const inks = new Inks(shades, 'kind', 'light');
const kSteps = rowsFor('steps', 20);
const target = (width: number, rows: number): Target => ({ words: new Uint32Array(width * rows), width, origin: 0, hatch: 3 });
const kColumns = 1000;
const track = (...runs: number[]): PictureTrack => ({ track: 1, band: 0, coarse: false, columns: kColumns, planes: null, runs: new Uint16Array(runs) });
/** The same track, column by column. */
function dense(...runs: number[]): PictureTrack {
  const bytes = new Uint8Array(2 * kColumns);
  for (let i = 0; i < runs.length; i += 3) {
    bytes.fill(runs[i + 2] >> 8, runs[i], runs[i] + runs[i + 1]);
    bytes.fill(runs[i + 2] & 255, kColumns + runs[i], kColumns + runs[i] + runs[i + 1]);
  }
  const plane = (numbers: number) => ({ form: 3, bits: 0, numbers });
  return { ...track(), planes: { bytes, fills: plane(0), shades: plane(kColumns) } };
}
const kFull = 0xff00;
/** The rows that one column of this value fills. */
function drawn(value: number, rows: Rows, with_ = inks): number[] {
  const made = target(4, rows.count);
  fillTrack(made, 0, track(1, 1, value), { x0: 0, perColumn: 1 }, with_, rows);
  return Array.from({ length: rows.count }, (_, row) => row).filter((row) => made.words[row * 4 + 1] !== 0);
}
const span = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

test('every occupied column marks its pixel, however narrow columns are', () => {
  for (const perColumn of [0.13, 0.5, 0.97, 1, 1.6, 7.3])
    for (const x0 of [-40.7, 0, 3.4]) {
      const made = target(100, 1);
      const columns = [0, 17, 63, 64, 130, 999];
      fillTrack(made, 0, track(...columns.flatMap((column) => [column, 1, kFull | 1])), { x0, perColumn }, inks, kSteps);
      for (const column of columns) {
        const x = Math.floor(x0 + column * perColumn);
        if (x >= 0 && x < 100) assert.notEqual(made.words[x], 0, `column ${column} at ${x0} + ${perColumn}`);
      }
    }
});

test('columns one by one are drawn as runs are', () => {
  const runs = [0, 4, kFull | 1, 17, 1, 0x1000 | 3, 90, 30, 0x4000 | 4, 600, 399, 0x100 | 1];
  const rows = rowsFor('casts', 30);
  for (const perColumn of [0.13, 0.97, 1, 7.3])
    for (const x0 of [-400.7, -40.7, 0, 3.4]) {
      const [a, b] = [target(100, 30), target(100, 30)];
      fillTrack(a, 0, track(...runs), { x0, perColumn }, inks, rows);
      fillTrack(b, 0, dense(...runs), { x0, perColumn }, inks, rows);
      assert.deepEqual(a.words, b.words);
    }
});

test('nothing is drawn where nothing is, nor beyond the edges', () => {
  const made = target(50, 3);
  fillTrack(made, 1, track(0, 4, kFull | 1, 90, 30, kFull | 1), { x0: -2, perColumn: 1 }, inks, kSteps);
  const lit = [...made.words].flatMap((word, i) => (word === 0 ? [] : [i]));
  assert.deepEqual(lit, [50, 51]);
});

test('casts down hang from the middle, casts up stand on it, hits lie below both', () => {
  const rows = rowsFor('casts', 40);
  assert.deepEqual([rows.count, rows.middle, rows.floor, rows.line], [40, 17, 34, 35]);
  assert.deepEqual(drawn(kFull | 1, rows), span(17, 34));
  assert.deepEqual(drawn(kFull | 4, rows), span(0, 17));
  assert.deepEqual(drawn(kFull | 2, rows), span(35, 40));
  assert.deepEqual(drawn(kFull | 3, rows), span(35, 37));
  assert.deepEqual(drawn(kFull | 5, rows), span(8, 26));
  assert.deepEqual(fullSpan(rows, 'down'), [17, 34]);
});

test('a column is drawn as high as it is full, and never not at all', () => {
  const rows = rowsFor('casts', 40);
  const high = (share: number, shade: number) => drawn((Math.max(1, Math.round(share * 255)) << 8) | shade, rows);
  for (const share of [0, 0.02]) {
    assert.deepEqual(high(share, 1), [17]);
    assert.deepEqual(high(share, 4), [16]);
  }
  assert.deepEqual(high(0.5, 1), span(17, 26));
  assert.deepEqual(high(0.5, 4), span(8, 17));
  const operators = rowsFor('operators', 20);
  const bars = new Inks([{ shade: 1, track_kind: 'operators', shade_kind: 'operator', shade_dtype: null, cause: null }], 'kind', 'light');
  assert.deepEqual(drawn(0x4000 | 1, operators, bars), span(15, 20));
});

test('hits, which take no time, have a height that does not follow their fill', () => {
  const rows = rowsFor('casts', 40);
  assert.deepEqual(drawn(0x100 | 2, rows), drawn(kFull | 2, rows));
});

test('in a row with hardly any room everything is still seen, and down and up apart', () => {
  for (const height of [1, 2, 3, 4, 5, 9, 17, 300])
    for (const shade of [1, 2, 3, 4, 5]) assert.ok(drawn(0x100 | shade, rowsFor('casts', height)).length > 0, `${height} ${kinds[shade]}`);
  const folded = rowsFor('casts', 9);
  assert.ok(Math.max(...drawn(kFull | 4, folded)) < Math.min(...drawn(kFull | 1, folded)));
  assert.ok(Math.max(...drawn(kFull | 1, folded)) < Math.min(...drawn(kFull | 2, folded)));
});

test('the rows of pixels are bounded, whatever the screen', () => {
  for (const kind of ['casts', 'operators', 'kernels'] as TrackKind[]) assert.ok(rowsFor(kind, 500).count <= 48);
  assert.equal(rowsFor('regions', 500).count, 1);
});

test('a hatch has two tones, and moves with the time', () => {
  const striped = new Inks([{ ...shades[0], cause: 'pytorch' }], 'cause', 'light');
  const made = (origin: number) => {
    const on = { ...target(24, 30), origin };
    fillTrack(on, 0, track(0, 24, kFull | 1), { x0: 0, perColumn: 1 }, striped, rowsFor('casts', 30));
    return [...on.words.slice(20 * 24, 21 * 24)];
  };
  const [line, gap] = [...new Set(made(0))].sort((a, b) => (b >>> 24) - (a >>> 24));
  assert.equal(new Set(made(0)).size, 2);
  assert.ok(line >>> 24 === 255 && gap >>> 24 > 90 && gap >>> 24 < 160);
  assert.deepEqual(made(2).slice(2), made(0).slice(0, -2));
});

test('a diagonal hatch leans, an upright one does not', () => {
  const begin = (cause: string, row: number) => {
    const on = target(12, 30);
    fillTrack(on, 0, track(0, 12, kFull | 1), { x0: 0, perColumn: 1 }, new Inks([{ ...shades[0], cause }], 'cause', 'light'), rowsFor('casts', 30));
    return [...on.words.slice(row * 12, (row + 1) * 12)];
  };
  assert.notDeepEqual(begin('pytorch', 18), begin('pytorch', 19));
  assert.deepEqual(begin('unknown', 18), begin('unknown', 19));
});

test('an unknown shade is left out', () => {
  const made = target(2, 1);
  fillTrack(made, 0, track(0, 2, kFull | 200), { x0: 0, perColumn: 1 }, inks, kSteps);
  assert.deepEqual([...made.words], [0, 0]);
});

test('a finer picture takes the place of what lay there', () => {
  const made = target(6, 1);
  made.words.fill(9);
  clearSpan(made, 0, 1, 1.5, 4.2);
  assert.deepEqual([...made.words], [9, 0, 0, 0, 0, 9]);
});
