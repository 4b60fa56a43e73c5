#include "server/report/timelines/json_lines.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "agent/lanes/event_views.h"
#include "server/report/model/model.h"
#include "server/report/text/words.h"
#include "server/report/timelines/timeline.h"
#include "server/store/read/event_blocks.h"
#include "server/store/read/run_reader.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;
using lanes::EventKind;

std::string_view kind_name(EventKind kind) {
  switch (kind) {
    case EventKind::kCast:
      return "cast";
    case EventKind::kHit:
      return "cache_hit";
    case EventKind::kRegionEnter:
      return "region_enter";
    case EventKind::kRegionExit:
      return "region_exit";
    case EventKind::kCacheClear:
      return "cache_clear";
    case EventKind::kStep:
      return "step_begin";
    case EventKind::kOptimizer:
      return "optimizer_step";
    case EventKind::kScaler:
      return "scaler";
    case EventKind::kThread:
      return "thread";
    case EventKind::kDeep:
      return "deep";
    case EventKind::kValues:
      return "values";
    case EventKind::kBackward:
      return "backward";
    case EventKind::kOperator:
      return "operator";
    case EventKind::kPass:
      return "pass_through";
    case EventKind::kKernel:
      return "kernel";
    case EventKind::kMetric:
      return "metric";
    case EventKind::kNone:
      break;
  }
  return "unknown";
}

bool has_site(EventKind kind) {
  return kind == EventKind::kCast || kind == EventKind::kHit || kind == EventKind::kPass;
}
bool has_duration(EventKind kind) {
  return kind == EventKind::kCast || kind == EventKind::kOperator || kind == EventKind::kKernel;
}
bool has_region(EventKind kind) { return kind == EventKind::kRegionEnter || kind == EventKind::kRegionExit; }

bool has_fact(EventKind kind) {
  return kind == EventKind::kOptimizer || kind == EventKind::kScaler || kind == EventKind::kBackward ||
         kind == EventKind::kMetric;
}

void add_place(const store::RunData& data, store::StackId stack, Json& words) {
  const auto at = data.user_location(stack);
  if (!at) return;
  words["file"] = at->file;
  words["line"] = at->line;
}

Json use_words(const store::RunData& data, store::OperatorUseId id) {
  const store::OperatorUse& use = data.operator_uses[id];
  Json words = {{"operator_use", id}};
  add_place(data, use.stack, words);
  if (use.module != 0) words["module"] = data.modules[use.module].path;
  words["operator"] = use.op;
  if (!use.node.empty()) words["node"] = use.node;
  words["phase"] = store::name(use.phase);
  if (use.result != 0xff) words["result_dtype"] = store::dtype_name(use.result);
  return words;
}

Json kernel_words(const store::RunData& data, store::KernelId id) {
  const store::Kernel& kernel = data.kernels[id];
  Json words = {{"kernel", id}, {"gpu_work", store::name(kernel.work)}};
  if (kernel.name != 0) words["mangled_name"] = data.kernel_names[kernel.name];
  if (kernel.site != 0) {
    words["site"] = kernel.site;
    add_place(data, data.sites[kernel.site].stack, words);
  } else if (kernel.use != 0) {
    words["operator_use"] = kernel.use;
    add_place(data, data.operator_uses[kernel.use].stack, words);
  }
  if (!kernel.op.empty()) words["operator"] = kernel.op;
  if (!kernel.origin.empty()) words["origin"] = kernel.origin;
  return words;
}

Json fact_words(const store::RunData& data, store::FactId id) {
  const store::Fact& fact = data.facts[id];
  Json words = {{"fact_kind", store::name(fact.kind)}};
  add_place(data, fact.stack, words);
  if (fact.kind == lanes::FactKind::kUnscale && fact.detail < 2) words["gradients_finite"] = fact.detail == 0;
  if (fact.kind == lanes::FactKind::kUnscale && fact.detail == 3) words["stepped"] = false;
  if (fact.kind == lanes::FactKind::kOptimizerStep) words["within_scaler"] = fact.detail == 1;
  if (!fact.text.empty()) words["fact_text"] = fact.text;
  return words;
}

Json site_words(const store::RunData& data, store::SiteId id) {
  const store::Site& site = data.sites[id];
  Json words = {{"site", id}};
  add_place(data, site.stack, words);
  if (site.module != 0) words["module"] = data.modules[site.module].path;
  if (!site.op.empty()) words["operator"] = site.op;
  if (std::string argument = argument_of(data, site.call_site); !argument.empty())
    words["argument"] = std::move(argument);
  if ((site.flags & lanes::kSiteNoCast) == 0) {
    words["from_dtype"] = store::dtype_name(site.from);
    words["to_dtype"] = store::dtype_name(site.to);
  }
  words["cause"] = store::name(site.cause);
  return words;
}

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Returns an object's members as they stand in a line between others: without the braces.
std::string members_of(const Json& object) {
  const std::string text = text_of(object);
  return text.substr(1, text.size() - 2);
}

// The data that the lines of all kinds need: the run, its numbers of sites by process, and each site's members, which
// are written out once: most of a run's lines name a site.
class Context {
 public:
  explicit Context(const store::RunData& data, store::LocalNumbers numbers)
      : data_(data), numbers_(std::move(numbers)) {}
  const store::RunData& data() const { return data_; }
  // Describes what the event refers to, as members of its line; empty when that is not known.
  std::string named(store::ProcessId process, const lanes::Event& event) {
    if (has_site(event.kind)) return site(process, event.site);
    if (has_region(event.kind)) return members_of(region(process, event.site));
    if (has_fact(event.kind)) return members_of(fact(process, event.site));
    if (event.kind == EventKind::kKernel) return members_of(kernel(process, event.site));
    if (event.kind != EventKind::kValues && event.kind != EventKind::kOperator) return "";
    const store::OperatorUseId use = numbers_.operator_use(process, event.site);
    if (data_.operator_uses.contains(use)) return members_of(use_words(data_, use));
    return event.kind == EventKind::kValues ? site(process, event.site) : "";
  }

 private:
  Json fact(store::ProcessId process, std::uint32_t local) const {
    const store::FactId id = numbers_.fact(process, local);
    return data_.facts.contains(id) ? fact_words(data_, id) : Json::object();
  }
  Json kernel(store::ProcessId process, std::uint32_t local) const {
    const store::KernelId id = numbers_.kernel(process, local);
    return data_.kernels.contains(id) ? kernel_words(data_, id) : Json::object();
  }
  Json region(store::ProcessId process, std::uint32_t local) const {
    const store::RegionId id = numbers_.region(process, local);
    if (!data_.regions.contains(id)) return Json::object();
    const store::Region& region = data_.regions[id];
    Json words = {{"region", id},
                  {"region_device", store::device_name(region.device)},
                  {"region_dtype", store::dtype_name(region.dtype)},
                  {"enabled", region.enabled}};
    add_place(data_, region.stack, words);
    return words;
  }
  const std::string& site(store::ProcessId process, std::uint32_t local) {
    const store::SiteId id = numbers_.site(process, local);
    const auto [at, is_new] = sites_.try_emplace(id);
    if (is_new && data_.sites.contains(id)) at->second = members_of(site_words(data_, id));
    return at->second;
  }

  const store::RunData& data_;
  store::LocalNumbers numbers_;
  absl::flat_hash_map<store::SiteId, std::string> sites_;
};

void add_kernel_words(const lanes::KernelEvent& kernel, Json& words) {
  words["moved_bytes"] = kernel.bytes;
  words["gpu_index"] = kernel.device;
  words["stream"] = kernel.stream;
  words["grid_blocks"] = kernel.blocks;
  words["threads_per_block"] = kernel.threads;
  words["waited_ns"] = kernel.waited;
  words["correlation"] = kernel.correlation;
}

void add_values_words(const lanes::ValuesEvent& values, Json& words) {
  words["largest"] = values.most;
  words["tensor_elements"] = values.elements;
  words["sampled_elements"] = values.sampled;
  words["not_finite"] = values.not_finite;
  words["zeros"] = values.zeros;
  words["integers"] = values.integers;
  words["beyond_range"] = values.beyond;
}

void add_event_words(const lanes::Event& event, Json& words) {
  words["step"] = event.step;
  if (event.region != 0) words["stay"] = event.region;
  if (event.kind == EventKind::kCast) {
    words["bytes"] = event.bytes;
    words["was_kept"] = (event.flags & lanes::kFlagKept) != 0;
  }
  if (event.kind == EventKind::kOperator) {
    words["result_bytes"] = event.bytes;
    words["operator_depth"] = event.flags;
  }
  if (event.kind == EventKind::kCacheClear) {
    const lanes::ClearEvent clear = as_clear(event);
    words["cleared_bytes"] = clear.bytes;
    words["cleared_entries"] = clear.entries;
  }
  if (event.kind == EventKind::kKernel) add_kernel_words(as_kernel(event), words);
  if (event.kind == EventKind::kDeep) words["deep_on"] = (event.flags & 1) != 0;
  if (event.kind == EventKind::kValues) add_values_words(as_values(event), words);
  if (const lanes::ScalerEvent scale = as_scaler(event); event.kind == EventKind::kScaler && scale.before != 0) {
    words["scale_before"] = scale.before;
    words["scale_after"] = scale.after;
  }
  if (event.kind == EventKind::kMetric) {
    const double value = as_metric(event).value;
    words["metric_value"] = std::isfinite(value) ? Json(value) : Json();
  }
  if (has_site(event.kind)) {
    Json shape = Json::array();
    for (const std::uint32_t size : as_cast(event).shape()) shape.push_back(size);
    words["shape"] = shape;
    words["source_address"] = absl::StrCat("0x", absl::Hex(as_cast(event).source()));
  }
}

void write_line(Context& context, const store::KeptBlock& block, const lanes::Event& event, std::ostream& out) {
  const store::Process& process = context.data().processes[block.process];
  const std::int64_t begin = process.info.begin_realtime_ns - context.data().start.start_ns;
  Json json = {{"event_kind", kind_name(event.kind)},
               {"process", process.id},
               {"pid", process.info.pid},
               {"lane", block.lane},
               {"time_ns", begin + static_cast<std::int64_t>(event.time)}};
  if (has_duration(event.kind)) json["duration_ns"] = event.duration;
  add_event_words(event, json);
  out << '{' << members_of(json);
  if (const std::string named = context.named(block.process, event); !named.empty()) out << ',' << named;
  out << "}\n";
}

}  // namespace

absl::Status json_lines(const std::string& run_file, std::ostream& out) {
  const auto data = store::read_as_it_is(run_file);
  if (!data.ok()) return data.status();
  auto numbers = store::LocalNumbers::read(run_file);
  if (!numbers.ok()) return numbers.status();
  Context context(*data, *std::move(numbers));
  std::vector<lanes::Event> events;
  const auto unwritten = [] {
    return absl::UnavailableError("the output cannot be written: check the disk for space");
  };
  const absl::Status status = store::read_event_blocks(run_file, [&](const store::KeptBlock& block) -> absl::Status {
    const absl::Status bad = unpack_block(run_file, *data, block, &events);
    if (!bad.ok()) return bad;
    if (block.after_gap) {
      const store::Process& process = data->processes[block.process];
      out << text_of({{"event_kind", "gap"}, {"process", process.id}, {"pid", process.info.pid}}) << '\n';
    }
    for (const lanes::Event& event : events) write_line(context, block, event, out);
    return out ? absl::OkStatus() : unwritten();
  });
  if (!status.ok() && !absl::IsDataLoss(status)) return status;
  out.flush();
  if (!out) return unwritten();
  return data->damage ? damage_status(run_file, *data) : status;
}

}  // namespace castscope::report
