// Adds up what GPUs did in the stretch that is shown, stream by stream.

import type { Summary, Track } from '../../api/types.ts';
import { duration, percent } from '../words/format.ts';
import { rowKey } from './lanes.ts';

export interface StreamLoad {
  /** The time of kernels, copies and sets; each counts, even if they run at once. */
  ns: number;
  castNs: number;
}

/** The tracks of each stream, by the key of its row. */
export function streamsOf(tracks: readonly Track[]): Map<string, number[]> {
  const streams = new Map<string, number[]>();
  for (const track of tracks)
    if (track.track_kind === 'kernels') streams.set(rowKey(track), [...(streams.get(rowKey(track)) ?? []), track.track]);
  return streams;
}

export function loadOf(summary: Summary): StreamLoad {
  const of = (kind: string) => summary.by_shade_kind.find((one) => one.shade_kind === kind)?.window_ns ?? 0;
  const castNs = of('cast_kernel');
  return { ns: castNs + of('kernel') + of('gpu_copy'), castNs };
}

/** "4.31 ms, casts 18 %"; '' where nothing ran. */
export function loadText(load: StreamLoad): string {
  if (load.ns === 0) return '';
  return `${duration(load.ns)}, casts ${percent(load.castNs / load.ns)}`;
}
