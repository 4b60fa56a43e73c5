// The part of the CUDA runtime's binary interface (libcudart) that the agent relies on, declared by ourselves: the
// agent is compiled on machines that may have no headers of CUDA. It is stable since CUDA 11.
// tests/gpu/check_cublas_abi.cc holds it against the headers (scripts/check-gpu-abi).
#pragma once

#include <cstddef>

namespace castscope::gpu::cudart {

enum Error : int { kSuccess = 0, kNotReady = 600 };
enum CaptureStatus : int { kNotCapturing = 0 };
enum CaptureMode : int { kRelaxed = 2 };
inline constexpr unsigned kDefaultEvent = 0;  // with times

struct StreamStruct;
using Stream = StreamStruct*;
struct EventStruct;
using Event = EventStruct*;
struct KernelStruct;
using Kernel = KernelStruct*;

struct Dim3 {
  unsigned x, y, z;
};
// The begin of cudaLaunchConfig_t; attributes follow.
struct LaunchConfig {
  Dim3 grid, block;
  std::size_t shared_bytes;
  Stream stream;
};

using LaunchKernel = Error(const void* function, Dim3 grid, Dim3 block, void** arguments, std::size_t shared_bytes,
                           Stream);
// The function that CUDA 13's compiler calls for kernel<<<…>>>(…).
using LaunchKernelByHandle = Error(Kernel, Dim3 grid, Dim3 block, void** arguments, std::size_t shared_bytes, Stream);
using LaunchKernelEx = Error(const LaunchConfig*, const void* function, void** arguments);

using MemcpyAsync = Error(void* to, const void* from, std::size_t bytes, int direction, Stream);
using MemsetAsync = Error(void* at, int value, std::size_t bytes, Stream);

using GetDeviceCount = Error(int* count);
using GetDevice = Error(int* device);
using SetDevice = Error(int device);
using EventCreate = Error(Event*, unsigned flags);
using EventRecord = Error(Event, Stream);
using EventQuery = Error(Event);
using EventElapsedTime = Error(float* milliseconds, Event begin, Event end);
using StreamIsCapturing = Error(Stream, CaptureStatus*);
using ExchangeCaptureMode = Error(CaptureMode*);
using LastError = Error();

}  // namespace castscope::gpu::cudart

// All functions that we call: X(name, signature, member of Cudart)
#define CASTSCOPE_CUDART_FUNCTIONS(X)                                                \
  X(cudaGetDevice, GetDevice, get_device)                                            \
  X(cudaSetDevice, SetDevice, set_device)                                            \
  X(cudaEventCreateWithFlags, EventCreate, create)                                   \
  X(cudaEventRecord, EventRecord, record)                                            \
  X(cudaEventQuery, EventQuery, query)                                               \
  X(cudaEventElapsedTime, EventElapsedTime, elapsed_time)                            \
  X(cudaStreamIsCapturing, StreamIsCapturing, is_capturing)                          \
  X(cudaThreadExchangeStreamCaptureMode, ExchangeCaptureMode, exchange_capture_mode) \
  X(cudaPeekAtLastError, LastError, peek_error)                                      \
  X(cudaGetLastError, LastError, take_error)

namespace castscope::gpu {

struct Cudart {
#define CASTSCOPE_CUDART_MEMBER(name, signature, member) cudart::signature* member = nullptr;
  CASTSCOPE_CUDART_FUNCTIONS(CASTSCOPE_CUDART_MEMBER)
#undef CASTSCOPE_CUDART_MEMBER
};

}  // namespace castscope::gpu
