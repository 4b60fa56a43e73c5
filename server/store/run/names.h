// The words for numbers: PyTorch's dtypes and devices, and the closed lists. Reports and the views of the run file
// both take them from here.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "agent/lanes/format.h"
#include "server/store/run/run_sink.h"

namespace castscope::store {

std::string_view dtype_name(std::uint8_t scalar_type);   // "float32"; "unknown" outside the list
std::string_view device_name(std::uint8_t device_type);  // "cpu"
std::string_view name(lanes::Cause);
std::string_view name(lanes::Role);
std::string_view name(lanes::Phase);
std::string_view name(lanes::WhyNotCached);
std::string_view name(lanes::RegionKind);
std::string_view name(lanes::FactKind);
std::string_view name(lanes::Staleness);
std::string_view name(lanes::GpuWork);
std::string_view name(lanes::MatmulCompute);
std::string_view name(ProcessEnd);
std::string_view name(IncompleteReason);

// The same as lists, number = index.
std::span<const std::string_view> dtype_names();
std::span<const std::string_view> device_names();
std::span<const std::string_view> cause_names();
std::span<const std::string_view> role_names();
std::span<const std::string_view> phase_names();
std::span<const std::string_view> why_not_cached_names();
std::span<const std::string_view> region_kind_names();
std::span<const std::string_view> fact_kind_names();
std::span<const std::string_view> staleness_names();
std::span<const std::string_view> gpu_work_names();
std::span<const std::string_view> matmul_compute_names();
std::span<const std::string_view> process_end_names();
std::span<const std::string_view> incomplete_names();

}  // namespace castscope::store
