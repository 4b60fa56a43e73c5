#include "server/report/text/event_names.h"

#include "absl/strings/str_cat.h"
#include "server/report/text/words.h"
#include "server/store/run/names.h"

namespace castscope::report {

std::string span_name(const store::RunData& run, const store::Site& site) {
  const std::string argument = argument_words(run, site);
  std::string name = operator_of(site);
  if (!argument.empty()) name += " " + argument;
  if (!site.has_dtypes()) return name + ", passed through";
  return name.append(", ").append(store::dtype_name(site.from)).append(" to ").append(store::dtype_name(site.to));
}

std::string span_name(const store::Region& region) {
  const std::string_view state = region.enabled ? store::dtype_name(region.dtype) : "off";
  return std::string("autocast ").append(store::device_name(region.device)).append(" ").append(state);
}

std::string instant_name(const lanes::Event& event) {
  switch (event.kind) {
    case lanes::EventKind::kHit:
      return "cache hit";
    case lanes::EventKind::kCacheClear:
      return "cache clear";
    case lanes::EventKind::kStep:
      return absl::StrCat("step ", event.step);
    case lanes::EventKind::kOptimizer:
      return "optimizer step";
    case lanes::EventKind::kScaler:
      return "gradient scaler";
    case lanes::EventKind::kThread:
      return "thread";
    case lanes::EventKind::kDeep:
      return event.flags & 1 ? "deep step begins" : "deep step ends";
    case lanes::EventKind::kValues:
      return "values sampled";
    case lanes::EventKind::kBackward:
      return "backward";
    case lanes::EventKind::kMetric:
      return "metric";
    case lanes::EventKind::kPass:
      return "passed through";
    default:
      return "unknown";
  }
}

std::string lane_name(const store::Process& process, std::uint32_t lane) {
  std::string thread;
  for (const store::ThreadInfo& info : process.threads) {
    if (info.lane == lane) thread = info.name;
  }
  return absl::StrCat(thread, thread.empty() ? "" : ", ", "lane ", lane);
}

std::string process_name(const store::Process& process) {
  const std::string rank = process.attribute("rank");
  return absl::StrCat(rank.empty() ? "" : absl::StrCat("rank ", rank, ", "), "pid ", process.info.pid, " on ",
                      process.info.host);
}

}  // namespace castscope::report
