// The development server: the built page and a made-up run that speaks the collector's API.
//   node dev/server.ts [--port N] [--ranks N] [--lanes N] [--seconds N] [--live] [--layers N] [--state STATE]
//                      [--slow MS]    each answer takes so long
//                      [--collector URL]   the API of a real one, this page
// --seconds 0 makes an empty run, --layers 0 one with steps and marks alone.

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import { join, normalize } from 'node:path';
import { parseArgs } from 'node:util';
import type { FindAnswer, RunState } from '../src/api/types.ts';
import { eventAnswer, neighbourAnswer, runAnswer, summaryAnswer } from './answers.ts';
import { compareAnswer, durationsAnswer, findingsAnswer, metricsAnswer, modulesAnswer, queryAnswer, sitesAnswer, sourceAnswer, stepsAnswer } from './panels.ts';
import { encodePicture } from './picture.ts';
import { SynthRun } from './synth.ts';

const { values: options } = parseArgs({
  options: {
    port: { type: 'string', default: '8123' },
    ranks: { type: 'string', default: '2' },
    lanes: { type: 'string', default: '2' },
    layers: { type: 'string', default: '12' },
    seconds: { type: 'string', default: '20' },
    live: { type: 'boolean', default: false },
    state: { type: 'string' },
    slow: { type: 'string', default: '0' },
    collector: { type: 'string' },
  },
});
const run = new SynthRun(
  {
    ranks: Number(options.ranks),
    lanes: Number(options.lanes),
    layers: Number(options.layers),
    seconds: Number(options.seconds),
    live: options.live,
  },
  Date.now(),
);
if (options.state !== undefined) run.state = options.state as RunState;
if (run.state === 'live') setInterval(() => run.goOnTo((Date.now() - run.startMs) * 1e6), 25);

const kHeaders = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
    "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
};
const kTypes: Record<string, string> = { html: 'text/html; charset=utf-8', js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' };
const kNoRoute = JSON.stringify({ type: 'about:blank', title: 'Not Found', status: 404, detail: 'There is no such route.' });
const dist = join(import.meta.dirname, '..', 'dist');

async function page(response: ServerResponse, path: string): Promise<void> {
  const name = normalize(path === '' ? 'index.html' : path);
  const data = await readFile(join(dist, name));
  response.writeHead(200, { ...kHeaders, 'Content-Type': kTypes[name.split('.').pop() ?? ''] ?? 'application/octet-stream' });
  response.end(data);
}

/** Asks a real collector: its address is what `castscope view` prints. */
async function passOn(response: ServerResponse, path: string): Promise<void> {
  const answer = await fetch(options.collector + path);
  response.writeHead(answer.status, { ...kHeaders, 'Content-Type': answer.headers.get('Content-Type') ?? '' });
  response.end(Buffer.from(await answer.arrayBuffer()));
}

function list(text: string | null): Set<number> | null {
  return text === null ? null : new Set(text.split(',').map(Number));
}

function picture(query: URLSearchParams): Buffer {
  return encodePicture(
    run,
    {
      from: Number(query.get('window_begin_ns')),
      to: Number(query.get('window_end_ns')),
      columns: Number(query.get('columns')),
      tracks: list(query.get('only_tracks')),
      hide: list(query.get('hidden_shades')) ?? new Set(),
      box: Number(query.get('box_pixels') ?? 6),
      find: query.get('find') ?? '',
      counters: query.has('with_counters'),
    },
    Date.now(),
  );
}

function find(text: string): FindAnswer {
  const sites = run.sites.filter((site) => `${site.label} ${site.module}`.includes(text)).map((site) => site.site);
  const kernels = run.kernels.filter((kernel) => `${kernel.label} ${kernel.module}`.includes(text)).map((kernel) => kernel.kernel);
  return {
    site_ids: sites,
    operator_use_ids: [],
    region_ids: [],
    kernel_ids: kernels,
    casts_and_cache_hits: sites.length * run.step,
    event_count: sites.length * run.step,
    exact: true,
    by_shade_kind: [],
    first_event_ns: sites.length > 0 ? 0 : null,
  };
}

/** A few fields and values: what they find is the collector's business. */
function fields(query: URLSearchParams): object {
  const field = query.get('search_field') as 'operator' | 'module' | null;
  if (field === null) return { search_fields: [{ search_field: 'operator', field_meaning: 'the operator' }, { search_field: 'module', field_meaning: 'a module, and the modules in it' }] };
  const values = [...new Set(run.sites.map((site) => site[field] ?? ''))].filter((value) => value.includes(query.get('part_of_value') ?? ''));
  return { search_field: field, field_values: values.map((field_value) => ({ field_value, shown_name: null, event_count: run.step })), total: values.length };
}

function definitions(query: URLSearchParams): object {
  const after = (name: string) => Number(query.get(name) ?? 0);
  return {
    sites: run.sites.slice(after('known_sites')),
    regions: run.regions.slice(after('known_regions')),
    operator_uses: run.uses.slice(after('known_operator_uses')),
    kernels: run.kernels.slice(after('known_kernels')),
  };
}

function api(path: string, query: URLSearchParams): object | Buffer | null {
  if (path === 'runs') {
    const run_counts = { casts: run.count, cache_hits: 0, findings_by_severity: { error: 0, warning: 1, performance: 2, info: 0 } };
    const runs = [{ ...runAnswer(run), event_count: run.count, run_counts }, { ...runAnswer(run), run_name: 'train-yesterday', run_counts }];
    return { runs, total: runs.length, next: null };
  }
  if (path === 'check_search') return { search_problem: null };
  const route = path.replace(/^runs\/[^/]+\/?/, '');
  const number = (name: string) => Number(query.get(name));
  const routes: Record<string, () => object | Buffer> = {
    '': () => runAnswer(run),
    picture: () => picture(query),
    definitions: () => definitions(query),
    event: () => ({ event: eventAnswer(run, number('track'), number('at_ns'), number('tolerance_ns')) }),
    neighbour: () => ({ event: neighbourAnswer(run, query) }),
    find: () => find(query.get('find') ?? ''),
    fields: () => fields(query),
    summary: () => summaryAnswer(run, query),
    findings: () => ({ ...findingsAnswer(run), next: null }),
    sites: () => ({ ...sitesAnswer(run), next: null }),
    modules: () => modulesAnswer(run),
    source: () => sourceAnswer(query),
    steps: () => stepsAnswer(run),
    durations: () => durationsAnswer(),
    changes: () => ({ previous_run: null, changes: null }),
    metrics: () => metricsAnswer(run),
    compare: () => compareAnswer(run),
    query: () => queryAnswer(query.get('sql') ?? ''),
  };
  return routes[route]?.() ?? null;
}

createServer((request, response) => {
  const address = new URL(request.url ?? '/', 'http://localhost');
  const path = address.pathname.match(/^\/t\/dev\/(.*)$/)?.[1];
  const fail = () => response.writeHead(404).end();
  if (path === undefined) return void fail();
  if (!path.startsWith('api/v2/')) return void page(response, path).catch(fail);
  if (options.collector !== undefined) return void passOn(response, path + address.search).catch(fail);
  const answer = api(path.slice('api/v2/'.length), address.searchParams);
  if (answer === null) return void response.writeHead(404, { ...kHeaders, 'Content-Type': 'application/problem+json' }).end(kNoRoute);
  const binary = Buffer.isBuffer(answer);
  setTimeout(() => {
    response.writeHead(200, { ...kHeaders, 'Content-Type': binary ? 'application/octet-stream' : 'application/json' });
    response.end(binary ? answer : JSON.stringify(answer));
  }, Number(options.slow));
}).listen(Number(options.port), '127.0.0.1', () => console.log(`http://127.0.0.1:${options.port}/t/dev/`));
