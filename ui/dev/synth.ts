// A made-up run for the development server: a transformer under autocast, as many ranks and lanes as one likes. It
// can be told to go on while somebody watches. Nothing of this is in the product.

import type { Kernel, OperatorUse, Process, Region, Run, Shade, Site, Track, TrackKind } from '../src/api/types.ts';
import { kKernelShades, kernelsOf } from './synth_kernels.ts';
import type { LayerKernels } from './synth_kernels.ts';

export interface Events {
  begin: number[];
  end: number[];
  shade: number[];
  subject: number[];
}

export interface SynthOptions {
  ranks: number;
  lanes: number;
  seconds: number;
  live: boolean;
  layers: number;
}

const kShades: Omit<Shade, 'shade'>[] = [
  { track_kind: 'casts', shade_kind: 'down', shade_dtype: 'bfloat16', cause: 'autocast' },
  { track_kind: 'casts', shade_kind: 'cache_hit', shade_dtype: 'bfloat16', cause: 'autocast' },
  { track_kind: 'casts', shade_kind: 'up', shade_dtype: 'float32', cause: 'autocast' },
  { track_kind: 'casts', shade_kind: 'up', shade_dtype: 'float32', cause: 'user_to' },
  { track_kind: 'casts', shade_kind: 'same', shade_dtype: 'float16', cause: 'promotion' },
  { track_kind: 'casts', shade_kind: 'pass_through', shade_dtype: 'bfloat16', cause: 'autocast' },
  { track_kind: 'casts', shade_kind: 'up', shade_dtype: 'float32', cause: 'backward' },
  { track_kind: 'regions', shade_kind: 'region', shade_dtype: 'bfloat16', cause: null },
  { track_kind: 'regions', shade_kind: 'region_off', shade_dtype: null, cause: null },
  { track_kind: 'steps', shade_kind: 'step', shade_dtype: null, cause: null },
  { track_kind: 'steps', shade_kind: 'step_deep', shade_dtype: null, cause: null },
  { track_kind: 'marks', shade_kind: 'cache_clear', shade_dtype: null, cause: null },
  { track_kind: 'marks', shade_kind: 'optimizer_step', shade_dtype: null, cause: null },
  { track_kind: 'operators', shade_kind: 'operator', shade_dtype: 'bfloat16', cause: null },
  { track_kind: 'operators', shade_kind: 'operator', shade_dtype: 'float32', cause: null },
  ...kKernelShades,
];

const shadeOf = (kind: string, dtype: string | null, cause: string | null): number =>
  kShades.findIndex((shade) => shade.shade_kind === kind && shade.shade_dtype === dtype && shade.cause === cause) + 1;

export const kFile = '/home/you/project/model.py';

function sitesOf(layers: number): Site[] {
  const sites: Site[] = [];
  const add = (module: string, op: string, argument: string, from: string, to: string, cause: string, line: number) => {
    const id = sites.length + 1;
    const kind = to === 'float32' ? 'up' : 'down';
    sites.push({
      site: id,
      shade: shadeOf(kind, to, cause),
      label: `${op} ${argument}, ${from} to ${to}`,
      operator: `aten::${op}`,
      argument,
      role: argument === 'weight' || argument === 'bias' ? 'weight' : 'activation',
      from_dtype: from,
      to_dtype: to,
      cause,
      why_not_cached: argument === 'input' ? 'not_leaf' : null,
      phase: cause === 'backward' ? 'backward' : 'forward',
      forward_site: null,
      counts_pass_throughs: false,
      fingerprint: null,
      module,
      model: 'Transformer',
      file: kFile,
      line,
      function: 'forward',
      region: 1,
    });
  };
  for (let i = 0; i < layers; i += 1) {
    add(`blocks.${i}.attention.qkv`, 'linear', 'weight', 'float32', 'bfloat16', 'autocast', 41);
    add(`blocks.${i}.attention.qkv`, 'linear', 'input', 'float32', 'bfloat16', 'autocast', 41);
    add(`blocks.${i}.norm`, 'layer_norm', 'input', 'bfloat16', 'float32', 'autocast', 57);
    add(`blocks.${i}.mlp`, 'linear', 'weight', 'float32', 'bfloat16', 'autocast', 63);
    add(`blocks.${i}.mlp`, 'linear', 'grad', 'bfloat16', 'float32', 'backward', 63);
    add(`blocks.${i}.mlp`, 'to', 'self', 'bfloat16', 'float32', 'user_to', 66);
  }
  return sites;
}

export class SynthRun {
  readonly options: SynthOptions;
  readonly tracks: Track[] = [];
  readonly processes: Process[] = [];
  readonly shades: Shade[] = kShades.map((shade, i) => ({ shade: i + 1, ...shade }));
  readonly sites: Site[];
  readonly regions: Region[];
  readonly uses: OperatorUse[];
  readonly kernels: Kernel[];
  private readonly layers: LayerKernels[];
  readonly events = new Map<number, Events>();
  readonly startMs: number;
  state: Run['run_state'];
  newest = 0;
  count = 0;
  step = 0;
  private seed = 7;

  constructor(options: SynthOptions, nowMs: number) {
    this.options = options;
    this.state = options.live ? 'live' : 'finished';
    this.startMs = nowMs - options.seconds * 1000;
    this.sites = sitesOf(options.layers);
    const at = { file: kFile, line: 20, function: 'train' };
    this.regions = [
      { region: 1, label: 'autocast(cpu, bfloat16)', region_dtype: 'bfloat16', enabled: true, cache_enabled: true, nesting: 0, ...at },
      { region: 2, label: 'autocast(enabled=False)', region_dtype: 'float32', enabled: false, cache_enabled: true, nesting: 1, ...at },
    ];
    this.uses = ['linear', 'layer_norm', 'gelu', 'softmax'].map((op, i) => ({
      operator_use: i + 1,
      label: `${op} in ${i === 1 || i === 3 ? 'float32' : 'bfloat16'}`,
      operator: `aten::${op}`,
      node: null,
      argument_dtypes: 'bfloat16 activation',
      computed_in: i === 1 || i === 3 ? 'float32' : 'bfloat16',
      result_dtype: 'bfloat16',
      module: 'blocks.0',
      model: 'Transformer',
      phase: 'forward',
      region: 1,
      ...at,
    }));
    this.layers = kernelsOf(options.layers, this.sites, this.uses);
    this.kernels = this.layers.flatMap((layer) => [layer.weight, layer.input, layer.product, layer.norm]);
    this.makeTracks();
    this.goOnTo(options.seconds * 1e9);
  }

  /** What a search looks in. */
  textOf(track: TrackKind, subject: number): string {
    const named: Partial<Record<TrackKind, readonly (Site | OperatorUse | Kernel)[]>> = { casts: this.sites, operators: this.uses, kernels: this.kernels };
    const of = named[track]?.[subject - 1];
    return of ? `${of.label} ${of.module} ${of.file}` : '';
  }

  private random(): number {
    this.seed = (this.seed * 1664525 + 1013904223) >>> 0;
    return this.seed / 2 ** 32;
  }

  private makeTracks(): void {
    for (let rank = 0; rank < this.options.ranks; rank += 1) {
      const process = rank + 1;
      this.processes.push({
        process,
        label: 'python',
        rank: this.options.ranks > 1 ? rank : null,
        pid: 4100 + rank,
        host: 'trainer',
        begin_ns: 0,
        end_kind: this.options.live ? null : 'exited',
        events_not_kept: [], gpu_seats: rank === 0 ? [{ begin_ns: 1.12e9, end_ns: 1.24e9, held_by: 'torch.profiler' }] : [],
      });
      const add = (lane: number, track: TrackKind, depth: number, name: string, stream: number | null = null) => {
        const id = this.tracks.length + 1;
        this.tracks.push({ track: id, process, lane, track_kind: track, row_depth: depth, gpu_index: stream === null ? null : 0, stream, label: name });
        this.events.set(id, { begin: [], end: [], shade: [], subject: [] });
      };
      add(0, 'steps', 0, 'steps');
      for (let lane = 1; lane <= this.options.lanes; lane += 1) {
        const name = lane === 1 ? 'main thread' : lane === 2 ? 'backward thread' : `thread ${lane}`;
        add(lane, 'marks', 0, name);
        add(lane, 'regions', 0, name);
        add(lane, 'operators', 0, name);
        add(lane, 'casts', 0, name);
      }
      // The thread that reads the driver's records has a lane of its own.
      for (const stream of [7, 20]) add(this.options.lanes + 1, 'kernels', 0, `GPU 0 stream ${stream}`, stream);
    }
  }

  private put(track: Track, begin: number, end: number, shade: number, subject: number): void {
    const events = this.events.get(track.track)!;
    const last = events.end.length > 0 ? events.end[events.end.length - 1] : 0;
    const from = Math.max(Math.round(begin), last);
    events.begin.push(from);
    events.end.push(Math.max(Math.round(end), from));
    events.shade.push(shade);
    events.subject.push(subject);
    this.count += 1;
    this.newest = Math.max(this.newest, end);
  }

  private one(process: number, lane: number, kind: TrackKind): Track {
    return this.tracks.find((track) => track.process === process && track.lane === lane && track.track_kind === kind)!;
  }

  /** Adds whole steps until the run reaches `ns`. */
  goOnTo(ns: number): void {
    const kStep = 250e6;
    while (this.step * kStep < ns) {
      const from = this.step * kStep;
      this.step += 1;
      const deep = this.step % 10 === 3;
      for (const process of this.processes) {
        this.put(this.one(process.process, 0, 'steps'), from, from + kStep, deep ? 11 : 10, this.step);
        for (let lane = 1; lane <= this.options.lanes; lane += 1) this.oneStep(process.process, lane, from, kStep, deep);
      }
    }
    this.newest = Math.min(this.newest, Math.max(ns, 1));
  }

  private oneStep(process: number, lane: number, from: number, length: number, deep: boolean): void {
    const casts = this.one(process, lane, 'casts');
    const operators = this.one(process, lane, 'operators');
    const regions = this.one(process, lane, 'regions');
    const forward = length * 0.45;
    let at = from + length * 0.02 * this.random();
    const perLayer = forward / this.options.layers;
    for (let layer = 0; layer < this.options.layers; layer += 1, at += perLayer) {
      const site = layer * 6;
      this.put(regions, at, at + perLayer * 0.7, 8, 1);
      this.put(regions, at + perLayer * 0.7, at + perLayer, 9, 2);
      if (lane % 2 === 1) {
        this.put(casts, at, at + perLayer * (0.05 + 0.1 * this.random()), shadeOf('down', 'bfloat16', 'autocast'), site + 1);
        for (let i = 0; i < 6; i += 1)
          this.put(casts, at + perLayer * (0.2 + i * 0.02), at + perLayer * (0.2 + i * 0.02), 2, site + 1);
        this.put(casts, at + perLayer * 0.33, at + perLayer * 0.34, 1, site + 4);
        this.put(casts, at + perLayer * 0.35, at + perLayer * 0.42, 1, site + 2);
        if (deep) this.put(casts, at + perLayer * 0.45, at + perLayer * 0.45, 6, site + 2);
        this.put(casts, at + perLayer * 0.6, at + perLayer * (0.62 + 0.08 * this.random()), 3, site + 3);
        this.put(casts, at + perLayer * 0.8, at + perLayer * 0.83, 4, site + 6);
      }
      if (deep) {
        this.put(operators, at + perLayer * 0.1, at + perLayer * 0.55, 14, 1);
        this.put(operators, at + perLayer * 0.6, at + perLayer * 0.75, 15, 2);
      }
    }
    if (lane % 2 === 0) {
      for (let layer = this.options.layers - 1; layer >= 0; layer -= 1, at += perLayer * 0.8)
        this.put(casts, at, at + perLayer * 0.3 * this.random(), 7, layer * 6 + 5);
    }
    const marks = this.one(process, lane, 'marks');
    this.put(marks, from + length * 0.5, from + length * 0.5, 12, 0);
    if (lane === 1) this.put(marks, from + length * 0.95, from + length * 0.95, 13, 0);
    if (lane === 1) this.launchStep(process, from, length);
  }

  /** The device is behind the thread by the time that its products take. */
  private launchStep(process: number, from: number, length: number): void {
    const [stream, copies] = this.tracks.filter((track) => track.process === process && track.track_kind === 'kernels');
    const perLayer = (length * 0.45) / this.options.layers;
    this.put(copies, from + length * 0.01, from + length * 0.04, shadeOf('gpu_copy', null, null), 0);
    for (const [layer, kernels] of this.layers.entries()) {
      const at = from + layer * perLayer;
      const one = (share: number, long: number, kind: string, dtype: string, kernel: Kernel) =>
        this.put(stream, at + perLayer * share, at + perLayer * (share + long * (0.8 + 0.4 * this.random())), shadeOf(kind, dtype, kind === 'kernel' ? null : 'autocast'), kernel.kernel);
      one(0.15, 0.04, 'cast_kernel', 'bfloat16', kernels.weight);
      one(0.4, 0.08, 'cast_kernel', 'bfloat16', kernels.input);
      for (let i = 0; i < 6; i += 1) one(0.5 + 0.03 * i, 0.025, 'kernel', 'bfloat16', kernels.product);
      one(0.75, 0.06, 'kernel', 'float32', kernels.norm);
    }
  }
}
