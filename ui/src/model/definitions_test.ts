import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Kernel, Site, Track } from '../api/types.ts';
import { Definitions, moduleLevels } from './definitions.ts';

const kernel = (id: number, more: Partial<Kernel>): Kernel => ({
  kernel: id, label: 'Memset', kernel_name: null, gpu_work: 'kernel', launched_by_text: null, site: null, operator_use: null, operator: null, origin: null,
  replayed: false, module: null, model: null, file: null, line: null, function: null, ...more,
});
const stream: Track = { track: 1, process: 1, lane: 2, track_kind: 'kernels', row_depth: 0, gpu_index: 0, stream: 7, label: 'GPU 0 stream 7' };

function known(...kernels: Kernel[]): Definitions {
  const definitions = new Definitions();
  definitions.add({ sites: [], regions: [], operator_uses: [], kernels });
  return definitions;
}

test('a kernel is called by its name, in a box without its namespaces', () => {
  const definitions = known(kernel(1, { label: 'at::native::vectorized_elementwise_kernel' }), kernel(2, {}));
  assert.equal(definitions.nameOf('kernels', 1), 'at::native::vectorized_elementwise_kernel');
  assert.equal(definitions.labelOf(stream, 1), 'vectorized_elementwise_kernel');
  assert.equal(definitions.labelOf(stream, 2), 'Memset');
  assert.equal(definitions.nameOf('kernels', 9), 'kernel 9');
  assert.equal(definitions.labelOf(stream, 9), '');
});

test('a box of a cast says which cast, that of an operator which operator', () => {
  const definitions = known(kernel(1, { site: 1, operator: 'aten::linear' }), kernel(2, { label: 'nvjet_tst', operator: 'aten::linear' }));
  const site = { site: 1, operator: 'aten::linear', argument: 'weight', role: 'weight', from_dtype: 'float32', to_dtype: 'bfloat16' } as Site;
  assert.equal(definitions.labelOf(stream, 1), 'linear · Memset');
  definitions.add({ sites: [site], regions: [], operator_uses: [], kernels: [] });
  assert.equal(definitions.labelOf(stream, 1), 'fp32→bf16 weight of linear');
  assert.equal(definitions.labelOf(stream, 2), 'linear · nvjet_tst');
});

test('an argument that is known by its position is called so', () => {
  const definitions = known(kernel(1, { site: 1 }));
  const site = { site: 1, operator: 'aten::linear', argument: '2', role: 'unknown', from_dtype: 'float32', to_dtype: 'float16' } as Site;
  definitions.add({ sites: [site], regions: [], operator_uses: [], kernels: [] });
  assert.equal(definitions.labelOf(stream, 1), 'fp32→fp16 argument 2 of linear');
});

test('kernels of a cast or an operator are those that it launched itself', () => {
  const definitions = known(
    kernel(1, { site: 4, operator_use: 2 }),
    kernel(2, { operator_use: 2 }),
    kernel(3, { operator_use: 2, replayed: true }),
    kernel(4, { site: 2 }),
  );
  const of = (kind: string, subject: number) => definitions.kernelsOf(kind, subject).map((one) => one.kernel);
  assert.deepEqual(of('casts', 4), [1]);
  assert.deepEqual(of('operators', 2), [1, 2]);
  assert.deepEqual(of('regions', 2), []);
});

test('what a kernel was launched for stands beside its line', () => {
  const definitions = known(
    kernel(1, { launched_by_text: 'cast linear weight, float32 to bfloat16', file: '/job/train.py', line: 8 }),
    kernel(2, { launched_by_text: '0/1 forward (train.py:12)' }),
    kernel(3, {}),
  );
  assert.equal(definitions.purposeOf(1), 'cast linear weight, float32 to bfloat16 · train.py:8');
  assert.equal(definitions.purposeOf(2), '0/1 forward (train.py:12)');
  assert.equal(definitions.purposeOf(3), '');
  assert.equal(definitions.purposeOf(9), '');
});

test('only kernels that are not known are asked for', () => {
  const definitions = known(kernel(1, {}), kernel(2, {}));
  assert.equal(definitions.known().known_kernels, 2);
  definitions.clear();
  assert.equal(definitions.known().known_kernels, 0);
});

test('the levels of a module are its model and the parts of its path, numbers with the name before them', () => {
  assert.deepEqual(moduleLevels('Net', ''), ['Net']);
  assert.deepEqual(moduleLevels('Net#2', 'bert.encoder.layer.11.attention'), ['Net#2', 'bert', 'encoder', 'layer.11', 'attention']);
  assert.deepEqual(moduleLevels('Net', '0.1'), ['Net', '0', '1']);
  assert.deepEqual(moduleLevels('Net', 'layers.3.0'), ['Net', 'layers.3', '0']);
});
