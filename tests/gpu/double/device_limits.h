// The properties of the virtual devices, like those of an H100. The driver and the runtime both return them.
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

// The attribute's number is the same in the driver and the runtime; returns 0 for unknown ones.
int device_attribute(int attribute);

}  // namespace nogpu
