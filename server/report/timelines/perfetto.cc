#include "server/report/timelines/perfetto.h"

#include <algorithm>
#include <map>

#include "agent/lanes/event_views.h"
#include "server/report/text/event_names.h"
#include "server/report/text/kernel_names.h"
#include "server/report/text/stream.h"
#include "server/report/text/words.h"
#include "server/report/timelines/protobuf.h"
#include "server/report/timelines/timeline.h"
#include "server/store/run/names.h"
#include "server/utf8/utf8.h"

namespace castscope::report {
namespace {

// Field numbers of perfetto/trace/*.proto. tests/integration/test_reports.py reads the output by Perfetto's own
// definitions.
namespace trace {
constexpr int kPacket = 1;
}
namespace packet {
constexpr int kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kInterned = 12, kFlags = 13, kTrack = 60;
}
namespace track_event {
constexpr int kCategory = 3, kAnnotation = 4, kType = 9, kName = 10, kTrack = 11, kCounter = 30, kSource = 34;
}
namespace track {
constexpr int kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5, kCounter = 8;
}
namespace interned {
constexpr int kCategories = 1, kNames = 2, kAnnotations = 3, kSources = 4, kStrings = 29;
}
enum Type { kBegin = 1, kEnd = 2, kInstant = 3, kCounterValue = 4 };
enum SequenceFlag { kCleared = 1, kNeedsState = 2 };
enum Annotation {
  kBytes = 1,
  kMovedBytes,
  kClearedBytes,
  kStep,
  kKept,
  kModule,
  kSite,
  kEntries,
  kShape,
  kStream,
  kBlocks,
  kThreads,
  kPurpose,
  kWholeName,
  kAnnotations
};
constexpr const char* kAnnotationNames[] = {"",
                                            "bytes",
                                            "moved_bytes",
                                            "cleared_bytes",
                                            "step",
                                            "was_kept",
                                            "module",
                                            "site",
                                            "cleared_entries",
                                            "shape",
                                            "stream",
                                            "grid_blocks",
                                            "threads_per_block",
                                            "launched_by_text",
                                            "kernel_name"};
constexpr std::uint64_t kCategory = 1, kGpuCategory = 2, kCastKernelCategory = 3, kSequenceId = 1, kUnitBytes = 3;

// Names that need no definition in the run: one for each kind of instant, and names for events without a site or
// region.
enum Name : std::uint64_t { kUnknownCast = 1, kUnknownRegion, kUnknownKernel, kInstants };
constexpr std::uint64_t kSites = 64;  // names of sites and regions begin here
constexpr std::uint64_t kKinds = kSites - kInstants;

std::uint64_t kind_of(const lanes::Event& event) {
  const auto kind = static_cast<std::uint64_t>(event.kind);
  return kind < kKinds ? kind : 0;
}

class PerfettoWriter final : public TimelineSink {
 public:
  PerfettoWriter(const store::RunData& run, Stream& out) : run_(run), out_(out) {
    hits_ = kSites + run.sites.size() + 1;
    regions_ = hits_ + run.sites.size() + 1;
    kernels_ = regions_ + run.regions.size() + 1;
    purposes_ = run.modules.size();
    whole_names_ = purposes_ + run.kernels.size();
  }

  void definitions(const std::vector<LaneKey>& lanes) {
    for (const store::Process& process : run_.processes) process_track(process);
    for (const LaneKey& key : lanes) thread_track(key);
    intern();
  }
  void region_begin(const LaneKey& key, std::int64_t time, store::RegionId region, const lanes::Event& event) override {
    begin(kBegin, key, region == 0 ? static_cast<std::uint64_t>(kUnknownRegion) : regions_ + region);
    if (region != 0) event_.number(track_event::kSource, run_.sites.size() + region);
    annotate(kStep, event.step);
    write(time);
  }
  void region_end(const LaneKey& key, std::int64_t time) override { end(key, time); }
  void cast(const LaneKey& key, std::int64_t time, std::int64_t duration, store::SiteId site,
            const lanes::Event& event) override {
    begin(kBegin, key, site == 0 ? static_cast<std::uint64_t>(kUnknownCast) : kSites + site);
    of_site(site, event);
    annotate(kBytes, event.bytes);
    annotate(kStep, event.step);
    if (event.flags & lanes::kFlagKept) annotate(kKept, 1);
    write(time);
    end(key, time + duration);
  }
  void kernel(const StreamLine& line, std::int64_t time, std::int64_t duration, store::KernelId kernel,
              const lanes::Event& event) override {
    const std::uint64_t uuid = stream_track(line);
    const bool of_cast = kernel != 0 && run_.kernels[kernel].site != 0;
    event_.clear();
    event_.number(track_event::kCategory, of_cast ? kCastKernelCategory : kGpuCategory);
    event_.number(track_event::kType, kBegin).number(track_event::kTrack, uuid);
    event_.number(track_event::kName, kernel == 0 ? static_cast<std::uint64_t>(kUnknownKernel) : kernels_ + kernel);
    if (kernel != 0) of_kernel(run_.kernels[kernel]);
    annotate(kMovedBytes, event.bytes);
    annotate(kStep, event.step);
    const lanes::KernelEvent ran = as_kernel(event);
    annotate(kStream, ran.stream);
    annotate(kBlocks, ran.blocks);
    annotate(kThreads, ran.threads);
    write(time);
    event_.clear();
    event_.number(track_event::kType, kEnd).number(track_event::kTrack, uuid);
    write(time + duration);
  }
  void instant(const LaneKey& key, std::int64_t time, store::SiteId site, const lanes::Event& event) override {
    if (event.kind == lanes::EventKind::kCacheClear) freed(key, time, event);
    const bool hit = event.kind == lanes::EventKind::kHit;
    begin(kInstant, key, hit && site != 0 ? hits_ + site : kInstants + kind_of(event));
    if (hit) of_site(site, event);
    annotate(kStep, event.step);
    if (event.kind == lanes::EventKind::kCacheClear) {
      annotate(kClearedBytes, event.bytes);
      annotate(kEntries, as_clear(event).entries);
    }
    write(time);
  }

 private:
  static std::uint64_t process_uuid(store::ProcessId process) { return process; }
  static std::uint64_t counter_uuid(store::ProcessId process) { return std::uint64_t{1} << 62 | process; }
  static std::uint64_t lane_uuid(const LaneKey& key) { return std::uint64_t{key.process} << 32 | key.lane; }

  void begin(Type type, const LaneKey& key, std::uint64_t name) {
    event_.clear();
    event_.number(track_event::kCategory, kCategory).number(track_event::kType, type);
    event_.number(track_event::kTrack, lane_uuid(key)).number(track_event::kName, name);
  }
  void end(const LaneKey& key, std::int64_t time) {
    event_.clear();
    event_.number(track_event::kType, kEnd).number(track_event::kTrack, lane_uuid(key));
    write(time);
  }
  void annotate(Annotation name, std::uint64_t value) {
    part_.clear();
    event_.message(track_event::kAnnotation, part_.number(1, name).number(3, value));
  }
  // Annotates the event with one of the interned strings.
  void annotate_text(Annotation name, std::uint64_t string) {
    part_.clear();
    event_.message(track_event::kAnnotation, part_.number(1, name).number(17, string));
  }
  void of_kernel(const store::Kernel& kernel) {
    if (stack_of(run_, kernel) != 0)
      event_.number(track_event::kSource, run_.sites.size() + run_.regions.size() + kernel.id);
    if (const store::ModuleId module = module_of(run_, kernel); module != 0) annotate_text(kModule, module);
    if (kernel.site != 0) annotate(kSite, kernel.site);
    const bool known = kernel.site != 0 || kernel.use != 0 || !kernel.op.empty() || !kernel.origin.empty();
    if (known) annotate_text(kPurpose, purposes_ + kernel.id);
    if (kernel.name != 0) annotate_text(kWholeName, whole_names_ + kernel.name);
  }
  void of_site(store::SiteId site, const lanes::Event& event) {
    if (site == 0) return;
    event_.number(track_event::kSource, site);
    const store::ModuleId module = run_.sites[site].module;
    if (module != 0) annotate_text(kModule, module);
    annotate(kSite, site);
    std::string shape;
    for (const std::uint32_t size : as_cast(event).shape()) {
      shape += (shape.empty() ? "" : "x") + std::to_string(size);
    }
    part_.clear();
    event_.message(track_event::kAnnotation, part_.number(1, kShape).bytes(6, shape));
  }
  // Writes the bytes that the cache held up to this time, then zero.
  void freed(const LaneKey& key, std::int64_t time, const lanes::Event& event) {
    for (const std::uint64_t value : {event.bytes, std::uint64_t{0}}) {
      event_.clear();
      event_.number(track_event::kType, kCounterValue).number(track_event::kTrack, counter_uuid(key.process));
      event_.number(track_event::kCounter, value);
      write(time);
    }
  }
  void write(std::int64_t time) {
    packet_.clear();
    packet_.number(packet::kTimestamp, static_cast<std::uint64_t>(std::max<std::int64_t>(time, 0)));
    packet_.message(packet::kTrackEvent, event_).number(packet::kSequence, kSequenceId);
    put(packet_.number(packet::kFlags, kNeedsState));
  }
  void put(const Message& message) {
    whole_.clear();
    out_ << whole_.message(trace::kPacket, message).text();
  }

  void track(const Message& descriptor) { put(Message().message(packet::kTrack, descriptor)); }
  void process_track(const store::Process& process) {
    const auto pid = static_cast<std::uint64_t>(pid_in_trace(run_, process.id));
    Message about;
    about.number(1, pid).bytes(6, utf8::repaired(process_name(process)));
    track(Message().number(track::kUuid, process_uuid(process.id)).message(track::kProcess, about));
    Message counter;
    counter.number(3, kUnitBytes);
    track(Message()
              .number(track::kUuid, counter_uuid(process.id))
              .number(track::kParent, process_uuid(process.id))
              .bytes(track::kName, "autocast cache, at each clear")
              .message(track::kCounter, counter));
  }
  // Each lane is a track of its own: a thread of the kernel may have had several lanes.
  void thread_track(const LaneKey& key) {
    const store::Process& process = run_.processes[key.process];
    Message about;
    about.number(1, static_cast<std::uint64_t>(pid_in_trace(run_, key.process))).number(2, key.lane);
    about.bytes(5, utf8::repaired(lane_name(process, key.lane)));
    track(Message()
              .number(track::kUuid, lane_uuid(key))
              .number(track::kParent, process_uuid(key.process))
              .message(track::kThread, about));
  }
  // Returns a stream's track, and describes the track when its first event comes.
  std::uint64_t stream_track(const StreamLine& line) {
    const auto [known, is_new] = streams_.try_emplace(line, std::uint64_t{1} << 63 | streams_.size());
    if (is_new) {
      track(Message()
                .number(track::kUuid, known->second)
                .number(track::kParent, process_uuid(line.process))
                .bytes(track::kName, stream_name(line.device, line.stream, line.line)));
    }
    return known->second;
  }
  void intern() {
    Message all;
    const auto name = [&](int list, std::uint64_t id, const std::string& text) {
      all.message(list, Message().number(1, id).bytes(2, utf8::repaired(text)));
    };
    name(interned::kCategories, kCategory, "castscope");
    name(interned::kCategories, kGpuCategory, "gpu");
    name(interned::kCategories, kCastKernelCategory, "gpu.cast");
    name(interned::kNames, kUnknownKernel, "kernel");
    name(interned::kNames, kUnknownCast, "cast");
    name(interned::kNames, kUnknownRegion, "autocast");
    for (std::uint64_t kind = 0; kind < kKinds; ++kind) {
      lanes::Event event{};
      event.kind = static_cast<lanes::EventKind>(kind);
      name(interned::kNames, kInstants + kind, event.kind == lanes::EventKind::kStep ? "step" : instant_name(event));
    }
    for (std::uint64_t i = 1; i < kAnnotations; ++i) name(interned::kAnnotations, i, kAnnotationNames[i]);
    for (const store::Site& site : run_.sites) {
      name(interned::kNames, kSites + site.id, "cast " + span_name(run_, site));
      name(interned::kNames, hits_ + site.id, "cache hit " + span_name(run_, site));
      source(all, site.id, site.stack);
    }
    for (const store::Region& region : run_.regions) {
      name(interned::kNames, regions_ + region.id, span_name(region));
      source(all, run_.sites.size() + region.id, region.stack);
    }
    for (const store::ModuleId id : run_.modules.ids()) {
      const store::Module& module = run_.modules[id];
      name(interned::kStrings, id, module.path.empty() ? module.model() : module.path);
    }
    for (const store::Kernel& kernel : run_.kernels) {
      name(interned::kNames, kernels_ + kernel.id, name_of(run_, kernel));
      name(interned::kStrings, purposes_ + kernel.id, purpose_of(run_, kernel));
      source(all, run_.sites.size() + run_.regions.size() + kernel.id, stack_of(run_, kernel));
    }
    for (const store::KernelNameId id : run_.kernel_names.ids())
      name(interned::kStrings, whole_names_ + id, demangled(run_.kernel_names[id]));
    put(Message()
            .number(packet::kSequence, kSequenceId)
            .number(packet::kFlags, kCleared)
            .message(packet::kInterned, all));
  }
  void source(Message& all, std::uint64_t id, store::StackId stack) {
    const auto at = run_.user_location(stack).value_or(store::CodeLocation());
    Message place;
    place.number(1, id).bytes(2, utf8::repaired(at.file)).bytes(3, utf8::repaired(at.function));
    all.message(interned::kSources, place.number(4, static_cast<std::uint64_t>(std::max<std::int64_t>(at.line, 0))));
  }

  const store::RunData& run_;
  Stream& out_;
  std::uint64_t hits_ = 0, regions_ = 0, kernels_ = 0;  // where names of hits, regions and kernels begin
  std::uint64_t purposes_ = 0, whole_names_ = 0;        // of the strings behind those of modules
  std::map<StreamLine, std::uint64_t> streams_;
  Message event_, part_, packet_, whole_;
};

}  // namespace

absl::Status perfetto_trace(const std::string& run_file, std::ostream& stream) {
  const auto timeline = Timeline::open(run_file);
  if (!timeline.ok()) return timeline.status();
  Stream out(stream);
  PerfettoWriter writer(timeline->run(), out);
  writer.definitions(timeline->lanes());
  const absl::Status status = timeline->send_events(writer, [&] { return out.status(); });
  if (!status.ok() && !absl::IsDataLoss(status)) return status;
  if (absl::Status finished = out.finish(); !finished.ok()) return finished;
  return status;
}

}  // namespace castscope::report
