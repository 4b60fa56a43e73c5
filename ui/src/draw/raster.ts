// The lane raster: each track is some rows of pixels, as wide as the surface in device px, which are stretched to the
// track's height when drawn. Runs of columns become runs of pixels. A column is drawn as high as it is full, and at
// least one row high; a column narrower than a pixel still marks it: so nothing is invisible. It stays at 60 frames a
// second without a GPU.

import { Runs } from '../api/bands.ts';
import type { PictureTrack } from '../api/bands.ts';
import type { Picture } from '../api/picture.ts';
import type { Shade, TrackKind } from '../api/types.ts';
import type { ColourBy, Hatch, Rgb, Theme } from '../model/looks/colours.ts';
import { costColour, isCounted, kGapAlpha, kHatchPx, kShapes, lookOf, shapeOf } from '../model/looks/colours.ts';
import type { Shape } from '../model/looks/colours.ts';
import type { TimeWindow } from '../model/time/time_window.ts';

const kLevels = 16;
const kShades = 256;

function word(colour: Rgb, alpha: number): number {
  return ((Math.round(alpha * 255) << 24) | (colour[2] << 16) | (colour[1] << 8) | colour[0]) >>> 0;
}

/** The looks of shades as little-endian RGBA words. */
export class Inks {
  /** By shade and how full the column is: lines of a hatch, or everything. */
  readonly lines = new Uint32Array(kShades * kLevels);
  readonly gaps = new Uint32Array(kShades * kLevels);
  readonly hatches: Hatch[] = new Array<Hatch>(kShades).fill('plain');
  /** An index into kShapes. */
  readonly shapes = new Uint8Array(kShades);

  constructor(shades: readonly Shade[], by: ColourBy, theme: Theme) {
    for (const shade of shades) {
      const { colour, hatch } = lookOf(shade, by, theme);
      this.hatches[shade.shade] = hatch;
      this.shapes[shade.shade] = kShapes.indexOf(shapeOf(shade));
      for (let level = 0; level < kLevels; level += 1) {
        const at = shade.shade * kLevels + level;
        this.lines[at] = by === 'cost' && isCounted(shade) ? word(costColour((level + 1) / kLevels, theme), 1) : word(colour, 1);
        this.gaps[at] = word(colour, kGapAlpha);
      }
    }
  }
}

/** How the rows of pixels of one track are used. */
export interface Rows {
  count: number;
  /** Device px on the screen, for hatches. */
  height: number;
  /** Casts up stand on this row, casts down hang from it; 0 = there is no room for that. */
  middle: number;
  /** Where casts down end. Below lies the line of hits and pass-throughs. */
  floor: number;
  line: number;
  /** The rows [from, to) of a column, by shape and fill. */
  spans: Uint8Array;
}

// More rows than this would look no better, but take time on screens with many pixels.
const kMostRows = 48;
const kFills = 256;

const known = new Map<string, Rows>();

/** A track on so many device px. */
export function rowsFor(kind: TrackKind, height: number): Rows {
  const key = `${kind} ${height}`;
  const made = known.get(key) ?? makeRows(kind, height);
  known.set(key, made);
  return made;
}

function makeRows(kind: TrackKind, height: number): Rows {
  const tall = kind === 'casts' || kind === 'operators' || kind === 'kernels' || kind === 'modules';
  const count = tall ? Math.max(1, Math.min(height, kMostRows)) : 1;
  const halves = kind === 'casts' && count >= 4;
  const line = halves ? count - Math.max(1, Math.round(count / 8)) : 0;
  const floor = halves ? line - (count >= 16 ? 1 : 0) : count;
  const rows: Rows = { count, height, middle: halves ? floor >> 1 : 0, floor, line, spans: new Uint8Array(kShapes.length * kFills * 2) };
  for (const [shape, name] of kShapes.entries())
    for (let fill = 1; fill < kFills; fill += 1) rows.spans.set(spanOf(rows, name, fill / 255), (shape * kFills + fill) * 2);
  return rows;
}

/** Which rows a column takes that is full to this share. */
function spanOf({ count, middle, floor, line }: Rows, shape: Shape, share: number): [from: number, to: number] {
  const high = (most: number) => Math.max(1, Math.round(share * most));
  if (count === 1) return [0, 1];
  if (shape === 'bar' || shape === 'module') return [count - high(count), count];
  if (middle === 0) return [0, count];
  if (shape === 'up') return [middle - high(middle), middle];
  if (shape === 'down') return [middle, middle + high(floor - middle)];
  // These take no time, so that they have no height of their own.
  if (shape === 'hit') return [line, count];
  if (shape === 'pass') return [line, Math.max(line + 1, (line + count) >> 1)];
  const half = Math.ceil(high(middle) / 2);
  return [middle - half, middle + half];
}

/** The rows [from, to) of a shape that is full. */
export function fullSpan(rows: Rows, shape: Shape): [from: number, to: number] {
  return spanOf(rows, shape, 1);
}

export interface Target {
  words: Uint32Array;
  width: number;
  /** Device px from the left edge to the begin of the run: hatches move with the time. */
  origin: number;
  /** The width of a hatch's line, device px. */
  hatch: number;
}

/** x of a column's left edge = x0 + column · perColumn, device px. */
export interface ColumnScale {
  x0: number;
  perColumn: number;
}

export function columnScale(picture: Picture, window: TimeWindow, width: number): ColumnScale {
  const pxPerNs = width / (window.end - window.begin);
  return { x0: (picture.first - window.begin) * pxPerNs, perColumn: picture.columnNs * pxPerNs };
}

const runs = new Runs();

/** Fills the track's rows of pixels, the first of which is `row`. */
export function fillTrack(target: Target, row: number, track: PictureTrack, scale: ColumnScale, inks: Inks, rows: Rows): void {
  const { width } = target;
  const { x0, perColumn } = scale;
  runs.begin(track);
  while (runs.next()) {
    const right = x0 + runs.end * perColumn;
    if (right <= 0) continue;
    const left = x0 + runs.first * perColumn;
    if (left >= width) break;
    const a = left < 0 ? 0 : Math.floor(left);
    let b = Math.ceil(right);
    if (b > width) b = width;
    if (b <= a) b = a + 1;
    fillBlock(target, row, a, b, runs.value, inks, rows);
  }
}

function fillBlock(target: Target, row: number, a: number, b: number, value: number, inks: Inks, rows: Rows): void {
  const { words, width } = target;
  const shade = value & 255;
  const ink = shade * kLevels + ((value >> 12) & 15);
  const colour = inks.lines[ink];
  if (colour === 0) return;
  const span = (inks.shapes[shade] * kFills + (value >> 8)) * 2;
  const from = rows.spans[span];
  const to = rows.spans[span + 1];
  const hatch = inks.hatches[shade];
  for (let line = from; line < to; line += 1) {
    const base = (row + line) * width;
    if (hatch !== 'plain') hatchLine(target, base, a, b, hatch === 'diagonal' ? Math.floor(((line + 0.5) * rows.height) / rows.count) : 0, colour, inks.gaps[ink]);
    else if (b - a < 8) for (let x = a; x < b; x += 1) words[base + x] = colour;
    else words.fill(colour, base + a, base + b);
  }
}

function hatchLine({ words, origin, hatch }: Target, base: number, a: number, b: number, shift: number, colour: number, gap: number): void {
  const period = 2 * hatch;
  let phase = (((a - origin + shift) % period) + period) % period;
  for (let x = a; x < b; x += 1) {
    words[base + x] = phase < hatch ? colour : gap;
    phase = phase + 1 === period ? 0 : phase + 1;
  }
}

/** Empties [a, b) of some rows, where a finer picture follows. */
export function clearSpan(target: Target, row: number, rows: number, a: number, b: number): void {
  const from = Math.max(0, Math.floor(a));
  const to = Math.min(target.width, Math.ceil(b));
  if (to <= from) return;
  for (let line = row; line < row + rows; line += 1) target.words.fill(0, line * target.width + from, line * target.width + to);
}

/** The pixels, and the canvas that shows them. */
export class Raster {
  readonly canvas = document.createElement('canvas');
  private readonly context = this.canvas.getContext('2d')!;
  private image = new ImageData(1, 1);
  target: Target = { words: new Uint32Array(1), width: 1, origin: 0, hatch: kHatchPx };

  /** `origin`: where the run begins, device px from the left. */
  begin(width: number, rows: number, origin: number, ratio: number): void {
    const height = Math.max(rows, 1);
    if (this.image.width !== width || this.image.height < height || this.image.height > height * 4 + 64) {
      this.image = new ImageData(width, height + 16);
      this.canvas.width = width;
      this.canvas.height = height + 16;
      this.target.words = new Uint32Array(this.image.data.buffer);
      this.target.width = width;
    } else {
      this.target.words.fill(0);
    }
    this.target.origin = Math.round(origin);
    this.target.hatch = Math.max(1, Math.round(kHatchPx * ratio));
  }

  finish(rows: number): void {
    this.context.putImageData(this.image, 0, 0, 0, 0, this.image.width, Math.max(rows, 1));
  }
}
