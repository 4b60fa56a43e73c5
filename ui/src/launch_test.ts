import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventDetail, Kernel, Run } from './api/types.ts';
import { otherEnd } from './launch.ts';
import { Definitions } from './model/definitions.ts';

const run = { id: 'r', tracks: [{ id: 1, track: 'casts' }, { id: 2, track: 'kernels' }] } as unknown as Run;
const definitions = new Definitions();
definitions.add({ sites: [], regions: [], uses: [], kernels: [{ id: 5, site: 3, use: null, replayed: false } as Kernel] });
const cast = (begin: number) => ({ track: 1, process: 1, subject: 3, begin, end: begin + 10 }) as EventDetail;
const kernel = (begin: number, at: number | null, process = 1) =>
  ({ track: 2, process, subject: 5, begin, end: begin + 5, launch: { at, by: null } }) as unknown as EventDetail;

/** A fake collector that holds these kernels. */
function holding(...kernels: EventDetail[]): void {
  globalThis.fetch = async (address) => {
    const asked = new URL(String(address), 'http://localhost/');
    const at = Number(asked.searchParams.get('at'));
    const found = asked.pathname.endsWith('neighbour') ? kernels.find((one) => one.begin > at) : kernels.find((one) => one.begin === at);
    return new Response(JSON.stringify({ event: found ?? null }));
  };
}

test('kernels of earlier casts that the device is still at are passed over', async () => {
  holding(kernel(105, 20), kernel(115, 60), kernel(125, 103));
  assert.equal((await otherEnd(run, definitions, cast(100)))?.begin, 125);
});

test('a kernel of another process is not ours', async () => {
  holding(kernel(105, 102, 2), kernel(125, 103));
  assert.equal((await otherEnd(run, definitions, cast(100)))?.begin, 125);
});

test('where none was launched meanwhile nothing is found', async () => {
  holding(kernel(105, 20), kernel(300, 250), kernel(400, 105));
  assert.equal(await otherEnd(run, definitions, cast(100)), null);
  holding(kernel(105, null));
  assert.equal(await otherEnd(run, definitions, cast(100)), null);
});

test('from a kernel the way is what the collector told', async () => {
  const by = { track: 1, subject: 3, kind: 'down', begin: 100, end: 110 };
  const from = { ...kernel(120, 103), launch: { device: 0, stream: 7, blocks: 1, threads: 1, at: 103, by } };
  assert.deepEqual(await otherEnd(run, definitions, from), by);
});
