import assert from 'node:assert/strict';
import { test } from 'node:test';
import { castRowTable, clearSpan, colourTable, fillTrack } from './raster.ts';

const shades = [
  { shade: 1, track_kind: 'casts' as const, shade_kind: 'down', shade_dtype: 'bfloat16', cause: 'autocast' },
  { shade: 2, track_kind: 'casts' as const, shade_kind: 'cache_hit', shade_dtype: 'bfloat16', cause: 'autocast' },
  { shade: 3, track_kind: 'casts' as const, shade_kind: 'pass_through', shade_dtype: 'bfloat16', cause: 'autocast' },
];
const table = colourTable(shades, 'kind', 'light');
const target = (width: number, rows: number) => ({ words: new Uint32Array(width * rows), width });
const track = (...runs: number[]) => ({ track: 1, coarse: false, dense: false, values: new Uint16Array(runs) });
/** The same track, column by column. */
function dense(...runs: number[]) {
  const values = new Uint16Array(1000);
  for (let i = 0; i < runs.length; i += 3) values.fill(runs[i + 2], runs[i], runs[i] + runs[i + 1]);
  return { track: 1, coarse: false, dense: true, values };
}
const kFull = 0xff00;

test('every occupied column marks its pixel, however narrow columns are', () => {
  for (const perColumn of [0.13, 0.5, 0.97, 1, 1.6, 7.3])
    for (const x0 of [-40.7, 0, 3.4]) {
      const drawn = target(100, 1);
      const columns = [0, 17, 63, 64, 130, 999];
      fillTrack(drawn, 0, track(...columns.flatMap((column) => [column, 1, kFull | 1])), { x0, perColumn }, table, null);
      for (const column of columns) {
        const x = Math.floor(x0 + column * perColumn);
        if (x >= 0 && x < 100) assert.notEqual(drawn.words[x], 0, `column ${column} at ${x0} + ${perColumn}`);
      }
    }
});

test('columns one by one are drawn as runs are', () => {
  const runs = [0, 4, kFull | 1, 17, 1, kFull | 3, 90, 30, kFull | 2, 600, 399, kFull | 1];
  for (const perColumn of [0.13, 0.97, 1, 7.3])
    for (const x0 of [-400.7, -40.7, 0, 3.4]) {
      const [a, b] = [target(100, 3), target(100, 3)];
      fillTrack(a, 0, track(...runs), { x0, perColumn }, table, castRowTable(shades));
      fillTrack(b, 0, dense(...runs), { x0, perColumn }, table, castRowTable(shades));
      assert.deepEqual(a.words, b.words);
    }
});

test('nothing is drawn where nothing is, nor beyond the edges', () => {
  const drawn = target(50, 3);
  fillTrack(drawn, 1, track(0, 4, kFull | 1, 90, 30, kFull | 1), { x0: -2, perColumn: 1 }, table, null);
  const lit = [...drawn.words].flatMap((word, i) => (word === 0 ? [] : [i]));
  assert.deepEqual(lit, [50, 51]);
});

test('hits lie low and pass-throughs in the middle: shape tells them too', () => {
  const rows = castRowTable(shades);
  const lines = (shade: number) => {
    const drawn = target(4, 3);
    fillTrack(drawn, 0, track(1, 1, kFull | shade), { x0: 0, perColumn: 1 }, table, rows);
    return [0, 1, 2].map((row) => drawn.words[row * 4 + 1] !== 0);
  };
  assert.deepEqual([lines(1), lines(2), lines(3)], [[true, true, true], [false, false, true], [false, true, false]]);
});

test('less in a column is paler, but never unseen', () => {
  const drawn = target(2, 1);
  fillTrack(drawn, 0, track(0, 1, 0x0101, 1, 1, 0xff01), { x0: 0, perColumn: 1 }, table, null);
  const [little, much] = [drawn.words[0] >>> 24, drawn.words[1] >>> 24];
  assert.ok(little >= 100 && little < much && much === 255);
});

test('an unknown shade is left out', () => {
  const drawn = target(2, 1);
  fillTrack(drawn, 0, track(0, 2, kFull | 200), { x0: 0, perColumn: 1 }, table, null);
  assert.deepEqual([...drawn.words], [0, 0]);
});

test('a finer picture takes the place of what lay there', () => {
  const drawn = target(6, 1);
  drawn.words.fill(9);
  clearSpan(drawn, 0, 1, 1.5, 4.2);
  assert.deepEqual([...drawn.words], [9, 0, 0, 0, 0, 9]);
});
