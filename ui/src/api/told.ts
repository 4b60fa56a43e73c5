// Further answers of the collector (docs/openapi.json): of what is asked on request, not followed.

import type { Place, Severity } from './types.ts';

/** The rows of a query in SQL. */
export interface QueryAnswer {
  result_columns: string[];
  result_rows: (string | number | null)[][];
  rows_left_out: number;
  cells_cut: number;
  /** Why it was ended early; null: it came to its end. */
  query_stopped: string | null;
}

/** What changed since the last run of the same command. */
export interface ChangesAnswer {
  /** null: there is none. */
  previous_run: string | null;
  changes: {
    differs: boolean;
    doubts: string[];
    total_changes: Record<string, { before: number; after: number }>;
    finding_changes: { new_findings: DiffFinding[]; fixed_findings: DiffFinding[] };
  } | null;
}

export interface DiffFinding {
  rule: string;
  severity: Severity;
  title: string;
  file: string | null;
  line: number | null;
}

/** A number of the steps: the loss, say, or the scale of gradients. */
export interface Metric {
  process: number;
  metric_name: string;
  /** "castscope.metric", or "GradScaler". */
  metric_source: string;
  missing_values: number;
  not_finite_values: number;
  first_not_finite_step: number | null;
  /** From the first step on, one of so many steps has its value below. */
  kept_every: number;
  /** null: it was not finite. */
  step_values: { step: number; metric_value: number | null }[];
}

/** How long the events of a window took. */
export interface Durations {
  event_count: number;
  /** Those that the timeline still has one by one; shortest to longest, and the bars, are of these. */
  single_events: number;
  exact: boolean;
  events_ns: number;
  window_ns: number;
  event_bytes: number;
  /** null: no event is single. */
  shortest_ns: number | null;
  median_ns: number | null;
  p95_ns: number | null;
  longest_ns: number | null;
  duration_bars: { least_ns: number; below_ns: number; event_count: number }[];
  step_count: number;
  steps_ns: number;
  /** For so much of the window no events of a process are kept. */
  not_kept_ns: number;
}

/** What a rule means, the same for each of its findings. */
export interface RuleWords {
  rule: string;
  summary: string;
  what_happens: string;
  why_it_matters: string;
}

/** Where casts and operators were called from: nodes are numbered from 1, and 0 stands for no stack. */
export interface Stacks {
  frames: Place[];
  node_frames: number[];
  node_parents: number[];
  /** By the number of the site or use, less one. */
  site_nodes: number[];
  operator_use_nodes: number[];
}

/** What one step of a behaviour does. */
export interface Behaviour {
  behaviour: number;
  sites: { site: number; casts: number; cache_hits: number }[];
}

export interface DiffSite {
  operator: string | null;
  argument: string | null;
  from_dtype: string;
  to_dtype: string;
  casts: number;
  cache_hits: number;
  bytes: number;
  cpu_ns: number;
  file: string | null;
  line: number | null;
}

export interface BeforeAndAfter {
  before: number;
  after: number;
}

export interface DiffOperator {
  file: string | null;
  line: number | null;
  module: string | null;
  operator: string;
  computed_in: string;
  /** Why it computed in a half: "arguments", "autocast" and so on; null: it did not. */
  half_from: string | null;
}

/** What differs between two runs (docs/diff.schema.json). */
export interface Difference {
  differs: boolean;
  per_step: boolean;
  total_changes: Record<string, BeforeAndAfter>;
  doubts: string[];
  finding_changes: { new_findings: DiffFinding[]; fixed_findings: DiffFinding[] };
  /** Operators that computed in another dtype; what autocast's lists do not explain comes first. */
  precision_changes: { before: DiffOperator | null; after: DiffOperator | null; in_part: boolean }[];
  new_in_a_half: DiffOperator[];
  metric_changes: { metric_name: string; first_value: BeforeAndAfter; last_value: BeforeAndAfter }[];
  site_changes: { change: string; by_time_alone: boolean; before: DiffSite | null; after: DiffSite | null }[];
}
