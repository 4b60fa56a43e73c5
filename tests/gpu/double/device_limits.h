// What the virtual devices have, like an H100: asked for through the driver and through the runtime.
#pragma once

#include <cstddef>

namespace nogpu {

inline constexpr const char* kDeviceName = "castscope no-GPU double";
inline constexpr size_t kDeviceMemory = size_t{80} << 30;
inline constexpr int kMultiprocessors = 132;
inline constexpr int kThreadsOfBlock = 1024, kThreadsOfMultiprocessor = 2048;
inline constexpr int kBlocksOfMultiprocessor = 32;
inline constexpr int kSharedOfBlock = 48 << 10, kSharedOptIn = 227 << 10, kSharedOfMultiprocessor = 228 << 10;
inline constexpr int kRegisters = 65536;
inline constexpr int kGridX = 0x7fffffff, kGridYZ = 65535;
inline constexpr int kCacheSize = 50 << 20;

// By the number that the driver and the runtime both give it; 0 for what is not there.
int device_attribute(int attribute);

}  // namespace nogpu
