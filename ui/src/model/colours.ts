// Chooses the colour of a shade, by kind, dtype, cause or cost. The hues are those of Okabe and Ito, lightened or
// darkened so that they stand out from their background; they can be told apart with any kind of colour vision. Hits
// and pass-throughs differ in shape too: they do not fill their row (draw/raster.ts).

import type { Shade } from '../api/types.ts';

export type Theme = 'light' | 'dark';
export type ColourBy = 'kind' | 'dtype' | 'cause' | 'cost';
export const kColourBy: readonly ColourBy[] = ['kind', 'dtype', 'cause', 'cost'];

export type Rgb = readonly [number, number, number];
type Pair = readonly [light: Rgb, dark: Rgb];

export const kBackground: Record<Theme, Rgb> = { light: [255, 255, 255], dark: [17, 20, 25] };

const blue: Pair = [[0, 98, 164], [78, 165, 228]];
const vermillion: Pair = [[188, 74, 0], [240, 125, 52]];
const green: Pair = [[0, 130, 96], [38, 186, 143]];
const yellow: Pair = [[126, 106, 0], [236, 216, 74]];
const purple: Pair = [[176, 82, 136], [219, 142, 185]];
const sky: Pair = [[28, 118, 166], [124, 200, 242]];
const orange: Pair = [[162, 100, 0], [236, 170, 40]];
const slate: Pair = [[100, 114, 130], [134, 148, 164]];
const pale: Pair = [[132, 142, 153], [104, 114, 126]];
const faint: Pair = [[138, 147, 157], [95, 104, 115]];

const kByKind: Record<string, Pair> = {
  down: blue,
  up: vermillion,
  same: slate,
  cache_hit: green,
  pass_through: yellow,
  operator: slate,
  cast_kernel: orange,
  // This is the operators' colour: such kernels belong to no cast and move no data.
  kernel: slate,
  gpu_copy: pale,
  region: blue,
  region_off: faint,
  step: faint,
  step_deep: purple,
  cache_clear: vermillion,
  optimizer_step: purple,
  scaler: orange,
  backward: sky,
  values: green,
};

const kByDtype: Record<string, Pair> = {
  bfloat16: blue,
  float16: green,
  float32: orange,
  float64: vermillion,
  float8_e4m3fn: purple,
  float8_e5m2: purple,
  complex64: yellow,
  complex128: yellow,
  bool: pale,
};

const kByCause: Record<string, Pair> = {
  autocast: blue,
  user_to: vermillion,
  dtype_argument: orange,
  custom_cast: purple,
  promotion: yellow,
  backward: sky,
  script: green,
  operator: slate,
  fsdp: purple,
  compiled: purple,
  reflatten: purple,
  annotation: blue,
  pytorch: slate,
  unknown: pale,
};

const kCauses: Record<string, string> = {
  user_to: 'explicit to()',
  dtype_argument: 'dtype argument',
  custom_cast: 'custom_fwd',
  script: 'TorchScript',
  fsdp: 'FSDP',
  compiled: 'torch.compile',
  reflatten: 'cuDNN RNN',
  annotation: 'annotation',
  pytorch: 'PyTorch itself',
  unknown: 'cause not known',
};

export function causeName(cause: string): string {
  return kCauses[cause] ?? cause;
}

const kCycle: readonly Pair[] = [green, purple, orange, sky, yellow, vermillion, blue];

/** A stable choice for a word that is on no list. */
function byName(word: string): Pair {
  let sum = 0;
  for (const letter of word) sum = (sum * 31 + letter.charCodeAt(0)) >>> 0;
  return kCycle[sum % kCycle.length];
}

const of = (pair: Pair, theme: Theme): Rgb => pair[theme === 'light' ? 0 : 1];

export function colourOf(shade: Shade, by: ColourBy, theme: Theme): Rgb {
  const byKind = kByKind[shade.shade_kind] ?? byName(shade.shade_kind);
  if (shade.track_kind === 'steps' || shade.track_kind === 'marks' || shade.shade_kind === 'region_off') return of(byKind, theme);
  // Regions are a background: their tint shows their dtype, however other shades are coloured.
  if (by === 'dtype' || (shade.shade_kind === 'region' && by !== 'cause')) {
    if (shade.shade_dtype === null || shade.shade_dtype === '') return of(slate, theme);
    return of(kByDtype[shade.shade_dtype] ?? byName(shade.shade_dtype), theme);
  }
  if (by === 'cause') {
    if (shade.cause === null || shade.cause === '') return of(slate, theme);
    return of(kByCause[shade.cause] ?? byName(shade.cause), theme);
  }
  if (by === 'cost') return costColour(1, theme);
  return of(byKind, theme);
}

const kCost: Record<Theme, readonly Rgb[]> = {
  // From little to much; the last colour is the farthest from the background.
  light: [[236, 205, 120], [224, 142, 58], [190, 66, 58], [110, 20, 84]],
  dark: [[72, 52, 110], [158, 60, 112], [228, 108, 76], [250, 214, 120]],
};

/** The colour for the covered share of a column's time, 0…1. */
export function costColour(share: number, theme: Theme): Rgb {
  const ramp = kCost[theme];
  const at = Math.min(Math.max(share, 0), 1) * (ramp.length - 1);
  const i = Math.min(Math.floor(at), ramp.length - 2);
  const mix = (j: 0 | 1 | 2) => Math.round(ramp[i][j] + (ramp[i + 1][j] - ramp[i][j]) * (at - i));
  return [mix(0), mix(1), mix(2)];
}

export function css(colour: Rgb, alpha = 1): string {
  return alpha === 1 ? `rgb(${colour.join(' ')})` : `rgb(${colour.join(' ')} / ${alpha})`;
}

function luminance(colour: Rgb): number {
  const [r, g, b] = colour.map((value) => {
    const share = value / 255;
    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** The contrast ratio of WCAG 2: 1 = the same, 21 = black on white. */
export function contrast(a: Rgb, b: Rgb): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

const kInk: Rgb = [16, 19, 23];
const kPaper: Rgb = [255, 255, 255];

/** Black or white, whichever reads better on this colour. */
export function inkOn(colour: Rgb): Rgb {
  return contrast(colour, kInk) >= contrast(colour, kPaper) ? kInk : kPaper;
}

/** The legend's name for a shade, which also tells its entries apart. */
export function legendKey(shade: Shade, by: ColourBy): string {
  if (shade.track_kind !== 'casts' && shade.track_kind !== 'operators' && shade.track_kind !== 'kernels') return shade.shade_kind;
  if (by === 'dtype') return shade.shade_dtype ?? 'no dtype';
  if (by === 'cause') return shade.cause ?? 'no cause told';
  return shade.shade_kind;
}

const kNames: Record<string, string> = {
  down: 'cast down',
  up: 'cast up',
  same: 'cast, other dtype',
  cache_hit: 'cache hit',
  pass_through: 'passed through',
  operator: 'operator',
  cast_kernel: 'GPU kernel of a cast',
  kernel: 'GPU kernel',
  gpu_copy: 'GPU copy or set',
  region: 'autocast on',
  region_off: 'autocast off',
  step: 'step',
  step_deep: 'deep step',
  cache_clear: 'cache cleared',
  optimizer_step: 'optimizer step',
  scaler: 'gradient scaler',
  backward: 'backward',
  values: 'values looked at',
};

export function kindName(kind: string): string {
  return kNames[kind] ?? kind;
}
