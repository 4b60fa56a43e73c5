// The bytes that the autocast cache holds, as a curve for each process. It is written pixel by pixel: paths with
// thousands of segments took longer than all lanes together.

import { kUnknown } from '../api/picture.ts';
import type { Picture, PictureCounter } from '../api/picture.ts';
import { bytes } from '../model/words/format.ts';
import type { State } from '../model/state.ts';
import { TimeScale } from '../model/time/time_window.ts';
import type { Ink, Surface } from './ink.ts';
import { columnScale } from './raster.ts';
import type { ColumnScale } from './raster.ts';

const kMostCurves = 8;

/** For each pixel the highest value of its columns as a share of `top`; −1 = not known. Nothing is known outside
 * [from, to), px. */
export function curveOf(counter: PictureCounter, scale: ColumnScale, width: number, top: number, from = 0, to = width): Float32Array {
  const shares = new Float32Array(width).fill(-1);
  for (let c = 0; c < counter.values.length; c += 1) {
    const value = counter.values[c];
    if (value === kUnknown) continue;
    const left = scale.x0 + c * scale.perColumn;
    const right = left + scale.perColumn;
    if (right <= 0) continue;
    if (left >= width) break;
    const share = ((value / 65534) * counter.top) / top;
    const a = Math.max(0, Math.floor(left), Math.floor(from));
    const b = Math.min(width, Math.max(a + 1, Math.ceil(right)), Math.ceil(to));
    for (let x = a; x < b; x += 1) if (share > shares[x]) shares[x] = share;
  }
  return shares;
}

/** Reads "#rgb" or "#rrggbb": style sheets are shortened when they are built. */
export function rgbOf(css: string): number[] {
  const long = css.match(/^#(..)(..)(..)$/);
  if (long) return long.slice(1).map((part) => parseInt(part, 16));
  const short = css.match(/^#(.)(.)(.)$/);
  return short ? short.slice(1).map((part) => parseInt(part + part, 16)) : [128, 128, 128];
}

function word(colour: readonly number[], over: readonly number[], alpha: number): number {
  const [r, g, b] = colour.map((value, i) => Math.round(over[i] + (value - over[i]) * alpha));
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/** It is reused for each picture: one a frame would be tens of MB a second. */
let paperImage: ImageData | null = null;

interface Paper {
  words: Uint32Array;
  width: number;
  base: number;
  room: number;
}

function drawArea({ words, width, base, room }: Paper, shares: Float32Array, colour: number): void {
  for (let x = 0; x < width; x += 1) {
    if (shares[x] <= 0) continue;
    for (let y = Math.round(base - shares[x] * room); y <= base; y += 1) words[y * width + x] = colour;
  }
}

function drawLine({ words, width, base, room }: Paper, shares: Float32Array, colour: number): void {
  let last = -1;
  for (let x = 0; x < width; x += 1) {
    if (shares[x] < 0) {
      last = -1;
      continue;
    }
    const y = Math.round(base - shares[x] * room);
    // A step is drawn upright, so that the curve holds together.
    const from = last < 0 ? y : Math.min(y, last);
    const to = last < 0 ? y : Math.max(y, last);
    for (let at = from; at <= to; at += 1) words[at * width + x] = colour;
    last = y;
  }
}

/** Returns how high the highest curve is; '' = nothing is known here. */
export function drawCounters(surface: Surface, state: State, ink: Ink): string {
  const context = surface.clear(ink.back);
  const { picture } = state;
  const known = picture?.counters.filter((counter) => counter.top > 0).slice(0, kMostCurves) ?? [];
  if (picture && known.length > 0) drawAll(surface, state, picture, known, ink);
  context.fillStyle = ink.line;
  context.fillRect(0, 0, surface.width, 1);
  return known.length === 0 ? '' : `up to ${bytes(Math.max(...known.map((counter) => counter.top)))}`;
}

function drawAll(surface: Surface, state: State, picture: Picture, known: PictureCounter[], ink: Ink): void {
  const { width, height } = surface.canvas;
  if (paperImage?.width !== width || paperImage.height !== height) paperImage = new ImageData(width, height);
  const image = paperImage;
  const words = new Uint32Array(image.data.buffer);
  const [back, colour] = [rgbOf(ink.back), rgbOf(ink.accent)];
  words.fill(word(back, back, 1));
  const paper = { words, width, base: height - 2, room: height - 2 - Math.round(6 * surface.ratio) };
  const top = Math.max(...known.map((counter) => counter.top));
  const scale = columnScale(picture, state.window, width);
  // The cache's size is known from the first event to the last one.
  const time = new TimeScale(state.window, width);
  const [from, to] = [time.px(state.whole.begin), time.px(state.whole.end)];
  const curves = known.map((counter) => curveOf(counter, scale, width, top, from, to));
  if (curves.length === 1) drawArea(paper, curves[0], word(colour, back, 0.15));
  // Many curves lie over each other: they are paler then, so that all can be seen.
  for (const curve of curves) drawLine(paper, curve, word(colour, back, curves.length === 1 ? 1 : 0.6));
  surface.context.putImageData(image, 0, 0);
}
