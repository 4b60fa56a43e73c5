// Finds what is under a point of the lanes (css px from their top left) in the picture that is shown.

import { eachRun } from '../api/bands.ts';
import type { PictureTrack } from '../api/bands.ts';
import { nsOfColumn } from '../api/picture.ts';
import type { Finding, Track } from '../api/types.ts';
import { findingMarksOf } from '../draw/marks.ts';
import { kMinimapMarkPx } from '../draw/strips.ts';
import type { FindingMark } from '../model/findings/finding_marks.ts';
import type { LaneRow, Row } from '../model/rows/lanes.ts';
import { visibleRows } from '../model/rows/lanes.ts';
import type { State } from '../model/state.ts';
import type { TimeScale } from '../model/time/time_window.ts';

export interface Hit {
  track: Track;
  /** The interval, if it is wide enough to have its own box. */
  box: { begin: number; end: number; subject: number; shade: number } | null;
  shade: number | null;
}

const kNearPx = 3;

function rowAt(state: State, y: number): { row: Row; inside: number } | null {
  const pinned = y < state.layout.pinnedHeight;
  const at = pinned ? y : y - state.layout.pinnedHeight + state.scrollTop;
  const row = visibleRows(pinned ? state.layout.pinned : state.layout.rows, at, 1)[0];
  return row && at >= row.y ? { row, inside: at - row.y } : null;
}

/** The track there, and at which share of its height. */
function trackAt(row: Row, inside: number): { track: Track; share: number } | null {
  if (row.kind === 'process') return row.steps && { track: row.steps, share: 0 };
  for (const one of row.tracks)
    if (inside >= one.y - 1 && inside <= one.y + one.height + 1) return { track: one.track, share: (inside - one.y) / one.height };
  return row.regions && { track: row.regions, share: 0 };
}

/** The bands of a row, the one at this share of its height first. */
function nearestFirst(bands: readonly PictureTrack[], share: number): PictureTrack[] {
  const at = share < 0.44 ? 1 : share < 0.86 ? 0 : 2;
  return [...bands].sort((a, b) => Number(b.band === at) - Number(a.band === at));
}

function hitOn(state: State, scale: TimeScale, track: Track, x: number, share = 0): Hit | null {
  const { picture } = state;
  if (!picture) return null;
  for (const box of picture.boxes.get(track.track) ?? []) {
    const [begin, end] = [nsOfColumn(picture, box.begin), nsOfColumn(picture, box.end)];
    if (x >= scale.px(begin) - 1 && x <= scale.px(end))
      return { track, box: { begin, end, subject: box.subject, shade: box.shade }, shade: box.shade };
  }
  const bands = picture.tracks.get(track.track);
  if (!bands) return null;
  const a = (scale.ns(x - kNearPx) - picture.first) / picture.columnNs;
  const b = (scale.ns(x + kNearPx) - picture.first) / picture.columnNs;
  const middle = (scale.ns(x) - picture.first) / picture.columnNs;
  for (const band of nearestFirst(bands, share)) {
    let shade: number | null = null;
    let nearest = Infinity;
    eachRun(band, (first, length, value) => {
      const off = Math.max(first - middle, middle - first - length, 0);
      if (off >= nearest) return;
      nearest = off;
      shade = value & 255;
    }, Math.floor(a), Math.floor(b) + 1);
    if (shade !== null) return { track, box: null, shade };
  }
  return null;
}

export function hitAt(state: State, scale: TimeScale, x: number, y: number): Hit | null {
  const at = rowAt(state, y);
  if (!at) return null;
  const found = trackAt(at.row, at.inside);
  const hit = found ? hitOn(state, scale, found.track, x, found.share) : null;
  if (hit || at.row.kind === 'process' || !at.row.regions) return hit;
  return hitOn(state, scale, at.row.regions, x);
}

/** The findings of the mark under a point of the lanes. */
export function findingsAt(state: State, scale: TimeScale, x: number, y: number, heightPx: number): Finding[] {
  return findingMarksOf(state, scale, heightPx).find((mark) => onMark(mark, x) && Math.abs(y - mark.y) <= 9)?.findings ?? [];
}

/** The findings of the mark under a point of the minimap. `scale` is that of the whole run. */
export function findingsInMinimapAt(state: State, scale: TimeScale, x: number, y: number): Finding[] {
  if (y > kMinimapMarkPx + 3) return [];
  return state.findingMarks().onAll(scale).find((mark) => onMark(mark, x))?.findings ?? [];
}

/** A mark that stands for several findings has their number at its right. */
function onMark({ x, findings }: FindingMark, at: number): boolean {
  return at >= x - 8 && at <= x + (findings.length > 1 ? 38 : 8);
}

/** The tracks of every row that [top, bottom] touches; null = all tracks. */
export function tracksBetween(state: State, top: number, bottom: number): number[] | null {
  const ids: number[] = [];
  const add = (rows: readonly Row[], offset: number) => {
    for (const row of rows) {
      if (row.y + offset > bottom || row.y + offset + row.height < top) continue;
      if (row.kind === 'process') {
        if (row.steps) ids.push(row.steps.track);
      } else addLane(row, offset);
    }
  };
  const addLane = (row: LaneRow, offset: number) => {
    for (const one of row.tracks) {
      const y = row.y + offset + one.y;
      if (y <= bottom && y + one.height >= top) ids.push(one.track.track);
    }
    if (row.regions) ids.push(row.regions.track);
  };
  add(state.layout.pinned, 0);
  add(state.layout.rows, state.layout.pinnedHeight - state.scrollTop);
  return ids.length > 0 ? ids : null;
}

/** The time at x, snapped to the edge of an interval nearby. */
export function snapped(state: State, scale: TimeScale, x: number, y: number): number {
  const at = scale.ns(x);
  const row = rowAt(state, y)?.row;
  const { picture } = state;
  if (!row || !picture) return at;
  const tracks = row.kind === 'lane' ? row.tracks.map((one) => one.track) : row.steps ? [row.steps] : [];
  let best = at;
  let distance = 7;
  for (const track of tracks)
    for (const box of picture.boxes.get(track.track) ?? [])
      for (const column of [box.begin, box.end]) {
        const ns = nsOfColumn(picture, column);
        const off = Math.abs(scale.px(ns) - x);
        if (off < distance) {
          distance = off;
          best = ns;
        }
      }
  return best;
}
