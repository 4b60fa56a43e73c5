// The lane raster: each track is one row of pixels (casts have three), as wide as the surface in device px, and is
// stretched to its height when drawn. Runs of columns become runs of pixels; a column narrower than a pixel still marks
// it, so that nothing is invisible. It stays at 60 frames a second without a GPU.

import type { Picture, PictureTrack } from '../api/picture.ts';
import type { Shade } from '../api/types.ts';
import type { ColourBy, Theme } from '../model/colours.ts';
import { colourOf, costColour } from '../model/colours.ts';
import type { TimeWindow } from '../model/time_window.ts';

const kOccupancyLevels = 16;

/** RGBA as a little-endian word, by shade and occupancy. */
export type ColourTable = Uint32Array;

function word(colour: readonly [number, number, number], alpha: number): number {
  return ((Math.round(alpha * 255) << 24) | (colour[2] << 16) | (colour[1] << 8) | colour[0]) >>> 0;
}

export function colourTable(shades: readonly Shade[], by: ColourBy, theme: Theme): ColourTable {
  const table = new Uint32Array(256 * kOccupancyLevels);
  for (const shade of shades) {
    for (let level = 0; level < kOccupancyLevels; level += 1) {
      const share = (level + 1) / kOccupancyLevels;
      const cost = by === 'cost' && (shade.track_kind === 'casts' || shade.track_kind === 'operators' || shade.track_kind === 'kernels');
      // A column with little in it is pale, but never so pale that it becomes invisible.
      table[shade.shade * kOccupancyLevels + level] = cost
        ? word(costColour(share, theme), 1)
        : word(colourOf(shade, by, theme), 0.45 + 0.55 * share);
    }
  }
  return table;
}

/** Which of its three rows of pixels a cast fills: hits lie low, pass-throughs in the middle. One bit for each row. */
export function castRows(kind: string): number {
  return kind === 'cache_hit' ? 0b100 : kind === 'pass_through' ? 0b010 : 0b111;
}

export function castRowTable(shades: readonly Shade[]): Uint8Array {
  const table = new Uint8Array(256).fill(0b111);
  for (const shade of shades) table[shade.shade] = castRows(shade.shade_kind);
  return table;
}

export interface Target {
  words: Uint32Array;
  width: number;
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

/** Fills rows `row`, row + 1, … as far as `rows` has bits (null = one row, all shades). */
export function fillTrack(
  target: Target,
  row: number,
  track: PictureTrack,
  scale: ColumnScale,
  table: ColourTable,
  rows: Uint8Array | null,
): void {
  const { words, width } = target;
  const base = row * width;
  const { x0, perColumn } = scale;
  const { dense, values } = track;
  // The columns in sight; a picture has margins.
  const first = Math.max(Math.floor(-x0 / perColumn) - 1, 0);
  const stride = dense ? 1 : 3;
  for (let i = dense ? first : 0; i < values.length; i += stride) {
    const value = dense ? values[i] : values[i + 2];
    if (value === 0) continue;
    const left = x0 + (dense ? i : values[i]) * perColumn;
    const right = left + (dense ? 1 : values[i + 1]) * perColumn;
    if (right <= 0) continue;
    if (left >= width) break;
    const shade = value & 255;
    const colour = table[shade * kOccupancyLevels + ((value >> 12) & 15)];
    if (colour === 0) continue;
    const a = left < 0 ? 0 : Math.floor(left);
    let b = Math.ceil(right);
    if (b > width) b = width;
    if (b <= a) b = a + 1;
    const bits = rows === null ? 1 : rows[shade];
    for (let line = 0; line < 3; line += 1) {
      if ((bits & (1 << line)) === 0) continue;
      const from = base + line * width;
      if (b - a < 8) for (let x = a; x < b; x += 1) words[from + x] = colour;
      else words.fill(colour, from + a, from + b);
    }
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
  target: Target = { words: new Uint32Array(1), width: 1 };

  begin(width: number, rows: number): void {
    const height = Math.max(rows, 1);
    if (this.image.width !== width || this.image.height < height || this.image.height > height * 4 + 64) {
      this.image = new ImageData(width, height + 16);
      this.canvas.width = width;
      this.canvas.height = height + 16;
      this.target = { words: new Uint32Array(this.image.data.buffer), width };
    } else {
      this.target.words.fill(0);
    }
  }

  finish(rows: number): void {
    this.context.putImageData(this.image, 0, 0, 0, 0, this.image.width, Math.max(rows, 1));
  }
}
