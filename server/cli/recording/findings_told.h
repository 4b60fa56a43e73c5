// What of a run's findings is worth a line in a collector's log: each finding once, when it comes up; that it has grown
// to ten times what it was; that it is found no more. A rule that finds the same at thousands of lines does not flood
// the log: of the first few each is told, of the others how many there are.
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

class FindingsTold {
 public:
  // Of one rule in one run; the same number of lines at most tells of growth, and of what is found no more.
  static constexpr std::uint64_t kMostOfARule = 10;

  explicit FindingsTold(std::string run_id) : run_id_(std::move(run_id)) {}
  // The lines that are due when these are the findings now. `last`: the run is over.
  std::vector<LogLine> news(const store::RunData& data, const std::vector<store::Finding>& findings, bool last = false);

 private:
  struct Told {
    std::string rule, place;
    std::int64_t size = 0;  // the largest number of its evidence
    std::uint64_t round = 0;
    bool said = false, withdrawn = false;
  };
  struct OfRule {
    std::uint64_t said = 0, grown = 0, withdrawn = 0;
    std::uint64_t held_back = 0, held_back_told = 0;
  };
  bool is_to_be_told(Told&, const store::Finding&);
  bool has_grown(Told&, const store::Finding&);
  void tell_withdrawn(std::vector<LogLine>&);
  void tell_held_back(std::vector<LogLine>&, bool last);

  const std::string run_id_;
  std::uint64_t round_ = 0;
  std::map<std::string, Told> findings_;  // by rule, line, and the how manieth of equals
  std::map<std::string, OfRule> rules_;
};

}  // namespace castscope::cli
