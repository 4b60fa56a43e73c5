// Measures the cost of the timeline: `timeline_bench [millions of events]`. Prints, for runs of different shape, ns and
// bytes an event, and how long pictures of 3,000 windows take, their lengths spread evenly over all orders of
// magnitude.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <vector>

#include "server/timeline/testing/test_events.h"

namespace castscope::timeline {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::uint32_t kSites = 200;

// Measures this thread's CPU time only, a figure that holds on a machine that does other things too.
double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// Every third site casts up; the sites' numbers are the same in each process.
class BenchNumbers final : public Numbers {
 public:
  BenchNumbers() : sites_(kSites) {
    for (const store::SiteId id : sites_.ids()) {
      sites_[id].id = id;
      sites_[id].from = id % 3 == 0 ? kBrain : kFloat;
      sites_[id].to = id % 3 == 0 ? kFloat : kBrain;
      sites_[id].cause = lanes::Cause::kAutocast;
    }
    region_.id = store::RegionId(1);
    region_.dtype = kBrain;
    region_.enabled = true;
  }
  const store::Site* site(store::ProcessId, std::uint32_t local) const override {
    return &sites_[store::SiteId(local)];
  }
  const store::Region* region(store::ProcessId, std::uint32_t) const override { return &region_; }
  const store::OperatorUse* operator_use(store::ProcessId, std::uint32_t) const override { return nullptr; }
  KernelLook kernel(store::ProcessId, std::uint32_t) const override { return {}; }
  store::FactId fact(store::ProcessId, std::uint32_t) const override { return {}; }

 private:
  store::Table<store::Site> sites_;
  store::Region region_;
};

// A lane of a training job: in each step a region with some hundred casts and hits close together, then a pause.
class TrainingLane {
 public:
  TrainingLane(std::uint32_t seed, bool steps, double ns_per_event)
      : random_(seed), steps_(steps), step_ns_(ns_per_event * (kInStep + 4)) {}
  void next(std::size_t n, std::vector<lanes::Event>* events) {
    events->clear();
    while (events->size() < n) step(events);
  }

 private:
  static constexpr std::uint32_t kInStep = 300;
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  lanes::Event& emit(std::vector<lanes::Event>* events, lanes::EventKind kind, std::uint32_t number) {
    return events->emplace_back(event(kind, static_cast<std::int64_t>(now_), number));
  }
  void step(std::vector<lanes::Event>* events) {
    const double begin = now_, gap = std::min(step_ns_ / (kInStep * 2.0), 20'000.0);
    if (steps_) emit(events, lanes::EventKind::kStep, 0).step = ++number_;
    emit(events, lanes::EventKind::kRegionEnter, 1);
    for (std::uint32_t i = 0; i < kInStep; ++i) {
      now_ += gap * (0.25 + 1.5 * below(1000) / 1000.0);
      const bool hit = below(5) == 0;
      lanes::Event& made = emit(events, hit ? lanes::EventKind::kHit : lanes::EventKind::kCast, i % kSites + 1);
      if (hit) continue;
      made.bytes = 4096u << below(10);
      made.duration = static_cast<std::uint32_t>(gap * 0.2 + below(static_cast<std::uint32_t>(gap * 0.2) + 1));
      made.flags = i % 7 == 0 ? lanes::kFlagKept : 0;
    }
    now_ += gap;
    emit(events, lanes::EventKind::kRegionExit, 1);
    emit(events, lanes::EventKind::kCacheClear, 0).bytes = 1 << 20;
    now_ = std::max(now_ + gap, begin + step_ns_ * (0.8 + 0.4 * below(1000) / 1000.0));
  }
  std::mt19937 random_;
  const bool steps_;
  const double step_ns_;
  double now_ = 0;
  std::uint32_t number_ = 0;
};

void fill(Timeline& timeline, double millions, std::uint32_t n_lanes, double seconds) {
  const BenchNumbers numbers;
  const auto total = static_cast<std::uint64_t>(millions * 1e6);
  const double ns_per_event = seconds * 1e9 * n_lanes / static_cast<double>(total);
  std::vector<TrainingLane> lanes;
  for (std::uint32_t i = 0; i < n_lanes; ++i) lanes.emplace_back(i, i % 8 == 0, ns_per_event);
  std::vector<lanes::Event> events;
  double spent_ms = 0, most_ms = 0;
  while (timeline.progress().events < total) {
    for (std::uint32_t i = 0; i < n_lanes; ++i) {
      lanes[i].next(1000, &events);
      const auto begin = Clock::now();
      timeline.feed(numbers, store::ProcessId(i / 8 + 1), i % 8 + 1, events);
      timeline.settle();
      const double ms = ms_since(begin);
      spent_ms += ms;
      most_ms = std::max(most_ms, ms);
    }
  }
  const Progress progress = timeline.progress();
  const auto n = static_cast<double>(progress.events);
  std::printf("  append      %.1f ns/event (slowest batch of 1,000: %.2f ms), %.1f bytes/event\n", spent_ms * 1e6 / n,
              most_ms, static_cast<double>(progress.memory_bytes) / n);
}

struct Timings {
  std::vector<double> ms, cpu;
  template <typename Ask>
  void measure(const Ask& ask) {
    const auto begin = Clock::now();
    const double cpu_begin = cpu_ms();
    ask();
    cpu.push_back(cpu_ms() - cpu_begin);
    ms.push_back(ms_since(begin));
  }
};

void report(const char* name, Timings timings, std::size_t bytes = 0) {
  std::printf("  %-11s", name);
  for (std::vector<double>* times : {&timings.ms, &timings.cpu}) {
    std::sort(times->begin(), times->end());
    std::printf(" p50 %.2f ms, p95 %.2f ms, max %.2f ms%s", (*times)[times->size() / 2],
                (*times)[times->size() * 95 / 100], times->back(), times == &timings.ms ? "; CPU" : "");
  }
  if (bytes > 0) std::printf(", at most %.0f KB", static_cast<double>(bytes) / 1024);
  std::printf("\n");
}

void ask(const Timeline& timeline, const char* name, const Filter& filter, int windows) {
  std::mt19937_64 random(7);
  const auto newest = static_cast<double>(timeline.progress().newest);
  Timings timings;
  std::size_t most_bytes = 0;
  for (int i = 0; i < windows; ++i) {
    const double length = std::exp(std::uniform_real_distribution(std::log(1e3), std::log(newest))(random));
    PictureQuery query;
    query.from = static_cast<std::int64_t>(std::uniform_real_distribution(0.0, newest - length)(random));
    query.to = query.from + static_cast<std::int64_t>(length);
    query.pixels = 1600;
    query.filter = filter;
    timings.measure([&] { most_bytes = std::max(most_bytes, timeline.picture(query).size()); });
  }
  report(name, timings, most_bytes);
}

void measure(const char* name, double millions, std::uint32_t n_lanes, double seconds, std::size_t budget) {
  std::printf("%s: %.0f million events, %u lanes, %.0f s\n", name, millions, n_lanes, seconds);
  Timeline timeline({.bytes = budget});
  fill(timeline, millions, n_lanes, seconds);
  ask(timeline, "pictures", {}, 3000);
  Selection one;
  one.sites.resize(8);
  one.sites[7] = true;
  Filter found;
  found.found = &one;
  ask(timeline, "find 1 site", found, 100);
  for (const bool rows : {true, false}) {
    Timings timings;
    const SummaryQuery query{.from = 12'345'678, .to = timeline.progress().newest - 12'345'678, .rows = rows};
    for (int i = 0; i < 20; ++i) timings.measure([&] { timeline.summary(query); });
    report(rows ? "summary" : "its kinds", timings);
  }
  std::printf("  memory      %.0f MB\n", static_cast<double>(timeline.progress().memory_bytes) / (1 << 20));
}

}  // namespace
}  // namespace castscope::timeline

int main(int argc, char** argv) {
  const double millions = argc > 1 ? std::atof(argv[1]) : 10;
  using castscope::timeline::measure;
  constexpr std::size_t kBudget = std::size_t{512} << 20;
  measure("a minute", millions, 64, 60, kBudget);
  measure("an hour", millions, 64, 3600, kBudget);
  measure("one lane", millions, 1, 60, kBudget);
  measure("a minute, a quarter of the memory it takes", millions, 64, 60, static_cast<std::size_t>(millions * 6e6));
  return 0;
}
