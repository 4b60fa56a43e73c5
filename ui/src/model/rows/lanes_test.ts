import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Process, Track, TrackKind } from '../../api/types.ts';
import { laneKey, layoutOf, processKey, processName, rowOf, siblingsOf, tracksOf, visibleRows } from './lanes.ts';

const process = (id: number): Process => ({ process: id, label: 'python', rank: id - 1, pid: 100 + id, host: 'h', begin_ns: 0, end_kind: null, events_not_kept: [], gpu_seats: [] });

function run(processes: number, lanes: number): { processes: Process[]; tracks: Track[] } {
  const tracks: Track[] = [];
  const add = (at: number, lane: number, track: TrackKind) =>
    tracks.push({ track: tracks.length + 1, process: at, lane, track_kind: track, row_depth: 0, gpu_index: null, stream: null, label: lane === 1 ? 'main' : `worker ${lane}` });
  for (let p = 1; p <= processes; p += 1) {
    add(p, 0, 'steps');
    for (let lane = 1; lane <= lanes; lane += 1) for (const kind of ['marks', 'regions', 'casts'] as const) add(p, lane, kind);
  }
  return { processes: Array.from({ length: processes }, (_, i) => process(i + 1)), tracks };
}

function layout(size: [processes: number, lanes: number], more = {}) {
  const { processes, tracks } = run(...size);
  return layoutOf(processes, tracks, { collapsed: new Set(), pinned: [], order: [], filter: '', roomPx: 0, ...more });
}

const names = (rows: { key: string }[]) => rows.map((row) => row.key);

test('each process, then its lanes; rows follow each other without gaps', () => {
  const { rows, height } = layout([2, 2]);
  assert.deepEqual(names(rows), ['p1', 'p1.1', 'p1.2', 'p2', 'p2.1', 'p2.2']);
  let y = 0;
  for (const row of rows) {
    assert.equal(row.y, y);
    y += row.height;
  }
  assert.equal(height, y);
});

test('regions are the background of their lane, not a row of it', () => {
  const lane = layout([1, 1]).rows[1];
  assert.ok(lane.kind === 'lane' && lane.regions?.track_kind === 'regions');
  assert.deepEqual(lane.tracks.map((one) => one.track.track_kind), ['marks', 'casts']);
});

test('a folded process hides its lanes, a folded lane shows only casts', () => {
  assert.deepEqual(names(layout([2, 2], { collapsed: new Set([processKey(1)]) }).rows), ['p1', 'p2', 'p2.1', 'p2.2']);
  const lane = layout([1, 1], { collapsed: new Set([laneKey(1, 1)]) }).rows[1];
  assert.ok(lane.kind === 'lane' && lane.collapsed && lane.tracks.length === 1);
});

test('pinned lanes lie apart, in the order they were pinned', () => {
  const { pinned, pinnedHeight, rows } = layout([2, 2], { pinned: ['p2.2', 'p1.1', 'p9.9'] });
  assert.deepEqual(names(pinned), ['p2.2', 'p1.1']);
  assert.equal(pinnedHeight, pinned[0].height + pinned[1].height);
  assert.deepEqual(names(rows), ['p1', 'p1.2', 'p2', 'p2.1']);
});

test('rows stand where they were moved to, among their own', () => {
  const moved = layout([2, 3], { order: ['p2', 'p1', 'p1.3', 'p1.1', 'p1.2'] });
  assert.deepEqual(names(moved.rows), ['p2', 'p2.1', 'p2.2', 'p2.3', 'p1', 'p1.3', 'p1.1', 'p1.2']);
  assert.deepEqual(siblingsOf(moved, moved.rows[0]), ['p2', 'p1']);
  assert.deepEqual(siblingsOf(moved, moved.rows[5]), ['p1.3', 'p1.1', 'p1.2']);
});

test('each stream of a GPU is a row beside those of threads, with what runs at once below', () => {
  const { processes, tracks } = run(1, 2);
  const kernels = (id: number, device: number, stream: number, depth: number): Track => ({
    track: id, process: 1, lane: 2, track_kind: 'kernels', row_depth: depth, gpu_index: device, stream, label: `GPU ${device} stream ${stream}`,
  });
  const all = [...tracks, kernels(90, 0, 7, 0), kernels(91, 0, 7, 1), kernels(92, 0, 9, 0), kernels(93, 1, 7, 0)];
  const options = { pinned: [], order: [], filter: '', roomPx: 0 };
  const open = layoutOf(processes, all, { ...options, collapsed: new Set() });
  assert.deepEqual(names(open.rows), ['p1', 'p1.1', 'p1.2', 'p1.gpu0.7', 'p1.gpu0.9', 'p1.gpu1.7']);
  const stream = open.rows[3];
  assert.ok(stream.kind === 'lane' && stream.name === 'GPU 0 stream 7');
  assert.deepEqual(stream.tracks.map((one) => one.track.track), [90, 91]);
  const folded = layoutOf(processes, all, { ...options, collapsed: new Set(['p1.gpu0.7']) }).rows[3];
  assert.ok(folded.kind === 'lane' && folded.collapsed);
  assert.deepEqual(folded.tracks.map((one) => one.track.track), [90]);
});

test('a filter keeps lanes by name and the processes that have any', () => {
  assert.deepEqual(names(layout([2, 3], { filter: 'WORKER 3' }).rows), ['p1', 'p1.3', 'p2', 'p2.3']);
  assert.deepEqual(names(layout([2, 3], { filter: 'rank 1' }).rows), ['p2', 'p2.1', 'p2.2', 'p2.3']);
});

test('many lanes are thin until one is opened', () => {
  const many = layout([8, 64]);
  assert.ok(many.rows.every((row) => row.kind === 'process' || row.collapsed));
  const opened = layout([8, 64], { collapsed: new Set(['p1.1']) }).rows[1];
  assert.ok(opened.kind === 'lane' && !opened.collapsed);
});

test('of 512 lanes only those in sight are asked for', () => {
  const { rows } = layout([8, 64]);
  const seen = visibleRows(rows, 3000, 700);
  assert.ok(seen.length < 60);
  for (const row of seen) assert.ok(row.y + row.height > 3000 && row.y < 3700);
  const before = rows[rows.indexOf(seen[0]) - 1];
  assert.ok(before.y + before.height <= 3000);
  assert.ok(tracksOf(seen).length < 200);
});

test('few rows grow into the room that there is', () => {
  const small = layout([1, 1]).height;
  const grown = layout([1, 1], { roomPx: 800 }).height;
  assert.ok(grown > small && grown <= 800);
});

test('where there is much room, rows of casts take it, up to a height that is enough', () => {
  const casts = (roomPx: number) => {
    const lane = layout([1, 2], { roomPx }).rows[1];
    return lane.kind === 'lane' ? lane.tracks.find((one) => one.track.track_kind === 'casts')!.height : 0;
  };
  const heights = [0, 300, 600, 1200, 4000].map(casts);
  assert.deepEqual([...heights].sort((a, b) => a - b), heights);
  assert.ok(heights[0] >= 30 && heights[2] > 100 && heights[4] === 150, heights.join());
  assert.ok(layout([1, 2], { roomPx: 600 }).height <= 600);
});

test('with few lanes modules have rows, above operators', () => {
  const kindsOf = (lanes: number, collapsed = new Set<string>()) => {
    const { processes, tracks } = run(1, lanes);
    const more = (['modules', 'modules', 'operators'] as const).map((track_kind, i): Track => ({ ...tracks[1], track: 900 + i, track_kind, row_depth: i % 2 }));
    const ordered = [...tracks.slice(0, 3), ...more, ...tracks.slice(3)];
    const lane = layoutOf(processes, ordered, { collapsed, pinned: [], order: [], filter: '', roomPx: 0 }).rows[1];
    return lane.kind === 'lane' ? lane.tracks.map((one) => one.track.track_kind) : [];
  };
  assert.deepEqual(kindsOf(2), ['marks', 'modules', 'modules', 'operators', 'casts']);
  assert.deepEqual(kindsOf(9), ['marks', 'operators', 'casts']);
  assert.deepEqual(kindsOf(2, new Set(['p1.1'])), ['casts']);
});

test('a rank is told once', () => {
  assert.equal(processName(process(1)), 'rank 0 · python 101');
  assert.equal(processName({ ...process(1), label: 'rank 0, pid 101 on h' }), 'rank 0, pid 101 on h');
  assert.equal(processName({ ...process(1), label: 'pid 101 on h', rank: null }), 'pid 101 on h');
});

test('the row of a kernel is its stream, whichever lane tells of it', () => {
  const { processes, tracks } = run(1, 2);
  const kernels: Track = { ...tracks[1], track: 99, lane: 2, track_kind: 'kernels', gpu_index: 0, stream: 7 };
  const all = [...tracks, kernels];
  const options = { collapsed: new Set(['p1.2']), pinned: [], order: [], filter: '', roomPx: 0 };
  const made = layoutOf(processes, all, options);
  assert.equal(rowOf(made, kernels)?.key, 'p1.gpu0.7');
  assert.equal(rowOf(made, tracks.at(-1)!)?.key, 'p1.2');
  assert.equal(rowOf(made, tracks[0])?.key, 'p1');
});
