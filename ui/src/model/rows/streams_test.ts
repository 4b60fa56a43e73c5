import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Summary, Track, TrackKind } from '../../api/types.ts';
import { loadOf, loadText, streamsOf } from './streams.ts';

const track = (id: number, kind: TrackKind, stream: number | null, depth = 0): Track => ({
  track: id, process: 1, lane: 2, track_kind: kind, row_depth: depth, gpu_index: stream === null ? null : 0, stream, label: '',
});
const summary = (...kinds: [kind: string, ns: number][]): Summary => ({
  window_begin_ns: 0, window_end_ns: 100, exact: true, event_count: 0, by_subject: [], by_shade: [], by_shade_kind: kinds.map(([kind, ns]) => ({ shade_kind: kind, event_count: 1, window_ns: ns, event_bytes: 0 })),
});

test('what ran beside another kernel is of the same stream', () => {
  const streams = streamsOf([track(1, 'casts', null), track(2, 'kernels', 7), track(3, 'kernels', 7, 1), track(4, 'kernels', 20)]);
  assert.deepEqual([...streams], [['p1.gpu0.7', [2, 3]], ['p1.gpu0.20', [4]]]);
});

test('copies are part of what a stream did, threads are not', () => {
  const load = loadOf(summary(['cast_kernel', 30e3], ['kernel', 60e3], ['gpu_copy', 30e3], ['down', 5e6]));
  assert.deepEqual(load, { ns: 120e3, castNs: 30e3 });
  assert.equal(loadText(load), '120 µs, casts 25 %');
});

test('of a stream that did nothing nothing is said', () => {
  assert.equal(loadText(loadOf(summary())), '');
});
