// Asks for devices and launches kernels in each way that PyTorch's objects do.
#include "agent/gpu/cudart_abi.h"

using namespace castscope::gpu::cudart;

extern "C" {
LaunchKernel cudaLaunchKernel;
LaunchKernelByHandle __cudaLaunchKernel;
LaunchKernelEx cudaLaunchKernelExC;
MemcpyAsync cudaMemcpyAsync;
MemsetAsync cudaMemsetAsync;
GetDeviceCount cudaGetDeviceCount;

int user_counts_devices() {
  int count = 0;
  cudaGetDeviceCount(&count);
  return count;
}

Error user_launch(int way, Stream stream) {
  const Dim3 grid{1, 2, 3}, block{4, 5, 6};
  const LaunchConfig config{grid, block, 7, stream};
  if (way == 0) return cudaLaunchKernel(nullptr, grid, block, nullptr, 7, stream);
  if (way == 1) return __cudaLaunchKernel(nullptr, grid, block, nullptr, 7, stream);
  if (way == 3) return cudaMemcpyAsync(nullptr, nullptr, 8, 1, stream);
  if (way == 4) return cudaMemsetAsync(nullptr, 0, 8, stream);
  return cudaLaunchKernelExC(&config, nullptr, nullptr);
}
}
