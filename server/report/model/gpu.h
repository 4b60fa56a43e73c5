// What GPUs did in timed steps, as reports tell it: how much of it were casts, by the place of the cast, by operator
// and by kernel, and what matrix products computed in.
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
  std::uint32_t site = 0;
  DeviceWork work;
};
struct GpuOperator {
  std::uint32_t use = 0;  // 0: of all calls of `op` that have no operator use
  std::string op;         // "" = outside any operator
  std::string origin;     // then: the compiled graph, "0/1 backward"; "" = none
  DeviceWork work;        // with the casts within it
  DeviceWork casts;
  std::vector<std::string> products;  // what its matrix products computed in: "bf16, fp32 accumulation"
};
struct GpuName {  // of operators or kernels
  std::string name;
  DeviceWork work, casts;
};
// Another one had the place of the process's only reader of the driver's records: no kernels were timed meanwhile.
struct GpuSeat {
  std::uint32_t process = 0;
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
// What processes told of it ("gpu", "gpu_times", "gpu_math"), each text once.
std::vector<std::string> gpu_attributes(const store::RunData&, std::string_view name);
// Something of a GPU was seen: work on it, or why that was not timed.
bool has_gpu(const Model&);

// "GPU: 12.3 ms in 5 timed steps, 18 % of it casts (top: model.py:12 linear weight 1.2 ms)", and what is missing;
// nothing where no GPU was seen.
std::vector<std::string> gpu_lines(const Model&);

// docs/report.schema.json, `gpu`.
nlohmann::ordered_json gpu_json(const Model&);

}  // namespace castscope::report
