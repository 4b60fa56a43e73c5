// For tests: writes events of lanes in few words, with numbers that mean something.
//
//   Feeder(timeline).lane(1).enter(10, TestNumbers::kOnRegion).cast(20, 25, TestNumbers::kDownSite);
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "agent/lanes/event_views.h"
#include "server/timeline/timeline.h"

namespace castscope::timeline {

inline constexpr std::uint8_t kHalf = 5, kFloat = 6, kBrain = 15;

// Local numbers are the ids plus 1000 for each process.
class TestNumbers final : public Numbers {
 public:
  TestNumbers() {
    add_site(kDownSite, kFloat, kBrain, lanes::Cause::kAutocast);
    add_site(kUpSite, kBrain, kFloat, lanes::Cause::kAutocast);
    add_site(kSameSite, kHalf, kBrain, lanes::Cause::kUserTo);
    add_site(kWeightSite, kFloat, kBrain, lanes::Cause::kAutocast);
    add_region(kOnRegion, kBrain, true);
    add_region(kHalfRegion, kHalf, true);
    add_region(kOffRegion, kFloat, false);
    for (const std::uint32_t id : {1u, 2u, 3u}) {
      uses_[id].id = store::OperatorUseId(id);
      uses_[id].computed = id == 1 ? kBrain : kFloat;
    }
    for (const auto& [id, path] : std::map<std::uint32_t, const char*>{{kQueryUse, "layer.0.attention.query"},
                                                                       {kKeyUse, "layer.0.attention.key"},
                                                                       {kHeadUse, "head"},
                                                                       {kNetUse, ""}}) {
      uses_[id].id = store::OperatorUseId(id);
      modules_[id] = {.path = path, .type = {}, .root_type = "Net"};
    }
    for (const std::uint32_t id : {kCastKernel, kMatmulKernel, kCopyKernel}) {
      KernelLook& look = kernels_[id];
      look = {.id = store::KernelId(id), .work = id == kCopyKernel ? lanes::GpuWork::kCopy : lanes::GpuWork::kKernel};
      look.cast = id == kCastKernel;
      look.launched_for(&sites_[kDownSite], id == kMatmulKernel ? &uses_[1] : nullptr);
    }
  }
  enum SiteId : std::uint32_t { kDownSite = 1, kUpSite, kSameSite, kWeightSite };
  enum RegionId : std::uint32_t { kOnRegion = 1, kHalfRegion, kOffRegion };
  enum UseId : std::uint32_t { kQueryUse = 4, kKeyUse, kHeadUse, kNetUse };  // 1 … 3 belong to no module
  enum KernelId : std::uint32_t { kCastKernel = 1, kMatmulKernel, kCopyKernel };

  static std::uint32_t local(store::ProcessId process, std::uint32_t id) { return id + process * 1000; }
  const store::Site* site(store::ProcessId process, std::uint32_t local) const override {
    return at(sites_, process, local);
  }
  const store::Region* region(store::ProcessId process, std::uint32_t local) const override {
    return at(regions_, process, local);
  }
  const store::OperatorUse* operator_use(store::ProcessId process, std::uint32_t local) const override {
    return at(uses_, process, local);
  }
  const store::Module* module_of_use(store::ProcessId process, std::uint32_t local) const override {
    return at(modules_, process, local);
  }
  KernelLook kernel(store::ProcessId process, std::uint32_t local) const override {
    const KernelLook* const look = at(kernels_, process, local);
    return look == nullptr ? KernelLook() : *look;
  }
  store::FactId fact(store::ProcessId process, std::uint32_t local) const override {
    return store::FactId(local - process * 1000);
  }

 private:
  template <typename T>
  static const T* at(const std::map<std::uint32_t, T>& all, store::ProcessId process, std::uint32_t local) {
    const auto found = all.find(local - process * 1000);
    return found == all.end() ? nullptr : &found->second;
  }
  void add_site(std::uint32_t id, std::uint8_t from, std::uint8_t to, lanes::Cause cause) {
    sites_[id].id = store::SiteId(id);
    sites_[id].from = from;
    sites_[id].to = to;
    sites_[id].cause = cause;
  }
  void add_region(std::uint32_t id, std::uint8_t dtype, bool enabled) {
    regions_[id].id = store::RegionId(id);
    regions_[id].dtype = dtype;
    regions_[id].enabled = enabled;
  }
  std::map<std::uint32_t, store::Site> sites_;
  std::map<std::uint32_t, store::Region> regions_;
  std::map<std::uint32_t, store::OperatorUse> uses_;
  std::map<std::uint32_t, store::Module> modules_;  // by use
  std::map<std::uint32_t, KernelLook> kernels_;
};

// A step whose begin was never fed.
inline constexpr std::uint32_t kNoStep = 4'000'000'000;

inline lanes::Event event(lanes::EventKind kind, std::int64_t time, std::uint32_t number = 0) {
  lanes::Event made{};
  made.step = kNoStep;
  made.kind = kind;
  made.time = static_cast<std::uint64_t>(time);
  made.site = number;
  return made;
}

inline lanes::Event kernel_event(std::int64_t begin, std::int64_t end, std::uint32_t number, std::uint32_t stream = 7,
                                 std::uint32_t device = 0) {
  lanes::Event made = event(lanes::EventKind::kKernel, begin, number);
  made.duration = static_cast<std::uint32_t>(end - begin);
  put(made, lanes::KernelEvent{.device = device, .stream = stream});
  return made;
}

// Feeds a timeline with one event after another.
class Feeder {
 public:
  explicit Feeder(Timeline& timeline, store::ProcessId process = store::ProcessId(1))
      : timeline_(timeline), process_(process) {}
  Feeder& lane(std::uint32_t lane) {
    lane_ = lane;
    return *this;
  }
  Feeder& cast(std::int64_t begin, std::int64_t end, std::uint32_t site, std::uint64_t bytes = 100, bool kept = false) {
    lanes::Event made = event(lanes::EventKind::kCast, begin, local(site));
    made.duration = static_cast<std::uint32_t>(end - begin);
    made.bytes = bytes;
    made.flags = kept ? lanes::kFlagKept : 0;
    return feed(made);
  }
  Feeder& hit(std::int64_t time, std::uint32_t site, std::uint32_t step = kNoStep) {
    lanes::Event made = event(lanes::EventKind::kHit, time, local(site));
    made.step = step;
    return feed(made);
  }
  Feeder& pass(std::int64_t time, std::uint32_t site) {
    return feed(event(lanes::EventKind::kPass, time, local(site)));
  }
  Feeder& enter(std::int64_t time, std::uint32_t region) {
    return feed(event(lanes::EventKind::kRegionEnter, time, local(region)));
  }
  Feeder& exit(std::int64_t time, std::uint32_t region) {
    return feed(event(lanes::EventKind::kRegionExit, time, local(region)));
  }
  Feeder& step(std::int64_t time, std::uint32_t number) {
    lanes::Event made = event(lanes::EventKind::kStep, time);
    made.step = number;
    return feed(made);
  }
  Feeder& deep(std::int64_t time, bool on = true) {
    lanes::Event made = event(lanes::EventKind::kDeep, time);
    made.flags = on ? 1 : 0;
    return feed(made);
  }
  Feeder& clear(std::int64_t time, std::uint64_t bytes) {
    lanes::Event made = event(lanes::EventKind::kCacheClear, time);
    made.bytes = bytes;
    return feed(made);
  }
  Feeder& mark(lanes::EventKind kind, std::int64_t time, std::uint32_t fact = 0) {
    return feed(event(kind, time, fact == 0 ? 0 : local(fact)));
  }
  Feeder& operate(std::int64_t begin, std::int64_t end, std::uint32_t use, std::uint8_t depth = 0,
                  std::uint32_t step = kNoStep) {
    lanes::Event made = event(lanes::EventKind::kOperator, begin, local(use));
    made.step = step;
    made.duration = static_cast<std::uint32_t>(end - begin);
    made.flags = depth;
    return feed(made);
  }
  Feeder& run(std::int64_t begin, std::int64_t end, std::uint32_t kernel, std::uint32_t stream = 7,
              std::uint32_t device = 0) {
    return feed(kernel_event(begin, end, local(kernel), stream, device));
  }
  Feeder& feed(const lanes::Event& made) { return feed(std::span(&made, 1)); }
  Feeder& feed(std::span<const lanes::Event> made) {  // in one batch
    timeline_.feed(numbers_, process_, lane_, made);
    timeline_.settle();
    return *this;
  }

 private:
  std::uint32_t local(std::uint32_t id) const { return TestNumbers::local(process_, id); }
  Timeline& timeline_;
  const TestNumbers numbers_;
  const store::ProcessId process_;
  std::uint32_t lane_ = 1;
};

}  // namespace castscope::timeline
