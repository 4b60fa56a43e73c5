// The answers of the collector (docs/openapi.json). Times are ns since the run began, always below 2^53; the wall clock
// is ISO 8601 text.

export type RunState = 'live' | 'finished' | 'lost' | 'loading' | 'gone';

export interface RunEntry {
  run_name: string;
  command: string[];
  host: string;
  /** When it began; null: the run cannot be read. */
  start: string | null;
  run_state: RunState;
  event_count: number;
  run_file: string | null;
  exit_status: number | null;
  signal: number | null;
  /** Only where it was asked for; null: it cannot be counted. */
  run_counts?: { casts: number; cache_hits: number; findings_by_severity: Record<Severity, number> } | null;
  /** Why the run cannot be read. */
  read_error?: string;
}

export interface Process {
  process: number;
  label: string;
  rank: number | null;
  pid: number;
  host: string;
  begin_ns: number;
  /** null: it still runs. */
  end_kind: string | null;
  /** When no kernels were timed because another program read the driver's records. */
  /** Stretches whose single events were not kept. */
  events_not_kept: { begin_ns: number; end_ns: number }[];
  gpu_seats: { begin_ns: number; end_ns: number | null; held_by: string }[];
}

export type TrackKind = 'steps' | 'regions' | 'modules' | 'operators' | 'casts' | 'marks' | 'kernels';

export interface Track {
  track: number;
  process: number;
  lane: number;
  track_kind: TrackKind;
  row_depth: number;
  /** For kernels: their stream. */
  gpu_index: number | null;
  stream: number | null;
  label: string;
}

/** The look of an interval: colours are chosen from it here. */
export interface Shade {
  shade: number;
  track_kind: TrackKind;
  shade_kind: string;
  shade_dtype: string | null;
  cause: string | null;
}

export interface Totals {
  /** By autocast. */
  casts: number;
  other_casts: number;
  cache_hits: number;
  pass_throughs: number;
  event_count: number;
  events_lost: number;
  finding_count: number;
  step_count: number;
  evaluation_count: number;
  compiled_casts: number;
}

export interface Run {
  run_name: string;
  run_file: string | null;
  command: string[];
  cwd: string;
  /** The folder that files under it are told from; null: every file is as the job had it. */
  root: string | null;
  host: string;
  castscope_version: string;
  start: string;
  run_state: RunState;
  loaded: number;
  end_ns: number | null;
  exit_status: number | null;
  /** The signal that killed the job. */
  signal: number | null;
  complete: boolean;
  damage: string | null;
  notices: string[];
  totals: Totals;
  processes: Process[];
  tracks: Track[];
  shades: Shade[];
  events_begin_ns: number;
  events_end_ns: number;
  revision: number;
  definition_count: number;
  judgement: number;
}

export interface Site {
  site: number;
  shade: number;
  label: string;
  operator: string | null;
  argument: string | null;
  role: string;
  /** null: the run goes on, and its code has not been read yet. */
  fingerprint: string | null;
  /** null: the site only counts pass-throughs. */
  from_dtype: string | null;
  to_dtype: string | null;
  cause: string;
  why_not_cached: string | null;
  phase: string;
  /** Of a cast in backward: the cast whose gradient it converts, where that is known. */
  forward_site: number | null;
  counts_pass_throughs: boolean;
  module: string | null;
  model: string | null;
  file: string | null;
  line: number | null;
  function: string | null;
  region: number | null;
}

export interface Region {
  region: number;
  label: string;
  region_dtype: string;
  enabled: boolean;
  cache_enabled: boolean;
  nesting: number;
  file: string | null;
  line: number | null;
  function: string | null;
}

export interface OperatorUse {
  operator_use: number;
  label: string;
  operator: string;
  node: string | null;
  argument_dtypes: string | null;
  computed_in: string | null;
  result_dtype: string | null;
  module: string | null;
  model: string | null;
  phase: string;
  region: number | null;
  file: string | null;
  line: number | null;
  function: string | null;
}

/** What a GPU did for a cast or an operator. */
export interface Kernel {
  kernel: number;
  label: string;
  kernel_name: string | null;
  gpu_work: string;
  launched_by_text: string | null;
  site: number | null;
  operator_use: number | null;
  operator: string | null;
  origin: string | null;
  replayed: boolean;
  module: string | null;
  model: string | null;
  file: string | null;
  line: number | null;
  function: string | null;
}

export interface DefinitionsAnswer {
  sites: Site[];
  regions: Region[];
  operator_uses: OperatorUse[];
  kernels: Kernel[];
}

export interface Place {
  file: string | null;
  line: number | null;
  function: string | null;
}

export interface Launch {
  gpu_index: number;
  stream: number;
  grid_blocks: number;
  threads_per_block: number;
  /** When it was launched; null: not known. */
  launched_ns: number | null;
  /** The cast that launched it, or else the operator; null: a replay, or no longer in memory. */
  launched_by: BriefEvent | null;
}

/** An event as far as the timeline knows it; EventDetail has more. */
export type BriefEvent = Pick<EventDetail, 'track' | 'subject' | 'shade_kind' | 'begin_ns' | 'end_ns'>;

export type LinkKind = 'filled_by' | 'serves' | 'consumed_by' | 'made_by' | 'goes_to';

export interface LinkedEvent {
  link_kind: LinkKind;
  event: BriefEvent;
}

export interface EventDetail {
  track: number;
  process: number;
  lane: number;
  subject: number;
  shade: number;
  shade_kind: string;
  begin_ns: number;
  end_ns: number;
  open: boolean;
  step: number | null;
  event_bytes: number | null;
  shape: number[] | null;
  linked_events?: LinkedEvent[];
  /** For a kernel: its launch, from the file. */
  launch?: Launch | null;
  cache_use: string | null;
  why_not_cached: string | null;
  frames?: Place[];
  stack_truncated?: boolean;
  region: { region: number; region_label: string } | null;
  in_file: boolean;
}

export interface KindSum {
  shade_kind: string;
  event_count: number;
  window_ns: number;
  event_bytes: number;
}

export interface ShadeSum {
  shade: number;
  event_count: number;
  window_ns: number;
  event_bytes: number;
}

export interface FindAnswer {
  site_ids: number[];
  operator_use_ids: number[];
  region_ids: number[];
  kernel_ids: number[];
  /** Casts and cache hits of the sites, in the whole run. */
  casts_and_cache_hits: number;
  /** Single events that the timeline still has. */
  event_count: number;
  exact: boolean;
  by_shade_kind: KindSum[];
  first_event_ns: number | null;
}

/** What a search can ask for: `cause:`. */
export interface SearchField {
  search_field: string;
  field_meaning: string;
}

export interface FieldValue {
  field_value: string;
  /** What the page prints for it; null: the value itself. */
  shown_name: string | null;
  event_count: number;
}

export interface SummaryRow {
  track_kind: TrackKind;
  subject: number;
  shade_kind: string;
  event_count: number;
  window_ns: number;
  event_bytes: number;
}

export interface Summary {
  window_begin_ns: number;
  window_end_ns: number;
  exact: boolean;
  event_count: number;
  by_shade_kind: KindSum[];
  by_shade: ShadeSum[];
  by_subject: SummaryRow[];
}

export type Severity = 'error' | 'warning' | 'performance' | 'info';

export interface Finding {
  rule: string;
  severity: Severity;
  /** What the job suffers: "results", "time" and so on (docs/report.schema.json). */
  harm: string;
  title: string;
  location: Place;
  related: Place[];
  evidence: Record<string, number | string>;
  deep_only: boolean;
  savings: { ns_per_step: number; share_of_step: number; held_bytes: number } | null;
  fingerprint: string;
  fix: string;
  first_event_ns: number | null;
  track: number | null;
  site_ids: number[];
}

export interface SiteCounts {
  site: number;
  casts: number;
  cache_hits: number;
  pass_throughs: number;
  kept: number;
  bytes: number;
  cpu_ns: number;
  traced: number;
}

export interface ModuleRow {
  module: string;
  module_type: string | null;
  casts: number;
  cache_hits: number;
  cpu_ns: number;
  bytes: number;
  calls_by_computed_in: Record<string, number>;
  casts_by_to_dtype: Record<string, number>;
}

export interface SourceFileRow {
  file: string;
  casts: number;
  cache_hits: number;
  cpu_ns: number;
}

export interface SourceFile {
  file: string;
  source_state: string;
  source_lines: { line: number; source_text: string }[];
  casts_by_line: Record<string, { casts: number; cache_hits: number; cpu_ns: number; site_ids: number[] }>;
  rules_by_line: Record<string, string[]>;
}

export interface StepRow {
  step_kind: 'training' | 'evaluation';
  /** Of the first one; steps and evaluations are numbered apart. */
  first_number: number;
  /** As the process numbers them, steps and evaluations together. */
  first_step: number;
  last_step: number;
  begin_ns: number;
  end_ns: number;
  casts: number;
  cache_hits: number;
  bytes: number;
  cpu_ns: number;
  most_cleared_bytes: number;
  behaviour: number | string | null;
  incomplete: boolean;
}

export interface ProcessSteps {
  process: number;
  step_runs: StepRow[];
}
