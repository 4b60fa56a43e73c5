// The routes of the API, each as a function. Every address is relative: the page does not know its own token.

import type * as told from './told.ts';
import type * as types from './types.ts';
import { Basin } from './basin.ts';
import { allParts } from './parts.ts';
import type { Part } from './parts.ts';
import { decodePicture } from './picture.ts';
import type { Picture } from './picture.ts';

/** The collector answered, but not with the requested data. Every other error that fetch throws is a lost
 * connection. */
export class Refused extends Error {
  readonly status: number;
  constructor(status: number, sentence: string) {
    super(sentence);
    this.status = status;
  }
}

export interface PictureQuery {
  begin: number;
  end: number;
  columns: number;
  tracks?: readonly number[];
  hide?: readonly number[];
  box?: number;
  find?: string;
  counters?: boolean;
}

const kBase = './api/v2/';
const kPatienceMs = 20_000;

async function get(path: string, signal?: AbortSignal): Promise<Response> {
  const patience = AbortSignal.timeout(kPatienceMs);
  const answer = await fetch(kBase + path, { signal: signal ? AbortSignal.any([patience, signal]) : patience, cache: 'no-store' });
  if (answer.ok) return answer;
  let sentence = `The collector answered ${answer.status}.`;
  try {
    const told: unknown = await answer.json();
    if (typeof told === 'object' && told !== null && 'detail' in told) sentence = String(told.detail);
  } catch {
    // The answer is not JSON: only the status is known.
  }
  throw new Refused(answer.status, sentence);
}

async function json<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await get(path, signal)).json()) as T;
}

function run(id: string, route = '', query: Record<string, string | number | undefined> = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
  const text = parameters.toString();
  return `runs/${encodeURIComponent(id)}${route === '' ? '' : `/${route}`}${text === '' ? '' : `?${text}`}`;
}

/** All of a list that comes in parts. */
function list<Answer extends Part, Entry>(path: string, of: (answer: Answer) => Entry[]): Promise<Entry[]> {
  return allParts((part) => json<Answer>(part), path, of);
}

const joined = (ids: readonly number[] | undefined) => (ids && ids.length > 0 ? ids.join(',') : undefined);

const basin = new Basin();

/** Nobody looks at this picture any more: another one may take its memory. */
export function release(picture: Picture | null): void {
  if (picture) basin.give(picture.memory);
}

export const api = {
  runs: () => list('runs', (answer: Part & { runs: types.RunEntry[] }) => answer.runs),
  /** With what each counted. */
  runsWithCounts: () => list('runs?with_counts=1', (answer: Part & { runs: types.RunEntry[] }) => answer.runs),
  run: (id: string) => json<types.Run>(run(id)),

  async picture(id: string, query: PictureQuery): Promise<Picture> {
    const answer = await get(
      run(id, 'picture', {
        window_begin_ns: Math.floor(query.begin),
        window_end_ns: Math.ceil(query.end),
        columns: query.columns,
        only_tracks: joined(query.tracks),
        hidden_shades: joined(query.hide),
        box_pixels: query.box,
        find: query.find === '' ? undefined : query.find,
        with_counters: query.counters ? 1 : undefined,
      }),
    );
    const { memory, length } = await basin.read(answer);
    return decodePicture(memory, length);
  },

  definitions: (id: string, known: { known_sites: number; known_regions: number; known_operator_uses: number; known_kernels: number }) =>
    json<types.DefinitionsAnswer>(run(id, 'definitions', known)),

  event: (id: string, track: number, at: number, within: number, shade?: number, find?: string) =>
    json<{ event: types.EventDetail | null }>(
      run(id, 'event', { track, at_ns: Math.round(at), tolerance_ns: Math.ceil(within), shade, find }),
    ).then((answer) => answer.event),

  neighbour: (
    id: string,
    at: number,
    direction: 'next' | 'previous',
    { hide, ...of }: { track?: number; track_kind?: types.TrackKind; subject?: number; find?: string; hide?: readonly number[] },
  ) =>
    json<{ event: types.EventDetail | null }>(
      run(id, 'neighbour', { at_ns: Math.round(at), direction, ...of, hidden_shades: joined(hide) }),
    ).then((answer) => answer.event),

  /** Why the text is no search; null: it is one. */
  searchProblem: (text: string) =>
    json<{ search_problem: string | null }>(`check_search?${new URLSearchParams({ find: text }).toString()}`).then((answer) => answer.search_problem),

  find: (id: string, text: string, hide: readonly number[]) =>
    json<types.FindAnswer>(run(id, 'find', { find: text, hidden_shades: joined(hide) })),

  fields: (id: string) => json<{ search_fields: types.SearchField[] }>(run(id, 'fields')).then((answer) => answer.search_fields),
  /** The most frequent values that have the text in them. */
  fieldValues: (id: string, field: string, text: string) =>
    json<{ field_values: types.FieldValue[] }>(run(id, 'fields', { search_field: field, part_of_value: text })).then((answer) => answer.field_values),

  summary: (id: string, begin: number, end: number, tracks?: readonly number[], hide?: readonly number[], find?: string) =>
    json<types.Summary>(
      run(id, 'summary', { window_begin_ns: Math.floor(begin), window_end_ns: Math.ceil(end), only_tracks: joined(tracks), hidden_shades: joined(hide), find }),
    ),

  /** Sums by kind only: `by_subject` is empty. */
  kinds: (id: string, begin: number, end: number, tracks?: readonly number[], find?: string) =>
    json<types.Summary>(
      run(id, 'summary', { window_begin_ns: Math.floor(begin), window_end_ns: Math.ceil(end), with_rows: 0, only_tracks: joined(tracks), find }),
    ),

  durations: (id: string, begin: number, end: number, of: { track_kind: types.TrackKind; subject?: number; tracks?: readonly number[]; hide?: readonly number[] }) =>
    json<told.Durations>(
      run(id, 'durations', { window_begin_ns: Math.floor(begin), window_end_ns: Math.ceil(end), track_kind: of.track_kind, subject: of.subject, only_tracks: joined(of.tracks), hidden_shades: joined(of.hide) }),
    ),

  findings: (id: string) =>
    list(run(id, 'findings'), (answer: Part & { findings: types.Finding[] }) => answer.findings),
  /** What the rules mean; the same for all runs. */
  rules: () => json<{ rules: told.RuleWords[] }>('rules').then((answer) => answer.rules),
  sites: (id: string) => list(run(id, 'sites'), (answer: Part & { sites: types.SiteCounts[] }) => answer.sites),
  modules: (id: string) =>
    json<{ models: { model: string; modules: types.ModuleRow[] }[] }>(run(id, 'modules')).then((answer) => answer.models),
  sourceFiles: (id: string) =>
    json<{ source_files: types.SourceFileRow[] }>(run(id, 'source')).then((answer) => answer.source_files),
  sourceFile: (id: string, file: string) => json<types.SourceFile>(run(id, 'source', { file })),
  behaviours: (id: string) => json<{ behaviours: told.Behaviour[] }>(run(id, 'behaviours')).then((answer) => answer.behaviours),
  stacks: (id: string) => json<told.Stacks>(run(id, 'stacks')),
  steps: (id: string) =>
    json<{ processes: types.ProcessSteps[] }>(run(id, 'steps')).then(
      (answer) => answer.processes,
    ),
  compare: (id: string, other: string) => json<told.Difference>(run(id, 'compare', { with_run: other })),
  /** Aborting ends the query at the collector, too. */
  query: (id: string, sql: string, signal: AbortSignal) => json<told.QueryAnswer>(run(id, 'query', { sql }), signal),
  changes: (id: string) => json<told.ChangesAnswer>(run(id, 'changes')),
  metrics: (id: string) => json<{ metrics: told.Metric[] }>(run(id, 'metrics')).then((answer) => answer.metrics),
  reportAddress: (id: string, format: string) => kBase + run(id, 'report', { format }),
};
