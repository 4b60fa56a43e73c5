#include "server/relay/unreadable.h"

#include <filesystem>
#include <memory>
#include <system_error>

#include "agent/lanes/segment_reader.h"

namespace castscope::relay {

std::vector<std::string> why_unreadable(const std::string& run_directory) {
  using Outcome = lanes::SegmentReader::Outcome;
  std::vector<std::string> why;
  std::error_code error;
  for (std::filesystem::directory_iterator at(run_directory, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() != ".lanes") continue;
    std::unique_ptr<lanes::SegmentReader> reader;
    std::string problem;
    const Outcome outcome = lanes::SegmentReader::open(at->path().string(), &reader, &problem);
    if (outcome == Outcome::kOpen) return {};
    if (outcome == Outcome::kRefused) why.push_back(problem);
  }
  return why;
}

}  // namespace castscope::relay
