// What the panels ask for, of a made-up run.

import type { Durations, Metric, QueryAnswer } from '../src/api/told.ts';
import { kFile } from './synth.ts';
import type { SynthRun } from './synth.ts';

export function findingsAnswer(run: SynthRun): object {
  const place = (line: number) => ({ file: kFile, line, function: 'forward' });
  const one = (rule: string, severity: string, title: string, line: number, time: number, sites: number[]) => ({
    rule,
    severity,
    title,
    location: place(line),
    related: [place(20)],
    evidence: { casts: 1920, weight_count: 12, weight: 'blocks.0.mlp.weight', why_not_cached: 'no_requires_grad' },
    deep_only: rule === 'norm-low',
    savings: severity === 'performance' ? { ns_per_step: 1.4e6, share_of_step: 0.056, held_bytes: 3e6 } : null,
    fingerprint: `${rule}${line}`,
    fix: 'Move the cast out of the loop: cast the tensor once and hand it to both uses.',
    first_event_ns: run.events.get(5)?.begin.find((begin, i) => begin >= time && run.events.get(5)!.subject[i] === sites[0]) ?? null,
    track: 5,
    site_ids: sites,
  });
  return {
    judgement: Math.floor(run.step / 20),
    findings: [
      one('fp32-island', 'warning', 'A block is cast up to float32 and straight down again', 66, 1.2e9, [6]),
      one('weight-cast-each-step', 'performance', 'The same weight is cast anew in each step', 41, 0.4e9, [1, 2]),
      one('norm-low', 'info', 'layer_norm computes in float32, as autocast means it to', 57, 0.8e9, [3]),
    ],
  };
}

export function sitesAnswer(run: SynthRun): object {
  return {
    judgement: 1,
    sites: run.sites.map((site) => ({
      site: site.site,
      casts: run.step * (site.site % 5) + 3,
      cache_hits: site.argument === 'weight' ? run.step * 6 : 0,
      pass_throughs: 0,
      kept: 0,
      bytes: (site.site % 7) * 3e6,
      cpu_ns: (site.site % 11) * 1e6,
      traced: 0,
    })),
  };
}

export function modulesAnswer(run: SynthRun): object {
  const modules = run.sites
    .filter((site, i, all) => all.findIndex((one) => one.module === site.module) === i)
    .map((site) => ({
      module: site.module,
      module_type: site.operator === 'aten::layer_norm' ? 'LayerNorm' : 'Linear',
      casts: run.step * 2,
      cache_hits: run.step * 6,
      cpu_ns: run.step * 4e4,
      bytes: 3e6,
      calls_by_computed_in: site.operator === 'aten::layer_norm' ? { float32: 4 } : { bfloat16: 12, float32: 1 },
      casts_by_to_dtype: { [site.to_dtype ?? '']: 12 },
    }));
  return { models: [{ model: 'Transformer', modules }] };
}

export function sourceAnswer(query: URLSearchParams): object {
  const file = query.get('file');
  if (file === null) return { source_files: [{ file: kFile, casts: 2000, cache_hits: 5760, cpu_ns: 4e8 }] };
  const lines = Array.from({ length: 90 }, (_, i) => ({
    line: i + 1,
    source_text: i % 9 === 0 ? `def forward_${i}(self, x):` : `    x = self.layer${i}(x)  # line ${i + 1}`,
  }));
  return {
    file,
    source_state: 'kept',
    lines,
    casts_by_line: {
      41: { casts: 960, cache_hits: 5760, cpu_ns: 3e8, site_ids: [1, 2] },
      57: { casts: 480, cache_hits: 0, cpu_ns: 8e7, site_ids: [3] },
      66: { casts: 480, cache_hits: 0, cpu_ns: 2e7, site_ids: [6] },
    },
    rules_by_line: { 66: ['fp32-island'] },
  };
}

export function stepsAnswer(run: SynthRun): object {
  return {
    processes: run.processes.map((process) => ({
      process: process.process,
      step_runs: Array.from({ length: run.step }, (_, i) => ({
        first_step: i + 1,
        last_step: i + 1,
        begin_ns: i * 250e6,
        end_ns: (i + 1) * 250e6,
        casts: 60 + ((i * 7) % 13),
        cache_hits: 72,
        bytes: 90e6,
        cpu_ns: 8e6 + ((i * 31) % 17) * 1e5,
        most_cleared_bytes: 60e6,
        behaviour: 1,
        incomplete: false,
      })),
    })),
  };
}

export function compareAnswer(run: SynthRun): object {
  const at = { file: kFile, line: 41, function: 'forward', source_text: 'x = self.qkv(x)', phase: 'forward' };
  const site = (casts: number, to: string) => ({
    ...at, operator: 'aten::linear', argument: 'weight', cause: 'autocast', from_dtype: 'float32', to_dtype: to,
    casts, cache_hits: 300, bytes: 9e6, cpu_ns: 4e6,
  });
  return {
    document: 'diff',
    format: 2,
    format_minor: 0,
    before: { compared_file: 'a.castscope', complete: true },
    after: { compared_file: 'b.castscope', complete: true },
    differs: true,
    doubts: [],
    per_step: false,
    total_changes: { step_count: { before: 100, after: 100 }, casts: { before: 1200, after: run.count }, cache_hits: { before: 900, after: 950 } },
    finding_changes: {
      new_findings: [{ rule: 'fp32-island', severity: 'warning', file: kFile, line: 66, title: 'cast up and straight down', fingerprint: 'x' }],
      fixed_findings: [],
      unseen_before: [],
      unseen_after: [],
    },
    precision_changes: [],
    site_changes: [
      { change: 'new', by_time_alone: false, before: null, after: site(40, 'bfloat16') },
      { change: 'moved', by_time_alone: false, before: site(40, 'float16'), after: site(40, 'bfloat16') },
    ],
  };
}

/** The development server has no SQLite: it says what it was asked. */
export function queryAnswer(sql: string): QueryAnswer {
  return { result_columns: ['sql', 'length'], result_rows: [[sql, sql.length]], rows_left_out: 0, cells_cut: 0, query_stopped: null };
}

export function metricsAnswer(run: SynthRun): { metrics: Metric[] } {
  const step_values = Array.from({ length: run.step }, (_, step) => ({ step, metric_value: step % 40 === 39 ? null : 2 / (1 + step / 10) }));
  const loss = { metric_name: 'loss', metric_source: 'castscope.metric', missing_values: 0, not_finite_values: 0, first_not_finite_step: null, kept_every: 1, step_values };
  return { metrics: run.processes.map(({ process }) => ({ process, ...loss })) };
}

export function durationsAnswer(): Durations {
  const counts = [40, 900, 300, 12, 0, 1];
  const edges = [1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5];
  return {
    event_count: 1253, single_events: 1253, exact: true, events_ns: 4e6, window_ns: 4e6, event_bytes: 3e8,
    shortest_ns: 1200, median_ns: 3100, p95_ns: 7400, longest_ns: 61_000,
    duration_bars: counts.map((event_count, i) => ({ least_ns: edges[i], below_ns: edges[i + 1], event_count })),
    step_count: 12, steps_ns: 3e9, not_kept_ns: 0,
  };
}
