// What one may ask a timeline, and what it answers. Times are ns since the run began.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "server/timeline/tracks/tracks.h"

namespace castscope::timeline {

// Events whose name was searched for, by run-wide id: those beyond the end of a list do not match.
struct Selection {
  std::vector<bool> sites, uses, regions, kernels;
  std::vector<bool> shades;  // of steps and marks, which have no name but their shade's
};

// Which events are meant. Pointers outlive the call; null = all.
struct Filter {
  std::vector<std::uint32_t> tracks = {};  // empty = all
  std::vector<std::uint8_t> hidden = {};   // shades
  const Selection* found = nullptr;
};

inline constexpr std::uint32_t kMostPixels = 4096;

struct PictureQuery {
  std::int64_t from = 0, to = 0;
  std::uint32_t pixels = 1;  // 1 … kMostPixels
  double box = 6;            // intervals of so many pixels are told one by one
  bool counters = false;
  Filter filter = {};
  // What goes into the header as it is.
  bool live = false, loading = false;
  std::optional<std::int64_t> now = std::nullopt;  // the wall clock; of a run that goes on
  std::uint32_t definitions = 0;
  std::uint64_t judgement = 0;
};

// One event, as far as the timeline knows it.
struct FoundEvent {
  std::uint32_t track = 0, process = 0, lane = 0;
  std::uint32_t device = 0, stream = 0;  // of kernels
  // Site (casts), operator use (operators), region (regions), number of the step (steps), fact or 0 (marks),
  // kernel (kernels); 0 = not known.
  std::uint32_t subject = 0;
  Shade shade = {};
  std::int64_t begin = 0, end = 0;                     // the same of an instant
  bool open = false;                                   // it goes on
  std::uint64_t bytes = 0;                             // of casts, operators, kernels, clears
  bool kept = false;                                   // of casts: the copy went into the cache
  std::optional<std::uint32_t> step = std::nullopt;    // the process was in; not of kernels
  std::optional<std::uint32_t> region = std::nullopt;  // the lane was in; its id, 0 = not known
};

struct NeighbourQuery {
  std::int64_t at = 0;
  bool next = true;           // else the one before
  std::uint32_t subject = 0;  // of `track`; 0 = any
  bool whole = false;         // of a region that others interrupt, its first stretch alone
  Filter filter = {};
};

struct SummaryQuery {
  std::int64_t from = 0, to = 0;
  bool rows = true;  // false: by kind only, which costs a third
  Filter filter = {};
};

struct KindSum {
  ShadeKind kind{};
  std::uint64_t count = 0, ns = 0, bytes = 0;
  bool operator==(const KindSum&) const = default;
};
struct SubjectSum {
  TrackKind track{};  // kCasts, kOperators, kRegions or kKernels
  std::uint32_t subject = 0;
  ShadeKind kind{};
  std::uint64_t count = 0, ns = 0, bytes = 0;
  bool operator==(const SubjectSum&) const = default;
};
// Of everything that overlaps the window: ns is the part that lies in it, count and bytes are of whole events.
struct Summary {
  bool exact = true;  // false: some single events are no longer held; they are told by kind alone, or by their share
  std::uint64_t events = 0;
  std::vector<KindSum> kinds;    // by kind
  std::vector<SubjectSum> rows;  // by track, subject, kind
};

struct Progress {
  std::int64_t begin = 0, newest = 0;  // of what was told
  std::uint64_t events = 0;            // told so far
  std::uint64_t revision = 0;          // grows with whatever changes a picture
  std::uint64_t memory_bytes = 0;
};

}  // namespace castscope::timeline
