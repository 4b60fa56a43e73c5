#include "server/report/timelines/speedscope.h"

#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "server/report/model/model.h"
#include "server/report/model/totals.h"
#include "server/report/text/event_names.h"
#include "server/report/text/stream.h"
#include "server/report/timelines/json_text.h"
#include "server/report/timelines/timeline.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;

// The frames of speedscope: Python's frames, then one for each site and each region.
class Frames {
 public:
  explicit Frames(const store::RunData& run) : run_(run) {
    for (const store::Stack& stack : run.stacks) {
      for (const store::CodeLocation& at : stack.frames) python(at);
    }
    first_site_ = list_.size();
    add({{"name", "cast"}});
    for (const store::Site& site : run.sites) add(frame("cast " + span_name(run, site), site.stack));
    first_region_ = list_.size();
    add({{"name", "autocast"}});
    for (const store::Region& region : run.regions) add(frame(span_name(region), region.stack));
  }
  std::size_t of_site(store::SiteId id) const { return first_site_ + id; }
  std::size_t of_region(store::RegionId id) const { return first_region_ + id; }
  // The outermost frame comes first.
  std::vector<std::size_t> of_stack(store::StackId id) {
    std::vector<std::size_t> all;
    if (id == 0) return all;
    const auto& frames = run_.stacks[id].frames;
    for (auto at = frames.rbegin(); at != frames.rend(); ++at) all.push_back(python(*at));
    return all;
  }
  const std::vector<std::string>& list() const { return list_; }

 private:
  std::size_t add(const Json& frame) {
    list_.push_back(json_text(frame));
    return list_.size() - 1;
  }
  std::size_t python(const store::CodeLocation& at) {
    const auto [it, is_new] = known_.try_emplace({at.file, at.function, at.line}, list_.size());
    if (is_new) add({{"name", at.function}, {"file", at.file}, {"line", at.line}});
    return it->second;
  }
  Json frame(const std::string& name, store::StackId stack) const {
    const auto at = run_.user_location(stack);
    if (!at) return {{"name", name}};
    return {{"name", name}, {"file", at->file}, {"line", at->line}};
  }

  const store::RunData& run_;
  std::map<std::tuple<std::string, std::string, std::int64_t>, std::size_t> known_;
  std::vector<std::string> list_;
  std::size_t first_site_ = 0, first_region_ = 0;
};

// Writes one lane's spans: `,"events":[…]`, and the first and last time. Work of GPUs is left out: a lane is what one
// thread did, and kernels run in streams.
class LaneWriter final : public TimelineSink {
 public:
  LaneWriter(const Frames& frames, Stream& out) : frames_(frames), out_(out) {}
  void region_begin(const LaneKey&, std::int64_t time, store::RegionId region, const lanes::Event&) override {
    open_.push_back(frames_.of_region(region));
    event('O', time, open_.back());
  }
  void region_end(const LaneKey&, std::int64_t time) override {
    event('C', time, open_.back());
    open_.pop_back();
  }
  void cast(const LaneKey&, std::int64_t time, std::int64_t duration, store::SiteId site,
            const lanes::Event&) override {
    event('O', time, frames_.of_site(site));
    event('C', time + duration, frames_.of_site(site));
  }
  void instant(const LaneKey&, std::int64_t time, store::SiteId, const lanes::Event&) override { seen(time); }
  std::int64_t begin() const { return any_ ? begin_ : 0; }
  std::int64_t end() const { return end_; }

 private:
  void seen(std::int64_t time) {
    if (!any_) begin_ = time;
    any_ = true;
    end_ = time;
  }
  void event(char type, std::int64_t time, std::size_t frame) {
    out_ << (first_ ? "" : ",\n") << "{\"type\":\"" << type << "\",\"frame\":" << frame << ",\"at\":" << time << '}';
    first_ = false;
    seen(time);
  }
  const Frames& frames_;
  Stream& out_;
  std::vector<std::size_t> open_;
  bool first_ = true, any_ = false;
  std::int64_t begin_ = 0, end_ = 0;
};

void write_by_stack(const store::RunData& run, Frames& frames, Stream& out) {
  std::string samples, weights;
  std::uint64_t all = 0;
  for (const SiteTotal& total : cast_sites(run)) {
    if (total.counts.cpu_ns == 0) continue;
    samples += samples.empty() ? "[" : ",[";
    for (const std::size_t frame : frames.of_stack(run.sites[total.site].stack)) samples += std::to_string(frame) + ",";
    samples += std::to_string(frames.of_site(total.site)) + "]";
    weights += (weights.empty() ? "" : ",") + std::to_string(total.counts.cpu_ns);
    all += total.counts.cpu_ns;
  }
  out << "{\"type\":\"sampled\",\"name\":\"CPU time of all casts by stack\",\"unit\":\"nanoseconds\",\"startValue\":0,"
      << "\"endValue\":" << all << ",\"samples\":[" << samples << "],\"weights\":[" << weights << "]}";
}

absl::Status write_lane(const Timeline& timeline, const LaneKey& key, const Frames& frames, Stream& out) {
  const store::Process& process = timeline.run().processes[key.process];
  out << ",\n{\"type\":\"evented\",\"name\":" << json_text(process_name(process) + ", " + lane_name(process, key.lane))
      << ",\"unit\":\"nanoseconds\",\"events\":[\n";
  LaneWriter writer(frames, out);
  const absl::Status status = timeline.send_events(
      writer, [&] { return out.status(); }, key);
  out << "],\"startValue\":" << writer.begin() << ",\"endValue\":" << writer.end() << '}';
  return status;
}

}  // namespace

absl::Status speedscope(const std::string& run_file, std::ostream& stream) {
  const auto timeline = Timeline::open(run_file);
  if (!timeline.ok()) return timeline.status();
  const store::RunData& run = timeline->run();
  Frames frames(run);
  Stream out(stream);
  out << "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":"
      << json_text("castscope " + run.start.castscope_version) << ",\"shared\":{\"frames\":[\n";
  bool first = true;
  for (const std::string& frame : frames.list()) {
    out << (first ? "" : ",\n") << frame;
    first = false;
  }
  out << "]},\"profiles\":[\n";
  write_by_stack(run, frames, out);
  absl::Status whole;  // of the file
  for (const LaneKey& key : timeline->lanes()) {
    const absl::Status status = write_lane(*timeline, key, frames, out);
    if (!status.ok() && !absl::IsDataLoss(status)) return status;
    whole.Update(status);
  }
  out << "\n]}\n";
  if (absl::Status finished = out.finish(); !finished.ok()) return finished;
  return whole.ok() ? damage_status(run_file, run) : whole;
}

}  // namespace castscope::report
