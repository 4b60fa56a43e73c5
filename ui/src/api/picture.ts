// Decodes GET …/picture: header, tracks, counters, boxes, all little-endian. Data from the network are trusted only as
// far as they fit: a picture that is cut short or has wrong sizes is an error, never a wild read.

import { decodeBand } from './bands.ts';
import type { PictureTrack } from './bands.ts';
import { Cursor, PictureError } from './cursor.ts';

const kMagic = 0x50435343;
const kVersion = 3;
const kHeaderBytes = 80;
const kBoxBytes = 24;
export const kUnknown = 65535;
// Two bytes tell the columns of a run.
const kMostColumns = 65535;

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
  if (columns > kMostColumns) throw new PictureError('The picture is too wide.');
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
    const track = decodeBand(cursor, columns);
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
