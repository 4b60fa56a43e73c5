// The answers of the collector (docs/openapi.json). Times are ns since the run began, always below 2^53; the wall clock
// is ISO 8601 text.

export type RunState = 'live' | 'finished' | 'lost' | 'loading' | 'gone';

export interface RunEntry {
  id: string;
  name: string;
  command: string[];
  host: string;
  /** When it began; null: the run cannot be read. */
  start: string | null;
  state: RunState;
  events: number;
  file: string | null;
  /** Why the run cannot be read. */
  trouble?: string;
}

export interface Process {
  id: number;
  name: string;
  rank: number | null;
  pid: number;
  host: string;
  device?: string | null;
  begin: number;
  end: number | null;
  state: string;
  /** When no kernels were timed because another program read the driver's records. */
  untimed?: { begin: number; end: number | null; held_by: string }[];
}

export type TrackKind = 'steps' | 'regions' | 'operators' | 'casts' | 'marks' | 'kernels';

export interface Track {
  id: number;
  process: number;
  lane: number;
  track: TrackKind;
  depth: number;
  /** For kernels: their stream. */
  device: number | null;
  stream: number | null;
  name: string;
}

/** The look of an interval: colours are chosen from it here. */
export interface Shade {
  id: number;
  track: TrackKind;
  kind: string;
  dtype: string | null;
  cause: string | null;
}

export interface Totals {
  casts: number;
  cache_hits: number;
  pass_through: number;
  events: number;
  dropped_events: number;
  findings: number;
  steps: number;
}

export interface Run {
  id: string;
  name: string;
  file: string | null;
  command: string[];
  cwd: string;
  host: string;
  castscope_version: string;
  start: string;
  state: RunState;
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
  begin: number;
  newest: number;
  revision: number;
  definitions: number;
  judgement: number;
}

export interface Site {
  id: number;
  shade: number;
  name: string;
  operator: string | null;
  argument: string | null;
  role: string;
  /** null: the site only counts pass-throughs. */
  from: string | null;
  to: string | null;
  cause: string;
  why_not_cached: string | null;
  phase: string;
  module: string | null;
  model: string | null;
  file: string | null;
  line: number | null;
  function: string | null;
  region: number | null;
}

export interface Region {
  id: number;
  name: string;
  dtype: string;
  enabled: boolean;
  cache: boolean;
  nesting: number;
  file: string | null;
  line: number | null;
  function: string | null;
}

export interface OperatorUse {
  id: number;
  name: string;
  operator: string;
  node: string | null;
  inputs: string | null;
  computed: string | null;
  result: string | null;
  module: string | null;
  model: string | null;
  phase: string;
  file: string | null;
  line: number | null;
  function: string | null;
}

/** What a GPU did for a cast or an operator. */
export interface Kernel {
  id: number;
  name: string;
  whole: string | null;
  work: string;
  purpose: string | null;
  site: number | null;
  use: number | null;
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
  uses: OperatorUse[];
  kernels: Kernel[];
}

export interface Place {
  file: string | null;
  line: number | null;
  function: string | null;
}

export interface Launch {
  device: number;
  stream: number;
  blocks: number;
  threads: number;
  /** When it was launched; null: not known. */
  at: number | null;
  /** The cast that launched it, or else the operator; null: a replay, or no longer in memory. */
  by: Pick<EventDetail, 'track' | 'subject' | 'kind' | 'begin' | 'end'> | null;
}

export interface EventDetail {
  track: number;
  process: number;
  lane: number;
  subject: number;
  shade: number;
  kind: string;
  begin: number;
  end: number;
  open: boolean;
  step: number | null;
  bytes: number | null;
  shape: number[] | null;
  /** For a kernel: its launch, from the file. */
  launch?: Launch | null;
  cache: string | null;
  why: string | null;
  stack?: Place[];
  truncated?: boolean;
  region: { id: number; name: string } | null;
  in_file: boolean;
}

export interface KindSum {
  kind: string;
  count: number;
  ns: number;
  bytes: number;
}

export interface FindAnswer {
  sites: number[];
  uses: number[];
  regions: number[];
  kernels: number[];
  /** Casts and cache hits of the sites, in the whole run. */
  count: number;
  /** Single events that the timeline still has. */
  events: number;
  exact: boolean;
  kinds: KindSum[];
  first: number | null;
}

export interface SummaryRow {
  track: TrackKind;
  subject: number;
  kind: string;
  count: number;
  ns: number;
  bytes: number;
}

export interface Summary {
  from: number;
  to: number;
  exact: boolean;
  events: number;
  kinds: KindSum[];
  rows: SummaryRow[];
}

export type Severity = 'error' | 'warning' | 'performance' | 'info';

export interface Finding {
  rule: string;
  severity: Severity;
  title: string;
  location: Place;
  related: Place[];
  evidence: Record<string, number | string>;
  deep_only: boolean;
  savings: { ns_per_step: number; share_of_step: number; held_bytes: number } | null;
  fingerprint: string;
  fix: string;
  time: number | null;
  track: number | null;
  sites: number[];
}

export interface SiteCounts {
  id: number;
  casts: number;
  hits: number;
  passes: number;
  kept: number;
  bytes: number;
  cpu_ns: number;
  traced: number;
}

export interface ModuleRow {
  path: string;
  type: string | null;
  casts: number;
  hits: number;
  cpu_ns: number;
  bytes: number;
  computed: Record<string, number>;
  cast_to: Record<string, number>;
}

export interface SourceFileRow {
  file: string;
  casts: number;
  cpu_ns: number;
}

export interface SourceFile {
  file: string;
  changed: boolean;
  missing: boolean;
  lines: { line: number; text: string }[];
  casts: Record<string, { casts: number; hits: number; cpu_ns: number; sites: number[] }>;
  findings: Record<string, string[]>;
}

export interface StepRow {
  first: number;
  last: number;
  begin: number;
  end: number;
  casts: number;
  hits: number;
  bytes: number;
  cpu_ns: number;
  cache_bytes: number;
  behaviour: number | string | null;
  incomplete: boolean;
}

export interface DiffSite {
  model: string | null;
  module: string | null;
  operator: string | null;
  argument: string | null;
  from: string;
  to: string;
  casts: number;
  cache_hits?: number;
  bytes: number;
  cpu_ns: number;
  location?: Place;
  file?: string | null;
  line?: number | null;
}

export interface Difference {
  differ: boolean;
  per_step: boolean;
  totals: Record<string, { before: number; after: number }>;
  findings: { new: Finding[]; fixed: Finding[] };
  sites: { change: string; by_time_alone: boolean; before: DiffSite | null; after: DiffSite | null }[];
}
