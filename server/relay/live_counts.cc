#include "server/relay/live_counts.h"

#include <cstring>
#include <filesystem>
#include <memory>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/lanes/definition_records.h"
#include "agent/lanes/segment_reader.h"

namespace castscope::relay {
namespace {

using lanes::CounterValues;
using lanes::SegmentReader;

// The same causes as in totals (server/store/run/causes.h).
bool is_autocasts(lanes::Cause cause) {
  return cause == lanes::Cause::kAutocast || cause == lanes::Cause::kScript || cause == lanes::Cause::kAnnotation;
}

// Sites share one series of numbers with the definitions of deep steps, and only some sites are casts of autocast.
std::unordered_set<std::uint32_t> autocast_sites(SegmentReader& reader) {
  std::string records;
  while (reader.definitions(1 << 20, &records)) continue;
  std::unordered_set<std::uint32_t> sites{0};  // 0: calls whose site found no room for a counter
  lanes::DefinitionHeader header;
  for (std::size_t at = 0; at + sizeof header <= records.size(); at += header.size) {
    std::memcpy(&header, records.data() + at, sizeof header);
    lanes::SiteDefinition site;
    if (header.size < sizeof header || header.size > records.size() - at) break;
    if (header.kind != lanes::DefinitionKind::kSite || header.size < sizeof header + sizeof site) continue;
    std::memcpy(&site, records.data() + at + sizeof header, sizeof site);
    if (is_autocasts(site.cause)) sites.insert(header.id);
  }
  return sites;
}

void add(LiveCounts& counts, const CounterValues& values) {
  counts.casts += values.casts;
  counts.hits += values.hits;
  counts.passes += values.passes;
  counts.traced += values.traced;
  counts.bytes += values.bytes;
}

absl::Status add_segment(const std::string& path, LiveCounts& counts) {
  std::unique_ptr<SegmentReader> reader;
  std::string error;
  switch (SegmentReader::open(path, &reader, &error)) {
    case SegmentReader::Outcome::kNotReady:
      return absl::OkStatus();  // nothing was cast yet
    case SegmentReader::Outcome::kRefused:
      return absl::FailedPreconditionError(absl::StrCat(path, ": ", error));
    case SegmentReader::Outcome::kOpen:
      break;
  }
  if (!reader->refresh()) return absl::DataLossError(absl::StrCat(path, ": ", reader->error()));
  std::vector<CounterValues> all{reader->process_state().lost};
  for (std::size_t lane = 0; lane < reader->lane_count(); ++lane) {
    const std::vector<CounterValues>& of_lane = reader->counters(lane);
    all.insert(all.end(), of_lane.begin(), of_lane.end());
  }
  const std::unordered_set<std::uint32_t> sites =
      autocast_sites(*reader);  // read last, so that the sites cover the counters
  if (!reader->error().empty()) return absl::DataLossError(absl::StrCat(path, ": ", reader->error()));
  for (const CounterValues& values : all) {
    if (sites.contains(values.site)) add(counts, values);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LiveCounts> live_counts(const std::string& run_directory, pid_t pid) {
  LiveCounts counts;
  std::error_code error;
  const std::string prefix = absl::StrCat(pid, "-");
  for (const auto& entry : std::filesystem::directory_iterator(run_directory, error)) {
    const std::string name = entry.path().filename().string();
    if (!absl::StartsWith(name, prefix) || !absl::EndsWith(name, ".lanes")) continue;
    if (absl::Status status = add_segment(entry.path().string(), counts); !status.ok()) return status;
  }
  if (error) return absl::NotFoundError(absl::StrCat(run_directory, ": ", error.message()));
  return counts;
}

}  // namespace castscope::relay
