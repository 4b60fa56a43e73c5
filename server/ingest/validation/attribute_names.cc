#include "server/ingest/validation/attribute_names.h"

#include <utility>

#include "absl/strings/ascii.h"

namespace castscope::ingest {
namespace {

constexpr std::pair<std::string_view, std::string_view> kRenamed[] = {
    {"argv", "command_line"},      {"torch", "torch_version"}, {"python", "python_version"},
    {"gpu_times", "gpu_timed_by"}, {"gpu_timing", "gpu"},      {"rule_met", "policy_rule_met"}};

// "0 NVIDIA H100": a device begins with its index. The setting that is called `gpu` now is a word.
bool is_device(std::string_view value) { return !value.empty() && absl::ascii_isdigit(value.front()); }

}  // namespace

std::string present_name(std::string_view name, std::string_view value) {
  if (name == "gpu" && is_device(value)) return "gpu_device";
  for (const auto& [before, now] : kRenamed)
    if (name == before) return std::string(now);
  return std::string(name);
}

}  // namespace castscope::ingest
