// Chooses the look of a shade, by kind, dtype, cause or cost: a colour and, where there are more words than colours, a
// hatch. Any two looks that can stand side by side are told apart with normal vision and with each colour vision
// deficiency, or they differ in hatch or shape: colours_test.ts computes that. The twelve colours were found by a search
// for that, near the hues that people know.

import type { Shade } from '../../api/types.ts';

export type Theme = 'light' | 'dark';
export type ColourBy = 'kind' | 'dtype' | 'cause' | 'cost';
export const kColourBy: readonly ColourBy[] = ['kind', 'dtype', 'cause', 'cost'];

export type Rgb = readonly [number, number, number];
export type Hatch = 'plain' | 'diagonal' | 'upright';

export const kBackground: Record<Theme, Rgb> = { light: [255, 255, 255], dark: [17, 20, 25] };

const kColours = {
  blue: { light: [0, 98, 192], dark: [71, 150, 248] },
  vermillion: { light: [196, 74, 2], dark: [239, 109, 50] },
  green: { light: [12, 129, 92], dark: [25, 186, 143] },
  yellow: { light: [157, 148, 2], dark: [241, 226, 80] },
  purple: { light: [101, 51, 136], dark: [167, 115, 193] },
  sky: { light: [51, 150, 200], dark: [137, 210, 250] },
  tan: { light: [169, 127, 75], dark: [234, 172, 52] },
  slate: { light: [110, 127, 150], dark: [138, 150, 167] },
  pink: { light: [188, 76, 131], dark: [248, 145, 204] },
  wine: { light: [115, 21, 45], dark: [200, 69, 100] },
  teal: { light: [1, 84, 93], dark: [14, 125, 131] },
  navy: { light: [31, 38, 98], dark: [95, 99, 188] },
} as const satisfies Record<string, Record<Theme, Rgb>>;
type Name = keyof typeof kColours;

interface NamedLook {
  name: Name;
  hatch: Hatch;
}
export interface Look {
  colour: Rgb;
  hatch: Hatch;
}

const plain = (name: Name): NamedLook => ({ name, hatch: 'plain' });
const diagonal = (name: Name): NamedLook => ({ name, hatch: 'diagonal' });
const upright = (name: Name): NamedLook => ({ name, hatch: 'upright' });

/** Where there is no dtype, and where no cause is told. */
const kNone = plain('slate');

const kLooks: Record<'kind' | 'dtype' | 'cause', Record<string, NamedLook>> = {
  kind: {
    down: plain('blue'),
    up: plain('vermillion'),
    same: plain('purple'),
    cache_hit: plain('green'),
    pass_through: plain('yellow'),
    operator: plain('slate'),
    cast_kernel: plain('tan'),
    kernel: plain('teal'),
    gpu_copy: plain('navy'),
    module: plain('blue'),
    region: plain('sky'),
    region_off: upright('slate'),
    step: plain('slate'),
    step_deep: plain('yellow'),
    cache_clear: plain('vermillion'),
    optimizer_step: plain('purple'),
    scaler: plain('tan'),
    backward: plain('sky'),
    values: plain('green'),
  },
  // What has few bits is cold, what has many is warm: as casts down and up are.
  dtype: {
    bfloat16: plain('blue'),
    float16: plain('purple'),
    float32: plain('vermillion'),
    float64: plain('wine'),
    float8_e4m3fn: plain('teal'),
    float8_e4m3fnuz: diagonal('teal'),
    float8_e5m2: plain('sky'),
    float8_e5m2fnuz: diagonal('sky'),
    complex32: diagonal('yellow'),
    complex64: plain('yellow'),
    complex128: plain('tan'),
    int64: plain('pink'),
    int32: diagonal('pink'),
    bool: plain('navy'),
  },
  cause: {
    autocast: plain('blue'),
    annotation: diagonal('blue'),
    user_to: plain('vermillion'),
    dtype_argument: plain('yellow'),
    custom_cast: plain('purple'),
    promotion: plain('tan'),
    backward: plain('sky'),
    script: plain('green'),
    operator: plain('navy'),
    fsdp: plain('pink'),
    compiled: plain('wine'),
    reflatten: plain('teal'),
    pytorch: diagonal('slate'),
    unknown: upright('slate'),
  },
};

type Words = keyof typeof kLooks;
const kNames = Object.keys(kColours) as Name[];
const kUnlisted: Record<Words, string[]> = { kind: [], dtype: [], cause: [] };

function free(words: Words): NamedLook[] {
  const taken = Object.values(kLooks[words]);
  const all = [...kNames.map(upright), ...kNames.map(diagonal)];
  return all.filter((one) => !taken.some((other) => other.name === one.name && other.hatch === one.hatch));
}
const kFree: Record<Words, NamedLook[]> = { kind: free('kind'), dtype: free('dtype'), cause: free('cause') };

/** A word on no list takes the next look that no other word has, and keeps it. */
function byName(words: Words, word: string): NamedLook {
  const known = kUnlisted[words];
  let at = known.indexOf(word);
  if (at < 0) at = known.push(word) - 1;
  return kFree[words][at % kFree[words].length];
}

function lookOfWord(words: Words, word: string | null): NamedLook {
  if (word === null || word === '') return kNone;
  return kLooks[words][word] ?? byName(words, word);
}

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

/** Casts, operators and kernels: what is coloured by what somebody chose. */
export const isCounted = (shade: Shade) => shade.track_kind === 'casts' || shade.track_kind === 'operators' || shade.track_kind === 'kernels';

function named(shade: Shade, by: ColourBy): NamedLook {
  if (by === 'dtype' && (isCounted(shade) || shade.shade_kind === 'region')) return lookOfWord('dtype', shade.shade_dtype);
  if (by === 'cause' && isCounted(shade)) return lookOfWord('cause', shade.cause);
  return lookOfWord('kind', shade.shade_kind);
}

export function lookOf(shade: Shade, by: ColourBy, theme: Theme): Look {
  if (by === 'cost' && isCounted(shade)) return { colour: costColour(1, theme), hatch: 'plain' };
  const { name, hatch } = named(shade, by);
  return { colour: kColours[name][theme], hatch };
}

/** What tells shades apart besides their look: where and how they are drawn. */
export const kShapes = ['down', 'up', 'across', 'hit', 'pass', 'bar', 'tint', 'tick', 'step', 'module'] as const;
export type Shape = (typeof kShapes)[number];

export function shapeOf(shade: Shade): Shape {
  if (shade.track_kind === 'regions') return 'tint';
  if (shade.track_kind === 'marks') return 'tick';
  if (shade.track_kind === 'steps') return 'step';
  if (shade.track_kind === 'modules') return 'module';
  if (shade.track_kind !== 'casts') return 'bar';
  const of: Record<string, Shape> = { down: 'down', up: 'up', cache_hit: 'hit', pass_through: 'pass' };
  return of[shade.shade_kind] ?? 'across';
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

/** How much of a hatch's colour its gaps have: an event that lies in one is still seen. */
export const kGapAlpha = 0.45;
/** How much of their colour steps and modules have, which lie under their names. */
export const kPaleAlpha = 0.35;
/** The width of a line of a hatch and of the gap beside it, css px. */
export const kHatchPx = 3;

/** A look as the background of an element. */
export function cssOf({ colour, hatch }: Look): string {
  if (hatch === 'plain') return css(colour);
  const angle = hatch === 'diagonal' ? 135 : 90;
  return `repeating-linear-gradient(${angle}deg, ${css(colour)} 0 ${kHatchPx}px, ${css(colour, kGapAlpha)} ${kHatchPx}px ${2 * kHatchPx}px)`;
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
  if (!isCounted(shade)) return shade.shade_kind;
  if (by === 'dtype') return shade.shade_dtype ?? 'no dtype';
  if (by === 'cause') return shade.cause ?? 'no cause told';
  return shade.shade_kind;
}

const kKindNames: Record<string, string> = {
  down: 'cast down',
  up: 'cast up',
  same: 'cast, other dtype',
  cache_hit: 'cache hit',
  pass_through: 'passed through',
  operator: 'operator',
  cast_kernel: 'GPU kernel of a cast',
  kernel: 'GPU kernel',
  gpu_copy: 'GPU copy or set',
  module: 'module',
  region: 'autocast on',
  region_off: 'autocast off',
  step: 'step',
  step_deep: 'deep step',
  cache_clear: 'cache cleared',
  optimizer_step: 'optimizer step',
  scaler: 'gradient scaler',
  backward: 'call of backward',
  values: 'values looked at',
};

export function kindName(kind: string): string {
  return kKindNames[kind] ?? kind;
}
