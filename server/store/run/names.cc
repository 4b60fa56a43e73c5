#include "server/store/run/names.h"

#include <algorithm>
#include <array>

namespace castscope::store {
namespace {

// c10::ScalarType of PyTorch 2.13; numbers never change there, new dtypes are appended.
constexpr std::array<std::string_view, 47> kDtypes = {"uint8",
                                                      "int8",
                                                      "int16",
                                                      "int32",
                                                      "int64",
                                                      "float16",
                                                      "float32",
                                                      "float64",
                                                      "complex32",
                                                      "complex64",
                                                      "complex128",
                                                      "bool",
                                                      "qint8",
                                                      "quint8",
                                                      "qint32",
                                                      "bfloat16",
                                                      "quint4x2",
                                                      "quint2x4",
                                                      "bits1x8",
                                                      "bits2x4",
                                                      "bits4x2",
                                                      "bits8",
                                                      "bits16",
                                                      "float8_e5m2",
                                                      "float8_e4m3fn",
                                                      "float8_e5m2fnuz",
                                                      "float8_e4m3fnuz",
                                                      "uint16",
                                                      "uint32",
                                                      "uint64",
                                                      "uint1",
                                                      "uint2",
                                                      "uint3",
                                                      "uint4",
                                                      "uint5",
                                                      "uint6",
                                                      "uint7",
                                                      "int1",
                                                      "int2",
                                                      "int3",
                                                      "int4",
                                                      "int5",
                                                      "int6",
                                                      "int7",
                                                      "float8_e8m0fnu",
                                                      "float4_e2m1fn_x2",
                                                      "undefined"};
// c10::DeviceType
constexpr std::array<std::string_view, 21> kDevices = {
    "cpu",   "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip",  "fpga", "maia", "xla",          "vulkan",
    "metal", "xpu",  "mps",    "meta",   "hpu",    "ve",    "lazy", "ipu",  "mtia", "privateuseone"};
#define CASTSCOPE_WORD(value, number, word, ...) word,
#define CASTSCOPE_WORDS(LIST) std::to_array<std::string_view>({LIST(CASTSCOPE_WORD)})
constexpr auto kCauses = CASTSCOPE_WORDS(CASTSCOPE_CAUSES);
constexpr auto kRoles = CASTSCOPE_WORDS(CASTSCOPE_ROLES);
constexpr auto kPhases = CASTSCOPE_WORDS(CASTSCOPE_PHASES);
constexpr auto kWhys = CASTSCOPE_WORDS(CASTSCOPE_REASONS_NOT_TO_CACHE);
constexpr auto kRegionKinds = CASTSCOPE_WORDS(CASTSCOPE_REGION_KINDS);
constexpr auto kFactKinds = CASTSCOPE_WORDS(CASTSCOPE_FACT_KINDS);
constexpr auto kStalenesses = CASTSCOPE_WORDS(CASTSCOPE_STALENESSES);
constexpr auto kGpuWorks = CASTSCOPE_WORDS(CASTSCOPE_GPU_WORKS);
constexpr auto kMatmulComputes = CASTSCOPE_WORDS(CASTSCOPE_MATMUL_COMPUTES);
constexpr auto kIncompletes = CASTSCOPE_WORDS(CASTSCOPE_INCOMPLETE_REASONS);
constexpr std::array<std::string_view, 4> kProcessEnds = {"not_seen", "exited", "replaced", "vanished"};

template <typename Number>
std::string_view at(std::span<const std::string_view> names, Number number) {
  const auto index = static_cast<std::size_t>(number);
  return index < names.size() ? names[index] : "unknown";
}

}  // namespace

std::span<const std::string_view> dtype_names() { return kDtypes; }
std::span<const std::string_view> device_names() { return kDevices; }
std::span<const std::string_view> cause_names() { return kCauses; }
std::span<const std::string_view> role_names() { return kRoles; }
std::span<const std::string_view> phase_names() { return kPhases; }
std::span<const std::string_view> why_not_cached_names() { return kWhys; }
std::span<const std::string_view> region_kind_names() { return kRegionKinds; }
std::span<const std::string_view> fact_kind_names() { return kFactKinds; }
std::span<const std::string_view> staleness_names() { return kStalenesses; }
std::span<const std::string_view> gpu_work_names() { return kGpuWorks; }
std::span<const std::string_view> matmul_compute_names() { return kMatmulComputes; }
std::span<const std::string_view> process_end_names() { return kProcessEnds; }
std::span<const std::string_view> incomplete_names() { return kIncompletes; }

std::string_view dtype_name(std::uint8_t scalar_type) { return at(kDtypes, scalar_type); }
std::string_view device_name(std::uint8_t device_type) { return at(kDevices, device_type); }
std::string_view name(lanes::Cause cause) { return at(kCauses, cause); }
std::string_view name(lanes::Role role) { return at(kRoles, role); }
std::string_view name(lanes::Phase phase) { return at(kPhases, phase); }
std::string_view name(lanes::WhyNotCached why) { return at(kWhys, why); }
std::string_view name(lanes::RegionKind kind) { return at(kRegionKinds, kind); }
std::string_view name(lanes::FactKind kind) { return at(kFactKinds, kind); }
std::string_view name(lanes::Staleness staleness) { return at(kStalenesses, staleness); }
std::string_view name(lanes::GpuWork work) { return at(kGpuWorks, work); }
std::string_view name(lanes::MatmulCompute compute) { return at(kMatmulComputes, compute); }
std::string_view name(ProcessEnd end) { return at(kProcessEnds, end); }
std::string_view name(IncompleteReason reason) { return at(kIncompletes, reason); }

}  // namespace castscope::store
