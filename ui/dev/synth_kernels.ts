// What the made-up run's GPUs did: for each cast a copy kernel, for each linear a product, behind their launches.

import type { Kernel, OperatorUse, Shade, Site } from '../src/api/types.ts';

export const kKernelShades: Omit<Shade, 'shade'>[] = [
  { track_kind: 'kernels', shade_kind: 'cast_kernel', shade_dtype: 'bfloat16', cause: 'autocast' },
  { track_kind: 'kernels', shade_kind: 'cast_kernel', shade_dtype: 'float32', cause: 'autocast' },
  { track_kind: 'kernels', shade_kind: 'kernel', shade_dtype: 'bfloat16', cause: null },
  { track_kind: 'kernels', shade_kind: 'kernel', shade_dtype: 'float32', cause: null },
  { track_kind: 'kernels', shade_kind: 'gpu_copy', shade_dtype: null, cause: null },
];

const kNames = {
  copy: ['at::native::vectorized_elementwise_kernel', 'void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_copy_kernel_cuda>(int)'],
  product: ['nvjet_tst_128x64_64x8_2x1_v_bz_TNN', 'nvjet_tst_128x64_64x8_2x1_v_bz_TNN'],
  norm: ['at::native::vectorized_layer_norm_kernel', 'void at::native::vectorized_layer_norm_kernel<float, float>(int, float)'],
} as const;

export interface LayerKernels {
  weight: Kernel;
  input: Kernel;
  product: Kernel;
  norm: Kernel;
}

/** Four for each layer: the casts of weight and input, the product, the norm. */
export function kernelsOf(layers: number, sites: readonly Site[], uses: readonly OperatorUse[]): LayerKernels[] {
  let id = 0;
  const of = (name: keyof typeof kNames, use: OperatorUse, site: Site | null): Kernel => ({
    kernel: (id += 1),
    label: kNames[name][0],
    kernel_name: kNames[name][1],
    gpu_work: 'kernel',
    launched_by_text: site ? `cast ${site.label}` : use.operator.slice(6),
    site: site?.site ?? null,
    operator_use: use.operator_use,
    operator: use.operator,
    origin: null,
    replayed: false,
    module: site?.module ?? use.module,
    model: use.model,
    file: use.file,
    line: site?.line ?? use.line,
    function: 'forward',
  });
  return Array.from({ length: layers }, (_, layer) => ({
    weight: of('copy', uses[0], sites[layer * 6]),
    input: of('copy', uses[0], sites[layer * 6 + 1]),
    product: of('product', uses[0], null),
    norm: of('norm', uses[1], null),
  }));
}
