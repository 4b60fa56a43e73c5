// What GPUs did in timed steps, as reports show it: how much of the work was casts, by the place of the cast, by
// operator and by kernel, and what matrix products computed in.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "server/report/model/model.h"

namespace castscope::report {

using rules::DeviceWork;

struct GpuSite {
  store::SiteId site = {};
  DeviceWork work;
};
struct GpuOperator {
  store::OperatorUseId use = {};  // 0: all calls of `op` that have no operator use
  std::string op;                 // "" = outside any operator
  std::string origin;             // for op "": the compiled graph, "0/1 backward"; "" = none
  DeviceWork work;                // including the casts within it
  DeviceWork casts;
  std::vector<std::string> products;  // what its matrix products computed in: "bf16, fp32 accumulation"
};
struct GpuName {  // of operators or kernels
  std::string name;
  DeviceWork work, casts;
};
// A stay of another reader in the process's only seat for the driver's records: no kernels were timed meanwhile.
struct GpuSeat {
  store::ProcessId process = {};
  std::uint64_t from_ns = 0;  // since the process's begin
  std::optional<std::uint64_t> to_ns;
  std::string who;
};

// Each costliest first.
std::vector<GpuSite> gpu_sites(const Model&);
std::vector<GpuSite> gpu_event_sites(const Model&);  // by CUDA events
std::vector<GpuOperator> gpu_operators(const Model&);
std::vector<GpuName> gpu_operator_names(const Model&);
std::vector<GpuName> gpu_kernel_names(const Model&);  // demangled
std::vector<GpuSeat> gpu_seats(const store::RunData&);
// The texts that processes reported under this name ("gpu_device", "gpu_timed_by", "gpu_math"), each once.
std::vector<std::string> gpu_attributes(const store::RunData&, std::string_view name);
// Whether the run shows something of a GPU: work on it, or a reason why its work was not timed.
bool has_gpu(const Model&);

// "GPU: 12.3 ms in 5 timed steps, 18 % of it casts (top: model.py:12 linear weight 1.2 ms)", and what is missing; empty
// where no GPU was seen.
std::vector<std::string> gpu_lines(const Model&);

// docs/report.schema.json, `gpus`.
nlohmann::ordered_json gpu_json(const Model&);

}  // namespace castscope::report
