// For tests and benchmarks: events like those of a small transformer's training loop. Things that repeat in reality
// repeat here (sites, shapes, weights and their versions), and noise there is noise here (times, durations, where the
// heap puts activations).
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "agent/lanes/event_views.h"
#include "agent/lanes/format.h"

namespace castscope::wire {

using lanes::EventWords;

// `deep`: every step is a deep one. Each linear is told too, when it ends, with an argument that passed through as it
// was.
inline std::vector<lanes::Event> training_stream(std::size_t count, std::uint64_t seed = 42, bool deep = false) {
  constexpr std::uint32_t kLinears = 12;  // each casts its input and its weight, and hits its bias
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> delay(9.5, 0.6), duration(7.3, 0.4);
  std::uint64_t time = 1'000'000;
  std::vector<lanes::Event> events;
  auto emit = [&](lanes::EventKind kind, std::uint32_t site, std::uint32_t step) -> lanes::Event& {
    time += static_cast<std::uint64_t>(delay(random));
    lanes::Event& event = events.emplace_back(lanes::Event{});
    event.time = time;
    event.kind = kind;
    event.site = site;
    event.step = event.region = step;
    return event;
  };
  auto end_operator = [&](std::uint32_t site, std::uint32_t step, std::uint64_t begin) {
    emit(lanes::EventKind::kPass, 100 + site, step).ndim = 2;
    lanes::Event& event = emit(lanes::EventKind::kOperator, 200 + site, step);
    event.duration = static_cast<std::uint32_t>(event.time - begin);
    event.time = begin;
    event.bytes = 64 * 64 * 2;
  };
  for (std::uint32_t step = 1; events.size() < count; ++step) {
    std::uint64_t begin = 0;
    emit(lanes::EventKind::kRegionEnter, 1, step);
    for (std::uint32_t i = 0; i < kLinears * 3; ++i) {
      const bool hit = i % 3 == 2, activation = i % 3 == 0;
      lanes::Event& event = emit(hit ? lanes::EventKind::kHit : lanes::EventKind::kCast, i + 1, step);
      const std::uint64_t heap = 0x7f0000000000 + i * 4160;
      EventWords::tensor(event) = activation && random() % 3 == 0 ? heap + random() % 64 * 192 : heap;
      EventWords::entries(event) = activation ? 0 : step;
      EventWords::dims(event)[0] = 64;
      EventWords::dims(event)[1] = hit ? 0 : 64 + i;
      event.ndim = hit ? 1 : 2;
      event.bytes = hit ? 0 : 64 * (64 + i) * 2;
      event.duration = hit ? 0 : static_cast<std::uint32_t>(duration(random));
      event.flags = !hit && !activation ? lanes::kFlagKept : 0;
      if (activation) begin = event.time - 2000;
      if (deep && hit) end_operator(i, step, begin);
    }
    emit(lanes::EventKind::kRegionExit, 1, step);
    emit(lanes::EventKind::kCacheClear, 0, step).bytes = 123'456;
    emit(lanes::EventKind::kStep, 0, step + 1).flags = 1;
  }
  events.resize(count);
  return events;
}

}  // namespace castscope::wire
