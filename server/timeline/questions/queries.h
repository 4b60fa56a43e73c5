// The questions that a timeline answers, and its answers. Times are ns since the run began.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "server/store/run/ids.h"
#include "server/timeline/tracks/tracks.h"

namespace castscope::timeline {

// The events that a search has found.
struct Selection {
  // By run-wide id; what is beyond the end of a list is not found.
  using Ids = std::vector<bool>;
  Ids sites = {}, uses = {}, regions = {}, kernels = {};
  // What is found of events of a kind, where that differs from the lists above; nothing = all of them. Those of marks
  // are facts, and 0 a mark without one. Steps and marks that are not told of here are not found.
  std::map<ShadeKind, std::optional<Ids>> of_kind = {};

  // What is found of the events of a kind in tracks of a kind; null: all of them.
  const Ids* of(TrackKind track, ShadeKind kind) const;
};

// Selects events. Pointers outlive the call; null = all.
struct Filter {
  std::vector<std::uint32_t> tracks = {};  // empty = all
  std::vector<std::uint8_t> hidden = {};   // shades
  const Selection* found = nullptr;
};

inline constexpr std::uint32_t kMostPixels = 4096;

struct PictureQuery {
  std::int64_t from = 0, to = 0;
  std::uint32_t pixels = 1;  // 1 … kMostPixels
  double box = 6;            // intervals of at least so many pixels are listed one by one
  bool counters = false;
  Filter filter = {};
  // These go into the header unchanged.
  bool live = false, loading = false;
  std::optional<std::int64_t> now = std::nullopt;  // the wall clock; only for a run that goes on
  std::uint32_t definitions = 0;
  std::uint64_t judgement = 0;
};

// One event, as far as the timeline knows it.
struct FoundEvent {
  std::uint32_t track = 0;
  store::ProcessId process = {};
  std::uint32_t lane = 0;
  std::uint32_t device = 0, stream = 0;  // of kernels
  // The site (casts), operator use (operators), region (regions), number of the step (steps), fact or 0 (marks), or
  // kernel (kernels); 0 = not known.
  std::uint32_t subject = 0;
  Shade shade = {};
  std::int64_t begin = 0, end = 0;                       // an instant ends where it begins
  bool open = false;                                     // it has not ended
  std::uint64_t bytes = 0;                               // of casts, operators, kernels, clears
  bool kept = false;                                     // of casts: the copy went into the cache
  std::optional<std::uint32_t> step = std::nullopt;      // the step that the process was in; not for kernels
  std::optional<store::RegionId> region = std::nullopt;  // the region that the lane was in; none = not known
};

struct NeighbourQuery {
  std::int64_t at = 0;
  bool next = true;           // false: the event before
  std::uint32_t subject = 0;  // of `track`; 0 = any
  bool whole = false;         // a region that others interrupt counts once, by its first stretch
  Filter filter = {};
};

struct SummaryQuery {
  std::int64_t from = 0, to = 0;
  bool rows = true;  // false: by kind and shade only, which takes a third of the time
  // Counts the time of modules as events, too. It is that of their operators, which are counted in any case.
  bool modules = false;
  Filter filter = {};
};

struct KindSum {
  ShadeKind kind{};
  std::uint64_t count = 0, ns = 0, bytes = 0;
  bool operator==(const KindSum&) const = default;
};
struct ShadeSum {
  std::uint8_t shade = 0;
  std::uint64_t count = 0, ns = 0, bytes = 0;
  bool operator==(const ShadeSum&) const = default;
};
struct SubjectSum {
  TrackKind track{};  // kCasts, kOperators, kRegions, kKernels, or kMarks
  std::uint32_t subject = 0;
  ShadeKind kind{};
  std::uint64_t count = 0, ns = 0, bytes = 0;
  bool operator==(const SubjectSum&) const = default;
};
// Sums over everything that overlaps the window: ns is the time within the window, count and bytes are those of whole
// events.
struct Summary {
  bool exact = true;  // false: some single events are gone and count by kind alone, or by their share
  std::uint64_t events = 0;
  std::vector<KindSum> kinds;    // by kind
  std::vector<ShadeSum> shades;  // by shade
  std::vector<SubjectSum> rows;  // by track, subject, kind
};

// Events that have a duration, of one kind of track: casts (cache hits and what passes through have none), operators,
// kernels or steps.
struct DurationQuery {
  std::int64_t from = 0, to = 0;
  TrackKind track = TrackKind::kCasts;
  std::uint32_t subject = 0;  // 0 = any
  Filter filter = {};
};

// What overlaps the window: `ns` is the time of whole events, `window_ns` that within the window.
struct Durations {
  std::uint64_t count = 0, ns = 0, window_ns = 0, bytes = 0;
  // So many of them are still single events, and all that follows is of those. The others are sums; where such a
  // stretch lies in the window only in part, `count` and the sums are what its share would be, and not exact.
  std::uint64_t single = 0;
  bool exact = true;
  std::int64_t shortest = 0, median = 0, p95 = 0, longest = 0;  // by nearest rank; 0 where there is no single event
  struct Bar {
    std::int64_t from = 0, to = 0;  // durations in [from, to); each is about twice as wide as the one before
    std::uint64_t count = 0;
    bool operator==(const Bar&) const = default;
  };
  std::vector<Bar> bars;  // from the shortest to the longest, empty ones between them included
  // Of the processes that have such events: their steps in the window, and how much of the window these are.
  std::uint64_t steps = 0, steps_ns = 0;
  std::int64_t missing_ns = 0;  // so much of the window has no events, since they were not kept, of any one process
};

struct Progress {
  std::int64_t begin = 0, newest = 0;  // of the events so far
  std::uint64_t events = 0;            // fed so far
  std::uint64_t revision = 0;          // grows with whatever changes a picture
  std::uint64_t memory_bytes = 0;
};

}  // namespace castscope::timeline
