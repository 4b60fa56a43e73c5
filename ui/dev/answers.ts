// The JSON routes of the API, for a made-up run.

import type { EventDetail, KindSum, Launch, Run, ShadeSum, Summary, SummaryRow, Track } from '../src/api/types.ts';
import { kFile } from './synth.ts';
import type { SynthRun } from './synth.ts';

export function runAnswer(run: SynthRun): Run {
  return {
    run_name: 'dev',
    run_file: '/home/you/project/train-20261121-110700.castscope',
    command: ['python', 'train.py', '--layers', '12'],
    cwd: '/home/you/project',
    root: '/home/you/project',
    host: 'trainer',
    castscope_version: '0.3',
    start: new Date(run.startMs).toISOString(),
    run_state: run.state,
    loaded: run.state === 'loading' ? 0.4 : 1,
    end_ns: run.state === 'live' ? null : run.newest,
    signal: null,
    exit_status: run.state === 'live' ? null : 0,
    complete: run.state !== 'live',
    damage: null,
    notices: [],
    totals: {
      casts: run.count,
      other_casts: 0,
      cache_hits: Math.round(run.count * 0.6),
      pass_throughs: 120,
      event_count: run.count,
      events_lost: 0,
      finding_count: 3,
      step_count: run.step,
      evaluation_count: 0,
      compiled_casts: 0,
    },
    processes: run.processes,
    tracks: run.tracks,
    shades: run.shades,
    events_begin_ns: 0,
    events_end_ns: run.newest,
    revision: run.count,
    definition_count: run.sites.length + run.kernels.length,
    judgement: Math.floor(run.step / 20),
  };
}

function detail(run: SynthRun, trackId: number, i: number): EventDetail {
  const track = run.tracks[trackId - 1];
  const events = run.events.get(trackId)!;
  const shade = run.shades[events.shade[i] - 1];
  return {
    track: trackId,
    process: track.process,
    lane: track.lane,
    subject: events.subject[i],
    shade: shade.shade,
    shade_kind: shade.shade_kind,
    begin_ns: events.begin[i],
    end_ns: Math.min(events.end[i], run.newest),
    open: events.end[i] > run.newest,
    step: Math.floor(events.begin[i] / 250e6) + 1,
    event_bytes: 3 * 2 ** 20,
    shape: track.track_kind === 'kernels' ? null : [768, 2304],
    cache_use: track.track_kind === 'kernels' ? null : shade.shade_kind === 'cache_hit' ? 'cache_hit' : shade.shade_kind === 'down' ? 'kept' : 'not_kept',
    why_not_cached: shade.shade_kind === 'up' ? 'not a leaf' : null,
    frames: [
      { file: kFile, line: 41, function: 'forward' },
      { file: kFile, line: 90, function: 'train' },
      { file: '/home/you/project/train.py', line: 12, function: '<module>' },
    ],
    stack_truncated: false,
    region: { region: 1, region_label: 'autocast(cpu, bfloat16)' },
    in_file: true,
    launch: track.track_kind === 'kernels' ? launchOf(run, track, events.begin[i], events.subject[i]) : null,
  };
}

const kWaitedNs = 30_000;

/** By the cast of its site that is nearest. */
function launchOf(run: SynthRun, track: Track, begin: number, kernel: number): Launch {
  const at = begin - kWaitedNs;
  const casts = run.tracks.find((one) => one.process === track.process && one.track_kind === 'casts')!;
  const found = run.kernels[kernel - 1]?.site ? eventAnswer(run, casts.track, at, 1e6) : null;
  return { gpu_index: track.gpu_index ?? 0, stream: track.stream ?? 0, grid_blocks: 96, threads_per_block: 256, launched_ns: at, launched_by: found };
}

export function eventAnswer(run: SynthRun, track: number, at: number, within: number): EventDetail | null {
  const events = run.events.get(track);
  if (!events) return null;
  let best = -1;
  let distance = within;
  for (let i = 0; i < events.begin.length; i += 1) {
    const off = Math.max(events.begin[i] - at, at - events.end[i], 0);
    if (off <= distance) {
      best = i;
      distance = off;
    }
  }
  return best < 0 ? null : detail(run, track, best);
}

export function neighbourAnswer(run: SynthRun, query: URLSearchParams): EventDetail | null {
  const at = Number(query.get('at_ns'));
  const next = query.get('direction') === 'next';
  const text = query.get('find') ?? '';
  const subject = query.has('subject') ? Number(query.get('subject')) : null;
  let best: [track: number, i: number, begin: number] | null = null;
  for (const track of run.tracks) {
    if (query.has('track') ? track.track !== Number(query.get('track')) : track.track_kind !== (query.get('track_kind') ?? 'casts')) continue;
    const events = run.events.get(track.track)!;
    for (let i = 0; i < events.begin.length; i += 1) {
      const begin = events.begin[i];
      if (next ? begin <= at : begin >= at) continue;
      if (subject !== null && events.subject[i] !== subject) continue;
      if (text !== '' && !run.textOf(track.track_kind, events.subject[i]).includes(text)) continue;
      if (best === null || (next ? begin < best[2] : begin > best[2])) best = [track.track, i, begin];
    }
  }
  return best === null ? null : detail(run, best[0], best[1]);
}

export function summaryAnswer(run: SynthRun, query: URLSearchParams): Summary {
  const from = Number(query.get('window_begin_ns'));
  const to = Number(query.get('window_end_ns'));
  const tracks = query.has('only_tracks') ? new Set(query.get('only_tracks')!.split(',').map(Number)) : null;
  const kinds = new Map<string, KindSum>();
  const shades = new Map<number, ShadeSum>();
  const rows = new Map<string, SummaryRow>();
  let events = 0;
  for (const track of run.tracks) {
    if (tracks && !tracks.has(track.track)) continue;
    const list = run.events.get(track.track)!;
    for (let i = 0; i < list.begin.length; i += 1) {
      if (list.begin[i] >= to || list.end[i] < from || list.begin[i] > run.newest) continue;
      events += 1;
      const kind = run.shades[list.shade[i] - 1].shade_kind;
      const ns = Math.min(list.end[i], to) - Math.max(list.begin[i], from);
      const whole = kinds.get(kind) ?? { shade_kind: kind, event_count: 0, window_ns: 0, event_bytes: 0 };
      kinds.set(kind, whole);
      whole.event_count += 1;
      whole.window_ns += ns;
      const alike = shades.get(list.shade[i]) ?? { shade: list.shade[i], event_count: 0, window_ns: 0, event_bytes: 0 };
      shades.set(list.shade[i], alike);
      alike.event_count += 1;
      alike.window_ns += ns;
      if (track.track_kind === 'steps' || track.track_kind === 'marks') continue;
      const key = `${track.track_kind} ${list.subject[i]} ${kind}`;
      const row = rows.get(key) ?? { track_kind: track.track_kind, subject: list.subject[i], shade_kind: kind, event_count: 0, window_ns: 0, event_bytes: 0 };
      rows.set(key, row);
      row.event_count += 1;
      row.window_ns += ns;
      row.event_bytes += kind === 'cache_hit' ? 0 : 3 * 2 ** 20;
    }
  }
  return {
    window_begin_ns: from,
    window_end_ns: to,
    exact: true,
    event_count: events,
    by_shade_kind: [...kinds.values()],
    by_shade: [...shades.values()],
    by_subject: [...rows.values()],
  };
}
