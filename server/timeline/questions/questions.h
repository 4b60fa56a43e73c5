// The implementation of each question that a timeline answers. The caller holds the lock.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "server/timeline/questions/queries.h"
#include "server/timeline/tracks/row.h"
#include "server/timeline/tracks/track_builder.h"

namespace castscope::timeline {

// Applies a filter: says which rows, shades and subjects it lets through.
class Choice {
 public:
  Choice(const Filter& filter, const Shades& shades) : filter_(filter), shades_(shades) {}
  bool has(const Row& row) const;
  // Nullopt: nothing of this shade.
  std::optional<Wanted> of(const Row& row, std::uint8_t shade) const;
  // Returns a number for the set of hidden shades, equal for equal sets; nullopt: the filter also chooses single
  // events.
  std::optional<std::uint64_t> hidden() const;

 private:
  const Filter& filter_;
  const Shades& shades_;
};

std::string draw(const TrackBuilder&, const PictureQuery&, std::uint64_t revision);
std::optional<FoundEvent> find_at(const TrackBuilder&, std::uint32_t track, std::int64_t at, std::int64_t within,
                                  std::uint8_t shade, const Filter& filter);
std::optional<FoundEvent> find_neighbour(const TrackBuilder&, const NeighbourQuery&);

// Adds up row by row, so that new events can be fed in between.
class Summing {
 public:
  explicit Summing(const SummaryQuery& query);
  ~Summing();
  void add(const TrackBuilder&, const Row&);
  Summary summary() const;

 private:
  struct Totals;
  const SummaryQuery& query_;
  std::unique_ptr<Totals> totals_;
};

// Adds up durations row by row, too, and each row in pieces: a scan of many events must not hold up those who feed.
class Measuring {
 public:
  explicit Measuring(const DurationQuery& query) : query_(query) {}
  bool add(const TrackBuilder&, const Row&);  // true: call it again for this row
  Durations durations(const TrackBuilder&) const;

 private:
  void take(const Item&);
  const DurationQuery& query_;
  std::size_t series_ = 0, place_ = 0;  // where it goes on in the row
  Durations sums_;
  std::set<store::ProcessId> processes_;
  absl::flat_hash_map<std::int64_t, std::uint64_t> counts_;  // of each duration: far fewer than events
};

}  // namespace castscope::timeline
