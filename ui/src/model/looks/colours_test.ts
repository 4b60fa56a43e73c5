import assert from 'node:assert/strict';
import { test } from 'node:test';
import { difference, kVisions, seenAs } from '../../../dev/colour_vision.ts';
import type { Shade, TrackKind } from '../../api/types.ts';
import type { ColourBy, Rgb, Theme } from './colours.ts';
import { contrast, costColour, cssOf, inkOn, kBackground, kColourBy, kGapAlpha, kPaleAlpha, legendKey, lookOf, shapeOf } from './colours.ts';

const kThemes: readonly Theme[] = ['light', 'dark'];
const kKinds: Record<TrackKind, readonly string[]> = {
  casts: ['down', 'up', 'same', 'cache_hit', 'pass_through'],
  operators: ['operator'],
  kernels: ['cast_kernel', 'kernel', 'gpu_copy'],
  regions: ['region', 'region_off'],
  modules: ['module'],
  marks: ['cache_clear', 'optimizer_step', 'scaler', 'backward', 'values'],
  steps: ['step', 'step_deep'],
};
const kDtypes = ['bfloat16', 'float16', 'float32', 'float64', 'float8_e4m3fn', 'float8_e5m2', 'float8_e4m3fnuz', 'float8_e5m2fnuz', 'int64', 'int32', 'int8', 'uint8', 'int16', 'complex32', 'complex64', 'complex128', 'bool', 'quint8', 'float8_e8m0fnu', 'float4_e2m1fn_x2'];
const kCauses = ['unknown', 'autocast', 'user_to', 'dtype_argument', 'custom_cast', 'promotion', 'backward', 'script', 'operator', 'fsdp', 'compiled', 'reflatten', 'annotation', 'pytorch', 'something new', 'another', 'a third', 'a fourth', 'a fifth'];

function shadesOf(track: TrackKind): Shade[] {
  const made: Shade[] = [];
  const caused = track === 'casts' || track === 'kernels' ? [...kCauses, null] : [null];
  for (const kind of kKinds[track])
    for (const dtype of track === 'marks' || track === 'steps' || track === 'modules' ? [null] : [...kDtypes, null])
      for (const cause of caused) made.push({ shade: 1, track_kind: track, shade_kind: kind, shade_dtype: dtype, cause });
  return made;
}
const kShades = (Object.keys(kKinds) as TrackKind[]).flatMap(shadesOf);

const kShapes: Record<ReturnType<typeof shapeOf>, string> = { down: 'bar', up: 'bar', across: 'bar', hit: 'bar', pass: 'bar', bar: 'bar', tint: 'tint', tick: 'tick', step: 'bar', module: 'bar' };

const over = (colour: Rgb, alpha: number, theme: Theme) => colour.map((value, i) => Math.round(alpha * value + (1 - alpha) * kBackground[theme][i])) as unknown as Rgb;

/** Shades that look alike are one. A cast's place in its row is left out: colours must tell without it. */
function looks(by: ColourBy, theme: Theme) {
  const found = new Map<string, { name: string; shape: string; colour: Rgb; hatch: string }>();
  for (const shade of kShades) {
    const { colour, hatch } = lookOf(shade, by, theme);
    const shape = kShapes[shapeOf(shade)];
    const name = shade.shade_kind === 'region' && by === 'dtype' ? `region ${shade.shade_dtype}` : legendKey(shade, by);
    const pale = shade.track_kind === 'steps' || shade.track_kind === 'modules';
    found.set(`${shape} ${name}`, { name, shape, colour: pale ? over(colour, kPaleAlpha, theme) : colour, hatch });
  }
  return [...found.values()];
}

/** The pairs that are too close, in words. */
function tooClose(all: ReturnType<typeof looks>): string[] {
  const wrong: string[] = [];
  for (const [i, a] of all.entries())
    for (const b of all.slice(0, i)) {
      if (a.shape !== b.shape || a.hatch !== b.hatch) continue;
      for (const vision of kVisions) {
        const apart = difference(seenAs(a.colour, vision), seenAs(b.colour, vision));
        if (apart < (vision === 'normal' ? 10 : 8)) wrong.push(`${a.name} and ${b.name}, ${vision}: ${apart.toFixed(1)}`);
      }
    }
  return wrong;
}

for (const theme of kThemes) {
  for (const by of ['kind', 'dtype', 'cause'] as const)
    test(`looks by ${by} are told apart with any colour vision, ${theme}`, () => {
      const all = looks(by, theme);
      assert.ok(all.length > 15);
      assert.deepEqual(tooClose(all), []);
    });

  test(`every event stands out from the ${theme} background (3 to 1)`, () => {
    for (const by of kColourBy)
      for (const shade of kShades) {
        const ratio = contrast(lookOf(shade, by, theme).colour, kBackground[theme]);
        assert.ok(ratio >= 3, `${by} ${shade.shade_kind} ${shade.shade_dtype} ${shade.cause}: ${ratio.toFixed(2)}`);
      }
  });

  test(`labels can be read on every colour, ${theme} (4.5 to 1)`, () => {
    for (const by of kColourBy)
      for (const shade of kShades) {
        const { colour } = lookOf(shade, by, theme);
        assert.ok(contrast(colour, inkOn(colour)) >= 4.5, `${by} ${shade.shade_kind} ${shade.shade_dtype} ${shade.cause}`);
      }
  });

  test(`a hatch's lines and gaps are told apart, ${theme}`, () => {
    for (const shade of kShades) {
      const { colour } = lookOf(shade, 'cause', theme);
      const gap = over(colour, kGapAlpha, theme);
      for (const vision of kVisions) assert.ok(difference(seenAs(colour, vision), seenAs(gap, vision)) >= 8, `${shade.cause} ${vision}`);
    }
  });

  test(`more cost is farther from the ${theme} background`, () => {
    let last = 0;
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      const ratio = contrast(costColour(share, theme), kBackground[theme]);
      assert.ok(ratio > last);
      last = ratio;
    }
  });
}

test('words on no list keep the look that they got, and do not share it', () => {
  const of = (word: string) => {
    const { colour, hatch } = lookOf({ shade: 1, track_kind: 'casts', shade_kind: 'down', shade_dtype: word, cause: null }, 'dtype', 'light');
    return `${colour.join()} ${hatch}`;
  };
  const words = ['new0', 'new1', 'new2', 'new3', 'new4', 'new5'];
  const first = words.map(of);
  assert.equal(new Set([...first, ...kDtypes.map(of)]).size, words.length + kDtypes.length);
  assert.deepEqual([...words].reverse().map(of).reverse(), first);
});

test('a hatch is drawn as stripes, a plain look as its colour', () => {
  assert.match(cssOf({ colour: [1, 2, 3], hatch: 'diagonal' }), /^repeating-linear-gradient\(135deg/);
  assert.match(cssOf({ colour: [1, 2, 3], hatch: 'upright' }), /^repeating-linear-gradient\(90deg/);
  assert.equal(cssOf({ colour: [1, 2, 3], hatch: 'plain' }), 'rgb(1 2 3)');
});

test('regions, steps and marks are told by kind, casts and kernels by what was chosen', () => {
  assert.equal(legendKey({ shade: 1, track_kind: 'casts', shade_kind: 'down', shade_dtype: 'float16', cause: 'autocast' }, 'dtype'), 'float16');
  assert.equal(legendKey({ shade: 1, track_kind: 'marks', shade_kind: 'cache_clear', shade_dtype: null, cause: null }, 'dtype'), 'cache_clear');
  assert.equal(legendKey({ shade: 1, track_kind: 'kernels', shade_kind: 'cast_kernel', shade_dtype: 'bfloat16', cause: 'autocast' }, 'kind'), 'cast_kernel');
});

test('a region that switches autocast off never looks like one that is on', () => {
  for (const by of kColourBy) {
    const [on, off] = ['region', 'region_off'].map((kind) => lookOf({ shade: 1, track_kind: 'regions', shade_kind: kind, shade_dtype: 'bfloat16', cause: null }, by, 'light'));
    assert.notEqual(on.hatch, off.hatch, by);
  }
});
