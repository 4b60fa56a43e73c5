// The bands of a picture: what each column of a row holds. They stay in the form in which they came, so nothing is
// copied; Runs reads them.

import { Cursor, PictureError } from './cursor.ts';

/** Of cache hits and pass-throughs, which take no time: their columns are full. */
export const kTimelessBand = 2;

/** A number for each column, as server/timeline/questions/planes.h tells it. */
interface Plane {
  form: number;
  /** Places in the picture's bytes: of the bits, and of the numbers. */
  bits: number;
  numbers: number;
}

/** One band of a row: for casts, what goes down or across is apart from what goes up, and both are apart from hits and
 * pass-throughs. */
export interface PictureTrack {
  track: number;
  band: number;
  coarse: boolean;
  columns: number;
  /** null: `runs` are told instead, triplets {first, length, value} of the columns that are not empty. */
  planes: { bytes: Uint8Array; fills: Plane; shades: Plane } | null;
  runs: Uint16Array;
}

const kOne = 0;
const kTwo = 1;
const kChanges = 2;
const kEach = 3;
const kNoRuns = new Uint16Array(0);

/** Goes through the numbers of a plane, in runs of equal ones. */
class PlaneReader {
  number = 0;
  /** The first column after the run. */
  end = 0;
  private bytes: Uint8Array = new Uint8Array(0);
  private plane: Plane = { form: kOne, bits: 0, numbers: 0 };
  private columns = 0;
  private next = 0;

  begin(bytes: Uint8Array, plane: Plane, columns: number): void {
    this.bytes = bytes;
    this.plane = plane;
    this.columns = columns;
    this.next = plane.numbers;
    this.end = 0;
  }

  /** Reads the run after this one. */
  step(): void {
    const { bytes, columns } = this;
    const { form, numbers } = this.plane;
    const first = this.end;
    if (form === kEach) {
      const number = bytes[numbers + first];
      let end = first + 1;
      while (end < columns && bytes[numbers + end] === number) end += 1;
      this.number = number;
      this.end = end;
    } else if (form === kChanges) {
      this.number = bytes[this.next];
      this.next += 1;
      this.end = this.firstBit(first + 1, 0);
    } else if (form === kTwo) {
      const second = (bytes[this.plane.bits + (first >> 3)] >> (first & 7)) & 1;
      this.number = bytes[numbers + second];
      this.end = this.firstBit(first + 1, second === 1 ? 255 : 0);
    } else {
      this.number = bytes[numbers];
      this.end = columns;
    }
  }

  /** The first column from `at` on with a bit that is other than those of `same`, which are all equal. */
  private firstBit(at: number, same: number): number {
    const { bytes, columns } = this;
    while (at < columns) {
      const rest = (bytes[this.plane.bits + (at >> 3)] ^ same) >> (at & 7);
      // The lowest bit that is set.
      if (rest !== 0) return Math.min(at + 31 - Math.clz32(rest & -rest), columns);
      at = (at | 7) + 1;
    }
    return columns;
  }
}

/** Goes through the filled columns of bands, in runs of equal values. It can be used for one band after another, so that
 * drawing makes no garbage. */
export class Runs {
  /** The run: columns [first, end), its value (low byte the shade, high byte the fill). */
  first = 0;
  end = 0;
  value = 0;
  private track: PictureTrack | null = null;
  private at = 0;
  private readonly fills = new PlaneReader();
  private readonly shades = new PlaneReader();

  begin(track: PictureTrack): this {
    this.track = track;
    this.at = 0;
    this.end = 0;
    if (track.planes) {
      const { bytes, fills, shades } = track.planes;
      this.fills.begin(bytes, fills, track.columns);
      this.shades.begin(bytes, shades, track.columns);
    }
    return this;
  }

  /** Goes to the next run; false: there is none. */
  next(): boolean {
    const { track } = this;
    if (!track) return false;
    if (track.planes) return this.nextOfPlanes(track.columns);
    const { runs } = track;
    if (this.at >= runs.length) return false;
    this.first = runs[this.at];
    this.end = this.first + runs[this.at + 1];
    this.value = runs[this.at + 2];
    this.at += 3;
    return true;
  }

  private nextOfPlanes(columns: number): boolean {
    const { fills, shades } = this;
    while (this.end < columns) {
      const first = this.end;
      if (fills.end <= first) fills.step();
      while (shades.end <= first) shades.step();
      this.end = Math.min(fills.end, shades.end);
      if (fills.number === 0) continue;
      this.first = first;
      this.value = (fills.number << 8) | shades.number;
      return true;
    }
    return false;
  }
}

/** Calls `take` for each run of filled columns that overlaps [from, to), in order. */
export function eachRun(
  track: PictureTrack,
  take: (first: number, length: number, value: number) => void,
  from = 0,
  to = Infinity,
): void {
  const runs = new Runs().begin(track);
  while (runs.next() && runs.first < to) if (runs.end > from) take(runs.first, runs.end - runs.first, runs.value);
}

function bitsIn(byte: number): number {
  let n = 0;
  for (let rest = byte; rest !== 0; rest &= rest - 1) n += 1;
  return n;
}

function decodePlane(cursor: Cursor, columns: number): Plane {
  const { bytes } = cursor;
  const form = bytes[cursor.take(1)];
  const takeBits = () => cursor.take(Math.ceil(columns / 8));
  if (form === kOne) return { form, bits: 0, numbers: cursor.take(1) };
  if (form === kEach) return { form, bits: 0, numbers: cursor.take(columns) };
  if (form === kTwo) {
    const numbers = cursor.take(2);
    return { form, bits: takeBits(), numbers };
  }
  if (form !== kChanges) throw new PictureError('A plane has an unknown form.');
  const bits = takeBits();
  let changes = 0;
  for (let i = bits; i < cursor.at; i += 1) changes += bitsIn(bytes[i]);
  if (columns > 0 && (bytes[bits] & 1) === 0) throw new PictureError('A plane does not tell its first number.');
  return { form, bits, numbers: cursor.take(changes) };
}

export function decodeBand(cursor: Cursor, columns: number): PictureTrack {
  const at = cursor.take(12);
  const track = cursor.view.getUint32(at, true);
  const encoding = cursor.view.getUint16(at + 4, true);
  const flags = cursor.view.getUint16(at + 6, true);
  const n = cursor.view.getUint32(at + 8, true);
  const band: PictureTrack = { track, band: flags >> 1, coarse: (flags & 1) !== 0, columns, planes: null, runs: kNoRuns };
  if (encoding === 0) {
    const begin = cursor.at;
    band.planes = { bytes: cursor.bytes, fills: decodePlane(cursor, columns), shades: decodePlane(cursor, columns) };
    if (cursor.at - begin !== n) throw new PictureError('The planes of a track have another size than it says.');
  } else {
    if (encoding !== 1 || n > columns) throw new PictureError('A track is malformed.');
    band.runs = cursor.u16s(n * 3);
    for (let i = 0; i < band.runs.length; i += 3)
      if (band.runs[i] + band.runs[i + 1] > columns) throw new PictureError('A run ends after the last column.');
  }
  cursor.pad();
  return band;
}
