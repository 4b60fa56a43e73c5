// Which rows the timeline has and how tall they are: processes, their lanes, and within a lane a row for each track.
// Heights and y are css px from the top of all rows; pinned rows are laid out apart, since they do not scroll.

import type { Process, Track, TrackKind } from '../../api/types.ts';
import { ordered } from './lane_order.ts';

export interface TrackRow {
  track: Track;
  /** Measured from the top of its lane's row. */
  y: number;
  height: number;
}

export interface LaneRow {
  kind: 'lane';
  key: string;
  process: Process;
  lane: number;
  name: string;
  y: number;
  height: number;
  collapsed: boolean;
  pinned: boolean;
  /** Drawn as a background over the whole row. */
  regions: Track | null;
  tracks: TrackRow[];
}

export interface ProcessRow {
  kind: 'process';
  key: string;
  process: Process;
  y: number;
  height: number;
  collapsed: boolean;
  steps: Track | null;
}

export type Row = LaneRow | ProcessRow;

export interface Layout {
  pinned: LaneRow[];
  pinnedHeight: number;
  rows: Row[];
  height: number;
}

export interface LayoutOptions {
  collapsed: ReadonlySet<string>;
  pinned: readonly string[];
  /** The order of rows that were moved by hand (lane_order.ts). */
  order: readonly string[];
  filter: string;
  /** The css px that are available: if there are few rows, they grow. */
  roomPx: number;
}

export const kProcessHeight = 24;
// A cast takes half of its row: it goes up or down.
const kHeights: Record<string, number> = { marks: 7, modules: 13, operators: 14, casts: 30, kernels: 22 };
const kTightCasts = 9;
const kPadding = 4;
// With more lanes than this nobody reads single ones: each is a thin row until it is opened.
const kManyLanes = 40;
// Up to so many lanes there is room for rows of modules.
const kFewLanes = 8;
const kMostGrowth = 2;
// Room that is left when all rows have grown goes to casts, up to this height.
const kMostCasts = 150;

export const processKey = (process: number) => `p${process}`;
export const laneKey = (process: number, lane: number) => `p${process}.${lane}`;
/** Streams of GPUs are rows beside those of threads, whichever thread reports them. */
export const rowKey = (track: Track) =>
  track.track_kind === 'kernels' ? `p${track.process}.gpu${track.gpu_index}.${track.stream}` : laneKey(track.process, track.lane);

interface Lane {
  key: string;
  process: Process;
  lane: number;
  name: string;
  tracks: Track[];
}

/** The space of the timeline. */
export interface Room {
  /** Device px across; 0 = not laid out yet. */
  width: number;
  tracks: number[];
}

export function processName(process: Process): string {
  const says = process.label.startsWith('rank ');
  const rank = says || process.rank === null || process.rank === undefined ? '' : `rank ${process.rank} · `;
  const pid = String(process.pid);
  return `${rank}${process.label.includes(pid) ? process.label : `${process.label || 'process'} ${pid}`}`;
}

export function lanesOf(processes: readonly Process[], tracks: readonly Track[]): Map<number, Lane[]> {
  const byProcess = new Map<number, Lane[]>();
  const known = new Map(processes.map((process) => [process.process, process]));
  const byLane = new Map<string, Lane>();
  for (const track of tracks) {
    const process = known.get(track.process);
    if (!process || track.track_kind === 'steps') continue;
    const key = rowKey(track);
    let lane = byLane.get(key);
    if (!lane) {
      lane = { key, process, lane: track.lane, name: track.label, tracks: [] };
      byLane.set(key, lane);
      byProcess.set(track.process, [...(byProcess.get(track.process) ?? []), lane]);
    }
    lane.tracks.push(track);
  }
  return byProcess;
}

/** A row of kernels that run beside another kernel of their stream is left out, too. */
function staysWhenFolded(track: Track): boolean {
  return track.track_kind === 'casts' || (track.track_kind === 'kernels' && track.row_depth === 0);
}

interface Growth {
  times: number;
  /** More px for each row of casts. */
  castsPx: number;
  modules: boolean;
}

function heightOf(kind: TrackKind, growth: Growth): number {
  if (kind === 'marks') return kHeights.marks;
  return Math.round((kHeights[kind] ?? 12) * growth.times) + (kind === 'casts' ? growth.castsPx : 0);
}

function laneRow(lane: Lane, y: number, collapsed: boolean, pinned: boolean, growth: Growth): LaneRow {
  const rows: TrackRow[] = [];
  let inner = kPadding;
  const shown = collapsed ? lane.tracks.filter(staysWhenFolded) : lane.tracks;
  for (const track of shown) {
    if (track.track_kind === 'regions' || (track.track_kind === 'modules' && !growth.modules)) continue;
    const height = collapsed ? kTightCasts : heightOf(track.track_kind, growth);
    rows.push({ track, y: inner, height });
    inner += height + (track.track_kind === 'marks' ? 1 : collapsed ? 0 : 2);
  }
  if (rows.length === 0) inner += kTightCasts;
  return {
    kind: 'lane',
    key: lane.key,
    process: lane.process,
    lane: lane.lane,
    name: lane.name,
    y,
    height: Math.max(inner + kPadding - 1, 17),
    collapsed,
    pinned,
    regions: lane.tracks.find((track) => track.track_kind === 'regions') ?? null,
    tracks: rows,
  };
}

/** Ranks in their order, then processes that have none. */
function byRank(processes: readonly Process[]): Process[] {
  const place = ({ rank }: Process) => rank ?? Infinity;
  return [...processes].sort((a, b) => (place(a) === place(b) ? 0 : place(a) - place(b)));
}

function matches(lane: Lane, filter: string): boolean {
  if (filter === '') return true;
  return `${processName(lane.process)} ${lane.name}`.toLowerCase().includes(filter.toLowerCase());
}

/** A key in `collapsed` inverts the row's usual state: many lanes are thin unless opened. */
export function layoutOf(processes: readonly Process[], tracks: readonly Track[], options: LayoutOptions): Layout {
  const modules = new Set(tracks.filter((track) => track.track_kind !== 'steps').map(rowKey)).size <= kFewLanes;
  const plain = grownLayout(processes, tracks, options, { times: 1, castsPx: 0, modules });
  const heightWith = (layout: Layout) => layout.pinnedHeight + layout.height;
  const room = options.roomPx * 0.85;
  const height = heightWith(plain);
  if (height === 0 || height >= options.roomPx * 0.8) return plain;
  const times = Math.min(room / height, kMostGrowth);
  const grown = grownLayout(processes, tracks, options, { times, castsPx: 0, modules });
  const casts = [...grown.pinned, ...grown.rows].flatMap((row) => (row.kind === 'lane' && !row.collapsed ? row.tracks.filter((one) => one.track.track_kind === 'casts') : []));
  const left = Math.floor((room - heightWith(grown)) / casts.length);
  if (casts.length === 0 || left <= 0) return grown;
  return grownLayout(processes, tracks, options, { times, castsPx: Math.min(left, kMostCasts - casts[0].height), modules });
}

function grownLayout(
  processes: readonly Process[],
  tracks: readonly Track[],
  options: LayoutOptions,
  growth: Growth,
): Layout {
  const byProcess = lanesOf(processes, tracks);
  const total = [...byProcess.values()].reduce((sum, lanes) => sum + lanes.length, 0);
  const thin = total > kManyLanes;
  const isThin = (key: string) => thin !== options.collapsed.has(key);
  const layout: Layout = { pinned: [], pinnedHeight: 0, rows: [], height: 0 };
  const all = [...byProcess.values()].flat();
  for (const key of options.pinned) {
    const lane = all.find((one) => one.key === key);
    if (!lane) continue;
    const row = laneRow(lane, layout.pinnedHeight, isThin(key), true, growth);
    layout.pinned.push(row);
    layout.pinnedHeight += row.height;
  }
  for (const process of ordered(byRank(processes), (one) => processKey(one.process), options.order)) {
    const matching = (byProcess.get(process.process) ?? []).filter((lane) => matches(lane, options.filter));
    const lanes = ordered(matching, (lane) => lane.key, options.order);
    if (options.filter !== '' && lanes.length === 0) continue;
    const key = processKey(process.process);
    const collapsed = options.collapsed.has(key);
    const steps = tracks.find((track) => track.process === process.process && track.track_kind === 'steps') ?? null;
    layout.rows.push({ kind: 'process', key, process, y: layout.height, height: kProcessHeight, collapsed, steps });
    layout.height += kProcessHeight;
    if (collapsed) continue;
    for (const lane of lanes) {
      if (options.pinned.includes(lane.key)) continue;
      const row = laneRow(lane, layout.height, isThin(lane.key), false, growth);
      layout.rows.push(row);
      layout.height += row.height;
    }
  }
  return layout;
}

/** The keys of the rows among which one may be moved, in their order: processes, or lanes of one process. */
export function siblingsOf(layout: Layout, row: Row): string[] {
  if (row.kind === 'lane' && row.pinned) return layout.pinned.map((one) => one.key);
  const among = layout.rows.filter(
    (one) => one.kind === row.kind && (row.kind === 'process' || one.process.process === row.process.process),
  );
  return among.map((one) => one.key);
}

/** Whether it is a GPU's row; otherwise it is a thread's. */
export const isStream = (row: LaneRow) => row.tracks.some((one) => one.track.track_kind === 'kernels');

/** Rows that touch [top, top + height). */
export function visibleRows(rows: readonly Row[], top: number, height: number): Row[] {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle].y + rows[middle].height <= top) low = middle + 1;
    else high = middle;
  }
  let end = low;
  while (end < rows.length && rows[end].y < top + height) end += 1;
  return rows.slice(low, end);
}

/** The row that a track is in, even while it is folded; a pinned track does not scroll and has none. */
export function rowOf(layout: Layout, track: Track): Row | undefined {
  const key = track.track_kind === 'steps' ? processKey(track.process) : rowKey(track);
  return layout.rows.find((row) => row.key === key);
}

export function tracksOf(rows: readonly Row[]): number[] {
  const ids: number[] = [];
  for (const row of rows) {
    if (row.kind === 'process') {
      if (row.steps) ids.push(row.steps.track);
      continue;
    }
    if (row.regions) ids.push(row.regions.track);
    for (const { track } of row.tracks) ids.push(track.track);
  }
  return ids;
}
