// Goes from a kernel to the cast or operator that launched it, and back.

import { api } from './api/client.ts';
import type { EventDetail, Run } from './api/types.ts';
import type { Definitions } from './model/definitions.ts';

// A device may lag behind its thread by so many kernels of one cast; the search goes no farther.
const kMostBehind = 64;

export interface OtherEnd {
  track: number;
  begin_ns: number;
  end_ns: number;
}

export async function otherEnd(run: Run, definitions: Definitions, event: EventDetail): Promise<OtherEnd | null> {
  const kind = run.tracks.find((one) => one.track === event.track)?.track_kind;
  if (kind === 'kernels') return event.launch?.launched_by ?? null;
  if (kind !== 'casts' && kind !== 'operators') return null;
  const ids = definitions.kernelsOf(kind, event.subject).map((kernel) => kernel.kernel);
  const first = await Promise.all(ids.map((id) => firstOf(run.run_name, event, id)));
  return first.reduce((best, one) => (best === null || (one !== null && one.begin_ns < best.begin_ns) ? one : best), null);
}

/** Finds the first run of this kernel that was launched during the event: kernels of earlier events may still come
 * before it. */
async function firstOf(run: string, event: EventDetail, kernel: number): Promise<OtherEnd | null> {
  let at = event.begin_ns;
  for (let tries = 0; tries < kMostBehind; tries += 1) {
    const next = await api.neighbour(run, at, 'next', { track_kind: 'kernels', subject: kernel });
    const told = next && (await api.event(run, next.track, next.begin_ns, 0));
    if (!told?.launch || told.launch.launched_ns === null || told.launch.launched_ns > event.end_ns) return null;
    if (told.process === event.process && told.launch.launched_ns >= event.begin_ns) return told;
    at = told.begin_ns;
  }
  return null;
}
