#include "server/report/timelines/chrome_trace.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "agent/lanes/event_views.h"
#include "server/report/text/event_names.h"
#include "server/report/text/kernel_names.h"
#include "server/report/text/stream.h"
#include "server/report/text/words.h"
#include "server/report/timelines/json_text.h"
#include "server/report/timelines/timeline.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;

// The parts of a site's events that never change, as JSON text. They are computed once, since there are millions of
// events.
struct SiteText {
  std::string cast, hit;  // names
  std::string members;    // of args: ,"site":1,"file":…
};

SiteText text_of(const store::RunData& run, const store::Site& site) {
  Json args = {{"site", site.id}};
  if (const auto at = run.user_location(site.stack)) {
    args["file"] = at->file;
    args["line"] = at->line;
  }
  if (site.module != 0) args["module"] = run.modules[site.module].path;
  if (!site.op.empty()) args["operator"] = site.op;
  args["from_dtype"] = store::dtype_name(site.from);
  args["to_dtype"] = store::dtype_name(site.to);
  args["cause"] = store::name(site.cause);
  const std::string members = json_text(args), what = span_name(run, site);
  return {.cast = json_text("cast " + what),
          .hit = json_text("cache hit " + what),
          .members = "," + members.substr(1, members.size() - 2)};
}

// The same parts of a kernel's events, with what the kernel was launched for.
struct KernelText {
  std::string name, category, members;
};

KernelText text_of(const store::RunData& run, const store::Kernel& kernel) {
  Json args = {{"kernel", kernel.id}};
  if (kernel.name != 0) args["kernel_name"] = demangled(run.kernel_names[kernel.name]);
  if (const std::string purpose = purpose_of(run, kernel); !purpose.empty()) args["launched_by_text"] = purpose;
  if (kernel.site != 0) args["site"] = kernel.site;
  if (const auto at = run.user_location(stack_of(run, kernel))) {
    args["file"] = at->file;
    args["line"] = at->line;
  }
  if (const store::ModuleId module = module_of(run, kernel); module != 0) args["module"] = run.modules[module].path;
  if (kernel.replayed()) args["replayed"] = true;
  const std::string members = json_text(args);
  return {.name = json_text(name_of(run, kernel)),
          .category = kernel.site != 0 ? "castscope,gpu,cast" : "castscope,gpu",
          .members = "," + members.substr(1, members.size() - 2)};
}

// Track numbers of streams come after those of all lanes.
constexpr std::uint32_t kFirstStreamTrack = 1u << 20;

class ChromeWriter final : public TimelineSink {
 public:
  ChromeWriter(const store::RunData& run, Stream& out) : run_(run), out_(out) {
    sites_.push_back({.cast = "\"cast\"", .hit = "\"cache hit\"", .members = ""});
    for (const store::Site& site : run.sites) sites_.push_back(text_of(run, site));
    regions_.emplace_back("\"autocast\"");
    for (const store::Region& region : run.regions) regions_.push_back(json_text(span_name(region)));
    kernels_.push_back({.name = "\"kernel\"", .category = "castscope,gpu", .members = ""});
    for (const store::Kernel& kernel : run.kernels) kernels_.push_back(text_of(run, kernel));
    places_.emplace_back("{}");
    for (const store::Region& region : run.regions) places_.push_back(place_of(region));
  }

  void metadata(const char* what, const LaneKey& key, const std::string& name) {
    begin(json_text(what), 'M', key);
    out_ << ",\"args\":{\"name\":" << json_text(name) << "}}";
  }
  void region_begin(const LaneKey& key, std::int64_t time, store::RegionId region, const lanes::Event& event) override {
    at(regions_[region], 'B', key, time);
    out_ << ",\"args\":" << std::string_view(places_[region]).substr(0, places_[region].size() - 1)
         << (places_[region].size() > 2 ? "," : "") << "\"step\":" << event.step << "}}";
  }
  void region_end(const LaneKey& key, std::int64_t time) override {
    at("\"autocast\"", 'E', key, time);
    out_ << "}";
  }
  void cast(const LaneKey& key, std::int64_t time, std::int64_t duration, store::SiteId site,
            const lanes::Event& event) override {
    at(sites_[site].cast, 'X', key, time);
    out_ << ",\"dur\":";
    microseconds(duration);
    out_ << ",\"args\":{\"step\":" << event.step << ",\"bytes\":" << event.bytes
         << ",\"was_kept\":" << (event.flags & lanes::kFlagKept ? "true" : "false");
    shape(event);
    out_ << sites_[site].members << "}}";
  }
  void kernel(const StreamLine& line, std::int64_t time, std::int64_t duration, store::KernelId kernel,
              const lanes::Event& event) override {
    const KernelText& text = kernels_[kernel];
    begin(text.name, 'X', track_of(line), text.category);
    out_ << ",\"ts\":";
    microseconds(time);
    out_ << ",\"dur\":";
    microseconds(duration);
    const lanes::KernelEvent ran = as_kernel(event);
    out_ << ",\"args\":{\"step\":" << event.step << ",\"moved_bytes\":" << ran.bytes << ",\"gpu_index\":" << ran.device
         << ",\"stream\":" << ran.stream << ",\"grid_blocks\":" << ran.blocks
         << ",\"threads_per_block\":" << ran.threads << text.members << "}}";
  }
  void instant(const LaneKey& key, std::int64_t time, store::SiteId site, const lanes::Event& event) override {
    const bool hit = event.kind == lanes::EventKind::kHit;
    at(hit ? sites_[site].hit : json_text(instant_name(event)), 'i', key, time);
    out_ << ",\"s\":\"t\",\"args\":{\"step\":" << event.step;
    if (event.kind == lanes::EventKind::kCacheClear) {
      out_ << ",\"cleared_bytes\":" << event.bytes << ",\"cleared_entries\":" << as_clear(event).entries;
    }
    if (hit) {
      shape(event);
      out_ << sites_[site].members;
    }
    out_ << "}}";
  }

 private:
  std::string place_of(const store::Region& region) const {
    Json args = {{"region", region.id}, {"cache_enabled", region.cache_enabled}};
    if (const auto at = run_.user_location(region.stack)) {
      args["file"] = at->file;
      args["line"] = at->line;
    }
    return json_text(args);
  }
  // A track is named when its first event comes.
  LaneKey track_of(const StreamLine& line) {
    const auto [known, is_new] = streams_.try_emplace(line, kFirstStreamTrack + streams_.size());
    const LaneKey key{line.process, known->second};
    if (is_new) metadata("thread_name", key, stream_name(line.device, line.stream, line.line));
    return key;
  }
  void begin(std::string_view name, char phase, const LaneKey& key, std::string_view category = "castscope") {
    out_ << (first_ ? "" : ",\n") << "{\"name\":" << name << ",\"cat\":\"" << category << "\",\"ph\":\"" << phase
         << "\",\"pid\":" << pid_in_trace(run_, key.process) << ",\"tid\":" << key.lane;
    first_ = false;
  }
  void at(std::string_view name, char phase, const LaneKey& key, std::int64_t time) {
    begin(name, phase, key);
    out_ << ",\"ts\":";
    microseconds(time);
  }
  void microseconds(std::int64_t ns) {  // to the nanosecond; a double has not enough digits
    const std::int64_t rest = ns % 1000;
    if (ns < 0) return static_cast<void>(out_ << static_cast<double>(ns) / 1e3);
    out_ << ns / 1000 << '.' << static_cast<char>('0' + rest / 100) << static_cast<char>('0' + rest / 10 % 10)
         << static_cast<char>('0' + rest % 10);
  }
  void shape(const lanes::Event& event) {
    out_ << ",\"shape\":[";
    const char* comma = "";
    for (const std::uint32_t size : as_cast(event).shape()) out_ << std::exchange(comma, ",") << size;
    out_ << "]";
  }

  const store::RunData& run_;
  Stream& out_;
  bool first_ = true;
  std::vector<SiteText> sites_;  // index = id, 0 = not known
  std::vector<KernelText> kernels_;
  std::map<StreamLine, std::uint32_t> streams_;
  std::vector<std::string> regions_, places_;  // index = id: name, and args as a JSON object
};

}  // namespace

absl::Status chrome_trace(const std::string& run_file, std::ostream& stream) {
  const auto timeline = Timeline::open(run_file);
  if (!timeline.ok()) return timeline.status();
  Stream out(stream);
  out << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  ChromeWriter writer(timeline->run(), out);
  for (const store::Process& process : timeline->run().processes) {
    writer.metadata("process_name", {process.id, 0}, process_name(process));
  }
  for (const LaneKey& key : timeline->lanes()) {
    writer.metadata("thread_name", key, lane_name(timeline->run().processes[key.process], key.lane));
  }
  const absl::Status status = timeline->send_events(writer, [&] { return out.status(); });
  if (!status.ok() && !absl::IsDataLoss(status)) return status;
  out << "\n]}\n";
  if (absl::Status finished = out.finish(); !finished.ok()) return finished;
  return status;
}

}  // namespace castscope::report
