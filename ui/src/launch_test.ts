import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventDetail, Kernel, Run } from './api/types.ts';
import { otherEnd } from './launch.ts';
import { Definitions } from './model/definitions.ts';

const run = { run_name: 'r', tracks: [{ track: 1, track_kind: 'casts' }, { track: 2, track_kind: 'kernels' }] } as unknown as Run;
const definitions = new Definitions();
definitions.add({ sites: [], regions: [], operator_uses: [], kernels: [{ kernel: 5, site: 3, operator_use: null, replayed: false } as Kernel] });
const cast = (begin: number) => ({ track: 1, process: 1, subject: 3, begin_ns: begin, end_ns: begin + 10 }) as EventDetail;
const kernel = (begin: number, at: number | null, process = 1) =>
  ({ track: 2, process, subject: 5, begin_ns: begin, end_ns: begin + 5, launch: { launched_ns: at, launched_by: null } }) as unknown as EventDetail;

/** A fake collector that holds these kernels. */
function holding(...kernels: EventDetail[]): void {
  globalThis.fetch = async (address) => {
    const asked = new URL(String(address), 'http://localhost/');
    const at = Number(asked.searchParams.get('at_ns'));
    const found = asked.pathname.endsWith('neighbour') ? kernels.find((one) => one.begin_ns > at) : kernels.find((one) => one.begin_ns === at);
    return new Response(JSON.stringify({ event: found ?? null }));
  };
}

test('kernels of earlier casts that the device is still at are passed over', async () => {
  holding(kernel(105, 20), kernel(115, 60), kernel(125, 103));
  assert.equal((await otherEnd(run, definitions, cast(100)))?.begin_ns, 125);
});

test('a kernel of another process is not ours', async () => {
  holding(kernel(105, 102, 2), kernel(125, 103));
  assert.equal((await otherEnd(run, definitions, cast(100)))?.begin_ns, 125);
});

test('where none was launched meanwhile nothing is found', async () => {
  holding(kernel(105, 20), kernel(300, 250), kernel(400, 105));
  assert.equal(await otherEnd(run, definitions, cast(100)), null);
  holding(kernel(105, null));
  assert.equal(await otherEnd(run, definitions, cast(100)), null);
});

test('from a kernel the way is what the collector told', async () => {
  const by = { track: 1, subject: 3, shade_kind: 'down', begin_ns: 100, end_ns: 110 };
  const from = { ...kernel(120, 103), launch: { gpu_index: 0, stream: 7, grid_blocks: 1, threads_per_block: 1, launched_ns: 103, launched_by: by } };
  assert.deepEqual(await otherEnd(run, definitions, from), by);
});
