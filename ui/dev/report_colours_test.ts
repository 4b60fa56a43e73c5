// Holds the HTML report's style sheet (server/report/html/style.h) to the viewer's colours, which are the source of both.
// The report is one file that works without a script, so its sheet has them written out.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Rgb, Theme } from '../src/model/looks/colours.ts';
import { contrast, inkOn, lookOf } from '../src/model/looks/colours.ts';
import { difference, kVisions, seenAs } from './colour_vision.ts';

const kThemes: readonly Theme[] = ['light', 'dark'];
/** The report's short names of dtypes; others are written out. */
const kShort: Record<string, string> = { bf16: 'bfloat16', f16: 'float16', f32: 'float32', f64: 'float64' };

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
const report = read('../../server/report/html/style.h');
const viewer = read('../src/style/theme.css');

/** The colours that the first rule after `begin` sets, by name. */
function colours(sheet: string, begin: string): Map<string, Rgb> {
  const from = sheet.indexOf(begin);
  assert.ok(from >= 0, begin);
  const rule = sheet.slice(from, sheet.indexOf('}', from));
  const found = [...rule.matchAll(/--([\w-]+):\s*#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})\b/g)];
  return new Map(found.map(([, name, r, g, b]) => [name, [parseInt(r, 16), parseInt(g, 16), parseInt(b, 16)]]));
}
const kReport: Record<Theme, Map<string, Rgb>> = {
  light: colours(report, ':root{color-scheme'),
  dark: colours(report, 'prefers-color-scheme:dark){:root{'),
};
const kViewer: Record<Theme, Map<string, Rgb>> = { light: colours(viewer, ':root {'), dark: colours(viewer, ":root[data-theme='dark'] {") };

/** The looks of dtypes in the report, by the name of their class; `other` is no dtype. */
const kDtypes = [...report.matchAll(/^\.d-(\w+)\{--dtype:var\(--(\w+)\);--on:var\(--on-(\w+)\)\}/gm)];

function of(theme: Theme, name: string): Rgb {
  const colour = kReport[theme].get(name);
  assert.ok(colour, `--${name}, ${theme}`);
  return colour;
}

for (const theme of kThemes) {
  test(`the report has the viewer's colours, ${theme}`, () => {
    const shared = [...kReport[theme].keys()].filter((name) => kViewer[theme].has(name));
    for (const name of ['back', 'card', 'ink', 'soft', 'line', 'edge', 'accent', 'mark', 'hit-line', 'error', 'warning', 'performance', 'info']) assert.ok(shared.includes(name), name);
    for (const name of shared) assert.deepEqual(of(theme, name), kViewer[theme].get(name), name);
  });

  test(`each dtype has the colour of casts to it in the viewer, ${theme}`, () => {
    assert.ok(kDtypes.length >= 9);
    for (const [, name, colour, on] of kDtypes) {
      assert.deepEqual([colour, on], [name, name]);
      const look = lookOf({ shade: 0, track_kind: 'casts', shade_kind: 'down', shade_dtype: kShort[name] ?? name, cause: null }, 'dtype', theme);
      assert.equal(look.hatch, 'plain', name);
      assert.deepEqual(of(theme, name), look.colour, name);
    }
    const none = lookOf({ shade: 0, track_kind: 'casts', shade_kind: 'down', shade_dtype: null, cause: null }, 'dtype', theme);
    assert.deepEqual(of(theme, 'other'), none.colour);
  });

  test(`colours of the report that mean something are told apart with any colour vision, ${theme}`, () => {
    const names = [...kDtypes.map(([, name]) => name), 'other', 'ink']; // casts have that of letters
    const wrong: string[] = [];
    for (const [i, a] of names.entries())
      for (const b of names.slice(0, i))
        for (const vision of kVisions) {
          const apart = difference(seenAs(of(theme, a), vision), seenAs(of(theme, b), vision));
          if (apart < (vision === 'normal' ? 10 : 8)) wrong.push(`${a} and ${b}, ${vision}: ${apart.toFixed(1)}`);
        }
    assert.deepEqual(wrong, []);
  });

  test(`what the report draws stands out (3 to 1), what it writes can be read (4.5 to 1), ${theme}`, () => {
    const least = (drawn: string, on: string, ratio: number) => assert.ok(contrast(of(theme, drawn), of(theme, on)) >= ratio, `${drawn} on ${on}`);
    for (const name of [...kDtypes.map(([, dtype]) => dtype), 'other']) {
      least(name, 'back', 3);
      least(`on-${name}`, name, 4.5);
      assert.deepEqual(of(theme, `on-${name}`), inkOn(of(theme, name)), name);
    }
    for (const on of ['back', 'card']) {
      for (const drawn of ['edge', 'accent']) least(drawn, on, 3);
      for (const written of ['ink', 'soft', 'accent', 'error', 'warning', 'performance', 'info']) least(written, on, 4.5);
    }
    least('mark', 'hit-line', 3);
    least('ink', 'hit-line', 4.5);
    for (const name of ['error', 'warning']) {
      least(name, `${name}-back`, 4.5);
      least('ink', `${name}-back`, 4.5);
    }
  });
}
