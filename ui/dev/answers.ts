// The JSON routes of the API, for a made-up run.

import type { EventDetail, Launch, Run, SummaryRow, Track } from '../src/api/types.ts';
import { kFile } from './synth.ts';
import type { SynthRun } from './synth.ts';

export function runAnswer(run: SynthRun): Run {
  return {
    id: 'dev',
    name: 'train-20261121-110700',
    file: '/home/you/project/train-20261121-110700.castscope',
    command: ['python', 'train.py', '--layers', '12'],
    cwd: '/home/you/project',
    host: 'trainer',
    castscope_version: '0.3',
    start: new Date(run.startMs).toISOString(),
    state: run.state,
    loaded: run.state === 'loading' ? 0.4 : 1,
    end_ns: run.state === 'live' ? null : run.newest,
    signal: null,
    exit_status: run.state === 'live' ? null : 0,
    complete: run.state !== 'live',
    damage: null,
    notices: [],
    totals: {
      casts: run.count,
      cache_hits: Math.round(run.count * 0.6),
      pass_through: 120,
      events: run.count,
      dropped_events: 0,
      findings: 3,
      steps: run.step,
    },
    processes: run.processes,
    tracks: run.tracks,
    shades: run.shades,
    begin: 0,
    newest: run.newest,
    revision: run.count,
    definitions: run.sites.length + run.kernels.length,
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
    shade: shade.id,
    kind: shade.kind,
    begin: events.begin[i],
    end: Math.min(events.end[i], run.newest),
    open: events.end[i] > run.newest,
    step: Math.floor(events.begin[i] / 250e6) + 1,
    bytes: 3 * 2 ** 20,
    shape: track.track === 'kernels' ? null : [768, 2304],
    cache: track.track === 'kernels' ? null : shade.kind === 'hit' ? 'hit' : shade.kind === 'down' ? 'kept' : 'not kept',
    why: shade.kind === 'up' ? 'not a leaf' : null,
    stack: [
      { file: kFile, line: 41, function: 'forward' },
      { file: kFile, line: 90, function: 'train' },
      { file: '/home/you/project/train.py', line: 12, function: '<module>' },
    ],
    truncated: false,
    region: { id: 1, name: 'autocast(cpu, bfloat16)' },
    in_file: true,
    launch: track.track === 'kernels' ? launchOf(run, track, events.begin[i], events.subject[i]) : null,
  };
}

const kWaitedNs = 30_000;

/** By the cast of its site that is nearest. */
function launchOf(run: SynthRun, track: Track, begin: number, kernel: number): Launch {
  const at = begin - kWaitedNs;
  const casts = run.tracks.find((one) => one.process === track.process && one.track === 'casts')!;
  const found = run.kernels[kernel - 1]?.site ? eventAnswer(run, casts.id, at, 1e6) : null;
  return { device: track.device ?? 0, stream: track.stream ?? 0, blocks: 96, threads: 256, at, by: found };
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
  const at = Number(query.get('at'));
  const next = query.get('direction') === 'next';
  const text = query.get('find') ?? '';
  const subject = query.has('subject') ? Number(query.get('subject')) : null;
  let best: [track: number, i: number, begin: number] | null = null;
  for (const track of run.tracks) {
    if (query.has('track') ? track.id !== Number(query.get('track')) : track.track !== (query.get('kind') ?? 'casts')) continue;
    const events = run.events.get(track.id)!;
    for (let i = 0; i < events.begin.length; i += 1) {
      const begin = events.begin[i];
      if (next ? begin <= at : begin >= at) continue;
      if (subject !== null && events.subject[i] !== subject) continue;
      if (text !== '' && !run.textOf(track.track, events.subject[i]).includes(text)) continue;
      if (best === null || (next ? begin < best[2] : begin > best[2])) best = [track.id, i, begin];
    }
  }
  return best === null ? null : detail(run, best[0], best[1]);
}

export function summaryAnswer(run: SynthRun, query: URLSearchParams): object {
  const from = Number(query.get('from'));
  const to = Number(query.get('to'));
  const tracks = query.has('tracks') ? new Set(query.get('tracks')!.split(',').map(Number)) : null;
  const kinds = new Map<string, { kind: string; count: number; ns: number; bytes: number }>();
  const rows = new Map<string, SummaryRow>();
  let events = 0;
  for (const track of run.tracks) {
    if (tracks && !tracks.has(track.id)) continue;
    const list = run.events.get(track.id)!;
    for (let i = 0; i < list.begin.length; i += 1) {
      if (list.begin[i] >= to || list.end[i] < from || list.begin[i] > run.newest) continue;
      events += 1;
      const kind = run.shades[list.shade[i] - 1].kind;
      const ns = Math.min(list.end[i], to) - Math.max(list.begin[i], from);
      const whole = kinds.get(kind) ?? { kind, count: 0, ns: 0, bytes: 0 };
      kinds.set(kind, whole);
      whole.count += 1;
      whole.ns += ns;
      if (track.track === 'steps' || track.track === 'marks') continue;
      const key = `${track.track} ${list.subject[i]} ${kind}`;
      const row = rows.get(key) ?? { track: track.track, subject: list.subject[i], kind, count: 0, ns: 0, bytes: 0 };
      rows.set(key, row);
      row.count += 1;
      row.ns += ns;
      row.bytes += kind === 'hit' ? 0 : 3 * 2 ** 20;
    }
  }
  return { from, to, exact: true, events, kinds: [...kinds.values()], rows: [...rows.values()] };
}
