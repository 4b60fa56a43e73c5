// Finds steps beside each other, which are compared as two stretches.

import { api } from './api/client.ts';
import type { Run } from './api/types.ts';
import type { State } from './model/state.ts';
import type { Area } from './model/url_state.ts';

export interface Step extends Area {
  number: number;
}

/** The track of the steps of the process that these tracks are of; of the first process, where they are of several. */
function stepsTrack(run: Run, tracks: number[] | null, process: number | null = null) {
  const of = process ?? run.tracks.find((one) => tracks?.includes(one.track))?.process ?? null;
  const all = run.tracks.filter((one) => one.track_kind === 'steps');
  return all.find((one) => one.process === of) ?? all[0];
}

function stepOf(run: Run, process: number, event: { subject: number; begin_ns: number; end_ns: number }): Step {
  const several = run.processes.length > 1;
  const tracks = several ? run.tracks.filter((one) => one.process === process).map((one) => one.track) : null;
  return { number: event.subject, begin: event.begin_ns, end: Math.max(event.end_ns, event.begin_ns + 1), tracks };
}

/** The step that this stretch is, from its begin to its end; null: it is none. */
export async function stepIn(run: Run, area: Area): Promise<Step | null> {
  const track = stepsTrack(run, area.tracks);
  if (!track) return null;
  const event = await api.event(run.run_name, track.track, (area.begin + area.end) / 2, 0);
  return event?.begin_ns === area.begin && event.end_ns === area.end ? stepOf(run, track.process, event) : null;
}

/** The step at the chosen event or at this time, and the one after it or before it. Where two steps are compared
 * already, it goes on by one. null: there is no such step. */
export async function nextPair(state: Pick<State, 'run' | 'firstStretch' | 'selection' | 'event'>, direction: 'next' | 'previous', at: number): Promise<[Step, Step] | null> {
  const { run, firstStretch: first, selection, event } = state;
  if (!run) return null;
  const pair = first && selection ? await Promise.all([stepIn(run, first), stepIn(run, selection)]) : [null, null];
  const track = stepsTrack(run, first?.tracks ?? null, pair[0] && pair[1] ? null : (event?.process ?? null));
  if (!track) return null;
  const neighbour = async (from: number, where: 'next' | 'previous') => {
    const found = await api.neighbour(run.run_name, from, where, { track: track.track });
    return found && stepOf(run, track.process, found);
  };
  const here = pair[0] && pair[1] ? pair[direction === 'next' ? 1 : 0] : await stepAt(run, track, event?.begin_ns ?? at);
  if (!here) return null;
  const other = await neighbour(here.begin, direction);
  if (!other) return null;
  return direction === 'next' ? [here, other] : [other, here];
}

async function stepAt(run: Run, track: { track: number; process: number }, at: number): Promise<Step | null> {
  const event =
    (await api.event(run.run_name, track.track, at, 0)) ??
    (await api.neighbour(run.run_name, at, 'previous', { track: track.track })) ??
    (await api.neighbour(run.run_name, at, 'next', { track: track.track }));
  return event && stepOf(run, track.process, event);
}
