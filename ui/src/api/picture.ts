// Decodes GET …/picture: header, tracks, counters, boxes, all little-endian. Data from the network are trusted only as
// far as they fit: a picture that is cut short or has wrong sizes is an error, never a wild read.

const kMagic = 0x50435343;
const kVersion = 2;
const kHeaderBytes = 80;
const kBoxBytes = 24;
export const kUnknown = 65535;
/** Of cache hits and pass-throughs, which take no time: their columns are full. */
export const kTimelessBand = 2;

/** One band of a row, as it came: for casts, what goes down or across is apart from what goes up, and both are apart from
 * hits and pass-throughs. It is a view of the answer: nothing is copied. */
export interface PictureTrack {
  track: number;
  band: number;
  coarse: boolean;
  /** A value for each column, 0 = empty; otherwise triplets {first, length, value} of the columns that are not
   * empty. */
  dense: boolean;
  values: Uint16Array;
}

/** Goes through the filled columns in [from, to), in order: `take` is called for each stretch, and may be called for
 * each column. */
export function eachRun(
  { dense, values }: PictureTrack,
  take: (first: number, length: number, value: number) => void,
  from = 0,
  to = Infinity,
): void {
  if (dense) {
    for (let c = Math.max(from, 0), end = Math.min(to, values.length); c < end; c += 1)
      if (values[c] !== 0) take(c, 1, values[c]);
    return;
  }
  for (let i = 0; i < values.length && values[i] < to; i += 3)
    if (values[i] + values[i + 1] > from) take(values[i], values[i + 1], values[i + 2]);
}

export interface PictureCounter {
  process: number;
  top: number;
  /** 0…65534 = share of top, kUnknown = not known; one for each column. */
  values: Uint16Array;
}

/** Begin and end in columns, counted from the picture's first. */
export interface Box {
  track: number;
  subject: number;
  begin: number;
  end: number;
  shade: number;
  open: boolean;
  beginsBefore: boolean;
  endsAfter: boolean;
}

export interface Picture {
  /** Where column 0 begins, ns. */
  first: number;
  columns: number;
  columnNs: number;
  revision: number;
  newest: number;
  events: number;
  behindNs: number;
  live: boolean;
  coarse: boolean;
  loading: boolean;
  definitions: number;
  judgement: number;
  /** Only bands with something in them. */
  tracks: Map<number, PictureTrack[]>;
  counters: PictureCounter[];
  boxes: Map<number, Box[]>;
  /** Holds the numbers of tracks and counters. */
  memory: ArrayBuffer;
}

export class PictureError extends Error {}

class Cursor {
  readonly view: DataView;
  at = 0;

  constructor(data: ArrayBuffer, length: number) {
    this.view = new DataView(data, 0, length);
  }

  take(bytes: number): number {
    const from = this.at;
    if (from + bytes > this.view.byteLength) throw new PictureError('The picture is cut short.');
    this.at = from + bytes;
    return from;
  }

  pad(): void {
    this.at = Math.min((this.at + 3) & ~3, this.view.byteLength);
  }

  /** All sizes up to here are multiples of 4 bytes, and every machine with a browser is little-endian. */
  u16s(count: number): Uint16Array {
    return new Uint16Array(this.view.buffer as ArrayBuffer, this.take(count * 2), count);
  }
}

function decodeTrack(cursor: Cursor, columns: number): PictureTrack {
  const at = cursor.take(12);
  const track = cursor.view.getUint32(at, true);
  const encoding = cursor.view.getUint16(at + 4, true);
  const flags = cursor.view.getUint16(at + 6, true);
  const n = cursor.view.getUint32(at + 8, true);
  if (encoding > 1 || (encoding === 0 && n !== columns) || n > columns) throw new PictureError('A track is malformed.');
  const values = cursor.u16s(encoding === 0 ? n : n * 3);
  cursor.pad();
  if (encoding === 1)
    for (let i = 0; i < values.length; i += 3)
      if (values[i] + values[i + 1] > columns) throw new PictureError('A run ends after the last column.');
  return { track, band: flags >> 1, coarse: (flags & 1) !== 0, dense: encoding === 0, values };
}

function decodeCounter(cursor: Cursor, columns: number): PictureCounter {
  const at = cursor.take(16);
  const counter = { process: cursor.view.getUint32(at, true), top: cursor.view.getFloat64(at + 8, true) };
  const values = cursor.u16s(columns);
  cursor.pad();
  return { ...counter, values };
}

function decodeBox(cursor: Cursor): Box {
  const at = cursor.take(kBoxBytes);
  const flags = cursor.view.getUint8(at + 17);
  return {
    track: cursor.view.getUint32(at, true),
    subject: cursor.view.getUint32(at + 4, true),
    begin: cursor.view.getFloat32(at + 8, true),
    end: cursor.view.getFloat32(at + 12, true),
    shade: cursor.view.getUint8(at + 16),
    open: (flags & 1) !== 0,
    beginsBefore: (flags & 2) !== 0,
    endsAfter: (flags & 4) !== 0,
  };
}

/** Decodes the first `length` bytes. */
export function decodePicture(data: ArrayBuffer, length = data.byteLength): Picture {
  const cursor = new Cursor(data, length);
  cursor.take(kHeaderBytes);
  const view = cursor.view;
  if (view.getUint32(0, true) !== kMagic) throw new PictureError('This is not a picture.');
  if (view.getUint16(4, true) !== kVersion) throw new PictureError('The picture is of another version.');
  const i64 = (at: number) => Number(view.getBigInt64(at, true));
  const u32 = (at: number) => view.getUint32(at, true);
  const columns = u32(16);
  const flags = u32(64);
  const picture: Picture = {
    first: i64(8),
    columns,
    columnNs: 2 ** view.getUint16(6, true),
    revision: i64(32),
    newest: i64(40),
    events: i64(48),
    behindNs: i64(56),
    live: (flags & 1) !== 0,
    coarse: (flags & 2) !== 0,
    loading: (flags & 4) !== 0,
    definitions: u32(68),
    judgement: i64(72),
    tracks: new Map(),
    counters: [],
    boxes: new Map(),
    memory: data,
  };
  for (let i = u32(20); i > 0; i -= 1) {
    const track = decodeTrack(cursor, columns);
    const bands = picture.tracks.get(track.track);
    if (bands) bands.push(track);
    else picture.tracks.set(track.track, [track]);
  }
  for (let i = u32(24); i > 0; i -= 1) picture.counters.push(decodeCounter(cursor, columns));
  for (let i = u32(28); i > 0; i -= 1) {
    const box = decodeBox(cursor);
    const list = picture.boxes.get(box.track);
    if (list) list.push(box);
    else picture.boxes.set(box.track, [box]);
  }
  return picture;
}

export function pictureEnd(picture: Picture): number {
  return picture.first + picture.columns * picture.columnNs;
}

export function nsOfColumn(picture: Picture, column: number): number {
  return picture.first + column * picture.columnNs;
}
