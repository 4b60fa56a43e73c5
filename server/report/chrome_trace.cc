#include "server/report/chrome_trace.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "server/report/stream.h"
#include "server/report/timeline.h"
#include "server/report/words.h"
#include "server/store/names.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;

std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// What never changes of a site's events, as JSON text: worked out once, since there are millions of events.
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
  if (site.module != 0) args["module"] = run.modules[site.module - 1].path;
  if (!site.op.empty()) args["operator"] = site.op;
  args["from"] = store::dtype_name(site.from);
  args["to"] = store::dtype_name(site.to);
  args["cause"] = store::name(site.cause);
  const std::string members = dumped(args), what = span_name(run, site);
  return {.cast = dumped("cast " + what),
          .hit = dumped("cache hit " + what),
          .members = "," + members.substr(1, members.size() - 2)};
}

class Writer final : public TimelineSink {
 public:
  Writer(const store::RunData& run, Stream& out) : run_(run), out_(out) {
    sites_.push_back({.cast = "\"cast\"", .hit = "\"cache hit\"", .members = ""});
    for (const store::Site& site : run.sites) sites_.push_back(text_of(run, site));
    regions_.emplace_back("\"autocast\"");
    for (const store::Region& region : run.regions) regions_.push_back(dumped(span_name(region)));
    places_.emplace_back("{}");
    for (const store::Region& region : run.regions) places_.push_back(place_of(region));
  }

  void metadata(const char* what, const LaneKey& key, const std::string& name) {
    begin(dumped(what), 'M', key);
    out_ << ",\"args\":{\"name\":" << dumped(name) << "}}";
  }
  void region_begin(const LaneKey& key, std::int64_t time, std::uint32_t region, const lanes::Event& event) override {
    at(regions_[region], 'B', key, time);
    out_ << ",\"args\":" << std::string_view(places_[region]).substr(0, places_[region].size() - 1)
         << (places_[region].size() > 2 ? "," : "") << "\"step\":" << event.step << "}}";
  }
  void region_end(const LaneKey& key, std::int64_t time) override {
    at("\"autocast\"", 'E', key, time);
    out_ << "}";
  }
  void cast(const LaneKey& key, std::int64_t time, std::int64_t duration, std::uint32_t site,
            const lanes::Event& event) override {
    at(sites_[site].cast, 'X', key, time);
    out_ << ",\"dur\":";
    microseconds(duration);
    out_ << ",\"args\":{\"step\":" << event.step << ",\"bytes\":" << event.bytes
         << ",\"kept\":" << (event.flags & lanes::kFlagKept ? "true" : "false");
    shape(event);
    out_ << sites_[site].members << "}}";
  }
  void instant(const LaneKey& key, std::int64_t time, std::uint32_t site, const lanes::Event& event) override {
    const bool hit = event.kind == lanes::EventKind::kHit;
    at(hit ? sites_[site].hit : dumped(instant_name(event)), 'i', key, time);
    out_ << ",\"s\":\"t\",\"args\":{\"step\":" << event.step;
    if (event.kind == lanes::EventKind::kCacheClear) {
      out_ << ",\"bytes\":" << event.bytes << ",\"entries\":" << event.entries;
    }
    if (hit) {
      shape(event);
      out_ << sites_[site].members;
    }
    out_ << "}}";
  }

 private:
  std::string place_of(const store::Region& region) const {
    Json args = {{"region", region.id}, {"cache", region.cache_enabled}};
    if (const auto at = run_.user_location(region.stack)) {
      args["file"] = at->file;
      args["line"] = at->line;
    }
    return dumped(args);
  }
  void begin(std::string_view name, char phase, const LaneKey& key) {
    out_ << (first_ ? "" : ",\n") << "{\"name\":" << name << ",\"cat\":\"castscope\",\"ph\":\"" << phase
         << "\",\"pid\":" << run_.process(key.process).info.pid << ",\"tid\":" << key.lane;
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
    for (int i = 0; i < std::min<int>(event.ndim, 4); ++i) out_ << (i > 0 ? "," : "") << event.dims[i];
    out_ << "]";
  }

  const store::RunData& run_;
  Stream& out_;
  bool first_ = true;
  std::vector<SiteText> sites_;                // index = id
  std::vector<std::string> regions_, places_;  // index = id: name, and args as a JSON object
};

}  // namespace

absl::Status chrome_trace(const std::string& run_file, std::ostream& stream) {
  const auto timeline = Timeline::open(run_file);
  if (!timeline.ok()) return timeline.status();
  Stream out(stream);
  out << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  Writer writer(timeline->run(), out);
  for (const store::Process& process : timeline->run().processes) {
    writer.metadata("process_name", {process.id, 0}, process_name(process));
  }
  for (const LaneKey& key : timeline->lanes()) {
    writer.metadata("thread_name", key, lane_name(timeline->run().process(key.process), key.lane));
  }
  const absl::Status status = timeline->tell(writer, [&] { return out.status(); });
  if (!status.ok() && !absl::IsDataLoss(status)) return status;
  out << "\n]}\n";
  if (absl::Status finished = out.finish(); !finished.ok()) return finished;
  return status;
}

}  // namespace castscope::report
