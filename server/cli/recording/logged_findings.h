// Decides which of a run's findings get a line in a collector's log: each finding once, when it comes up; again when it
// has grown tenfold; and when it is no longer found. A rule that finds the same at thousands of lines does not flood
// the log: the first few get lines of their own, the rest are counted.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "server/store/run/run_data.h"

namespace castscope::cli {

struct LogLine {
  enum class Level : std::uint8_t { kError, kWarning, kInfo };
  Level level = Level::kInfo;
  std::string text;
};

class LoggedFindings {
 public:
  // The limit for each rule in a run. The same limit holds for lines about growth, and for lines about findings that
  // are gone.
  static constexpr std::uint64_t kMostOfARule = 10;

  explicit LoggedFindings(std::string run_id) : run_id_(std::move(run_id)) {}
  // Returns the lines that are due when these are the current findings. `last` means that the run is over.
  std::vector<LogLine> new_lines(const store::RunData& data, const std::vector<store::Finding>& findings,
                                 bool last = false);

 private:
  struct KnownFinding {
    std::string rule, place;
    std::int64_t size = 0;  // the largest number in its evidence
    std::uint64_t round = 0;
    bool said = false, withdrawn = false;
  };
  struct OfRule {
    std::uint64_t said = 0, grown = 0, withdrawn = 0;
    std::uint64_t held_back = 0, held_back_logged = 0;
  };
  bool register_new(KnownFinding&, const store::Finding&);
  bool has_grown(KnownFinding&, const store::Finding&);
  void add_withdrawn(std::vector<LogLine>&);
  void add_held_back(std::vector<LogLine>&, bool last);

  const std::string run_id_;
  std::uint64_t round_ = 0;
  std::map<std::string, KnownFinding> findings_;  // by rule, line, and a count among equal ones
  std::map<std::string, OfRule> rules_;
};

}  // namespace castscope::cli
