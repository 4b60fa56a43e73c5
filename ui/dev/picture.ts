// GET …/picture of a made-up run, encoded as the collector does. Plain scans: it is for hands and eyes, not for speed.

import { kTimelessBand } from '../src/api/bands.ts';
import type { Events, SynthRun } from './synth.ts';

interface Query {
  from: number;
  to: number;
  columns: number;
  tracks: Set<number> | null;
  hide: Set<number>;
  box: number;
  find: string;
  counters: boolean;
}

interface Grid {
  k: number;
  size: number;
  first: number;
  columns: number;
}

export function gridOf(from: number, to: number, columns: number): Grid {
  let k = 0;
  while (2 ** (k + 1) <= Math.max(1, (to - from) / columns)) k += 1;
  const size = 2 ** k;
  const first = Math.floor(from / size) * size;
  return { k, size, first, columns: Math.max(1, Math.ceil((to - first) / size)) };
}

function firstEndingAfter(events: Events, ns: number): number {
  let low = 0;
  let high = events.end.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (events.end[middle] < ns) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** As in server/timeline/tracks/tracks.h. */
const bandOf = (kind: string) => (kind === 'up' ? 1 : kind === 'cache_hit' || kind === 'pass_through' ? 2 : 0);
const kBands = 3;

interface Scan {
  /** By band. */
  values: Uint16Array[];
  boxes: [subject: number, begin: number, end: number, shade: number, flags: number][];
}

function scan(run: SynthRun, track: number, query: Query, grid: Grid, wanted: (subject: number) => boolean): Scan {
  const events = run.events.get(track)!;
  const made = Array.from({ length: kBands }, () => ({ busy: new Float64Array(grid.columns), most: new Float64Array(grid.columns), shade: new Uint8Array(grid.columns) }));
  const boxes: Scan['boxes'] = [];
  const end = grid.first + grid.columns * grid.size;
  const boxNs = (query.box * (query.to - query.from)) / query.columns;
  for (let i = firstEndingAfter(events, grid.first); i < events.begin.length && events.begin[i] < end; i += 1) {
    if (query.hide.has(events.shade[i]) || events.begin[i] > run.newest || !wanted(events.subject[i])) continue;
    const open = events.end[i] > run.newest;
    const stop = Math.min(events.end[i], run.newest);
    const a = Math.max(0, Math.floor((events.begin[i] - grid.first) / grid.size));
    const b = Math.min(grid.columns - 1, Math.floor((Math.max(stop, events.begin[i] + 1) - 1 - grid.first) / grid.size));
    const { busy, most, shade } = made[bandOf(run.shades[events.shade[i] - 1].shade_kind)];
    for (let c = a; c <= b; c += 1) {
      const from = Math.max(events.begin[i], grid.first + c * grid.size);
      const to = Math.min(Math.max(stop, events.begin[i] + 1), grid.first + (c + 1) * grid.size);
      busy[c] += to - from;
      if (to - from > most[c]) {
        most[c] = to - from;
        shade[c] = events.shade[i];
      }
    }
    if (stop - events.begin[i] >= boxNs) {
      const flags = (open ? 1 : 0) | (events.begin[i] < grid.first ? 2 : 0) | (stop > end ? 4 : 0);
      boxes.push([
        events.subject[i],
        (events.begin[i] - grid.first) / grid.size,
        (stop - grid.first) / grid.size,
        events.shade[i],
        flags,
      ]);
    }
  }
  const values = made.map(({ busy, shade }, band) =>
    Uint16Array.from(shade, (one, c) => (one > 0 ? one | (band === kTimelessBand ? 0xff00 : Math.min(255, Math.max(1, Math.round((busy[c] / grid.size) * 255))) << 8) : 0)),
  );
  return { values, boxes };
}

function counter(run: SynthRun, process: number, grid: Grid): Uint16Array {
  const values = new Uint16Array(grid.columns);
  const period = 250e6;
  for (let c = 0; c < grid.columns; c += 1) {
    const ns = grid.first + (c + 0.5) * grid.size;
    if (ns < 0 || ns > run.newest) {
      values[c] = 65535;
      continue;
    }
    const share = (ns % period) / period;
    values[c] = share > 0.5 && grid.size < period / 2 ? 0 : Math.round(Math.min(share * 2, 1) * (60000 - process * 2000));
  }
  return values;
}

export function encodePicture(run: SynthRun, query: Query, nowMs: number): Buffer {
  const grid = gridOf(query.from, query.to, query.columns);
  const parts: Buffer[] = [];
  const boxes: Buffer[] = [];
  let told = 0;
  for (const track of run.tracks) {
    if (query.tracks && !query.tracks.has(track.track)) continue;
    const wanted = (subject: number) => query.find === '' || run.textOf(track.track_kind, subject).includes(query.find);
    const { values, boxes: found } = scan(run, track.track, query, grid, wanted);
    for (const [band, columns] of values.entries()) {
      if (!columns.some((value) => value !== 0)) continue;
      told += 1;
      // The plainest of the forms that the collector has: two planes of a byte a column.
      const kEach = 3;
      const planes = Buffer.from([kEach, ...columns.map((value) => value >> 8), kEach, ...columns.map((value) => value & 255)]);
      const head = Buffer.alloc(12);
      head.writeUInt32LE(track.track, 0);
      head.writeUInt16LE(band << 1, 6);
      head.writeUInt32LE(planes.length, 8);
      parts.push(head, planes, Buffer.alloc((4 - (planes.length % 4)) % 4));
    }
    for (const [subject, begin, end, shade, flags] of found) {
      const box = Buffer.alloc(24);
      box.writeUInt32LE(track.track, 0);
      box.writeUInt32LE(subject, 4);
      box.writeFloatLE(begin, 8);
      box.writeFloatLE(end, 12);
      box.writeUInt8(shade, 16);
      box.writeUInt8(flags, 17);
      boxes.push(box);
    }
  }
  const counters = query.counters ? run.processes : [];
  for (const process of counters) {
    const values = counter(run, process.process, grid);
    const head = Buffer.alloc(16);
    head.writeUInt32LE(process.process, 0);
    head.writeDoubleLE(64 * 2 ** 20, 8);
    parts.push(head, Buffer.from(values.buffer), Buffer.alloc(values.length % 2 === 1 ? 2 : 0));
  }
  const header = Buffer.alloc(80);
  header.writeUInt32LE(0x50435343, 0);
  header.writeUInt16LE(3, 4);
  header.writeUInt16LE(grid.k, 6);
  header.writeBigInt64LE(BigInt(grid.first), 8);
  header.writeUInt32LE(grid.columns, 16);
  header.writeUInt32LE(told, 20);
  header.writeUInt32LE(counters.length, 24);
  header.writeUInt32LE(boxes.length, 28);
  header.writeBigUInt64LE(BigInt(run.count), 32);
  header.writeBigInt64LE(BigInt(Math.round(run.newest)), 40);
  header.writeBigUInt64LE(BigInt(run.count), 48);
  const behind = run.state === 'live' ? (nowMs - run.startMs) * 1e6 - run.newest : 0;
  header.writeBigInt64LE(BigInt(Math.max(0, Math.round(behind))), 56);
  header.writeUInt32LE((run.state === 'live' ? 1 : 0) | (run.state === 'loading' ? 4 : 0), 64);
  header.writeUInt32LE(run.sites.length, 68);
  header.writeBigUInt64LE(BigInt(Math.floor(run.step / 20)), 72);
  return Buffer.concat([header, ...parts, ...boxes]);
}

export type { Query };
