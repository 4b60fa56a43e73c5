import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Shade } from '../api/types.ts';
import { colourOf, contrast, costColour, inkOn, kBackground, kColourBy, legendKey } from './colours.ts';

const kinds = ['down', 'up', 'same', 'cache_hit', 'pass_through'];
const dtypes = ['bfloat16', 'float16', 'float32', 'float64', 'float8_e4m3fn', 'float8_e5m2', 'int64', 'complex64'];
const causes = ['autocast', 'user_to', 'dtype_argument', 'custom_cast', 'promotion', 'backward', 'script', 'unknown', 'something new'];
const shades: Shade[] = kinds.flatMap((kind) =>
  dtypes.flatMap((dtype) => causes.map((cause) => ({ shade: 1, track_kind: 'casts' as const, shade_kind: kind, shade_dtype: dtype, cause }))),
);

for (const theme of ['light', 'dark'] as const) {
  test(`every cast stands out from the ${theme} background (3 to 1)`, () => {
    for (const by of kColourBy)
      for (const shade of shades) {
        const ratio = contrast(colourOf(shade, by, theme), kBackground[theme]);
        assert.ok(ratio >= 3, `${by} ${shade.shade_kind} ${shade.shade_dtype} ${shade.cause}: ${ratio.toFixed(2)}`);
      }
  });

  test(`labels can be read on every colour, ${theme} (4.5 to 1)`, () => {
    for (const by of kColourBy)
      for (const shade of shades) {
        const colour = colourOf(shade, by, theme);
        assert.ok(contrast(colour, inkOn(colour)) >= 4.5, `${by} ${shade.shade_kind} ${shade.shade_dtype} ${shade.cause}`);
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

// The three kinds of colour blindness, as Viénot and others simulate the two common ones: red-green pairs must differ
// in brightness or in blue against yellow.
test('down, up and hit are told apart without red and green', () => {
  for (const theme of ['light', 'dark'] as const) {
    const seen = kinds.slice(0, 2).concat('cache_hit').map((kind) => {
      const [r, g, b] = colourOf({ shade: 1, track_kind: 'casts', shade_kind: kind, shade_dtype: null, cause: null }, 'kind', theme);
      return [0.567 * r + 0.433 * g, b];
    });
    for (let i = 0; i < seen.length; i += 1)
      for (let j = 0; j < i; j += 1)
        assert.ok(Math.hypot(seen[i][0] - seen[j][0], seen[i][1] - seen[j][1]) > 40, `${theme} ${i} ${j}`);
  }
});

test('kernels of casts are told apart from others, and both from copies', () => {
  for (const theme of ['light', 'dark'] as const) {
    const seen = ['cast_kernel', 'kernel', 'gpu_copy'].map((kind) => {
      const colour = colourOf({ shade: 1, track_kind: 'kernels', shade_kind: kind, shade_dtype: null, cause: null }, 'kind', theme);
      assert.ok(contrast(colour, kBackground[theme]) >= 3, `${theme} ${kind}`);
      return [0.567 * colour[0] + 0.433 * colour[1], colour[2]];
    });
    for (const other of [1, 2]) assert.ok(Math.hypot(seen[0][0] - seen[other][0], seen[0][1] - seen[other][1]) > 40, theme);
  }
  assert.equal(legendKey({ shade: 1, track_kind: 'kernels', shade_kind: 'cast_kernel', shade_dtype: 'bfloat16', cause: 'autocast' }, 'kind'), 'cast_kernel');
});

test('regions, steps and marks are told by kind, casts by what was chosen', () => {
  assert.equal(legendKey({ shade: 1, track_kind: 'casts', shade_kind: 'down', shade_dtype: 'float16', cause: 'autocast' }, 'dtype'), 'float16');
  assert.equal(legendKey({ shade: 1, track_kind: 'marks', shade_kind: 'cache_clear', shade_dtype: null, cause: null }, 'dtype'), 'cache_clear');
});

test('a region that switches autocast off never looks like one that is on', () => {
  for (const by of kColourBy) {
    const [on, off] = ['region', 'region_off'].map((kind) => colourOf({ shade: 1, track_kind: 'regions', shade_kind: kind, shade_dtype: 'bfloat16', cause: null }, by, 'light'));
    if (by !== 'cause') assert.notDeepEqual(on, off, by);
  }
});
