// Lists the operators that a policy rule reports, all of a process together: one finding for a job, however many lines
// it has.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "server/store/run/run_data.h"

namespace castscope::rules {

struct ListedOperators {
  const store::OperatorUse* first = nullptr;
  std::uint64_t times = 0, ns = 0;
  std::map<std::string, std::uint64_t> names;   // operator → how often
  std::vector<const store::OperatorUse*> uses;  // in the order of first calls
};

// Returns for each process the uses that `is_one` accepts; processes with the same first place share an entry. The
// entries are ordered by that place.
template <typename IsOne>
std::vector<ListedOperators> listed_operators(const store::RunData&, IsOne is_one);

// Returns "cdist (3 times), fft_fft (once)"; the most frequent first.
std::string list_text(const ListedOperators&);
// Returns "cdist"; "cdist, fft_fft and 3 more".
std::string short_list(const ListedOperators&);
// Returns the lines besides the finding's own, each once.
std::vector<store::CodeLocation> other_places(const store::RunData&, const ListedOperators&);

void add_use(ListedOperators&, const store::OperatorUse&, const store::UseCount&);
std::vector<ListedOperators> merged_by_place(const store::RunData&, const std::vector<ListedOperators>&);

template <typename IsOne>
std::vector<ListedOperators> listed_operators(const store::RunData& data, IsOne is_one) {
  std::map<store::ProcessId, ListedOperators> by_process;
  for (const store::UseCount& count : data.use_counts) {
    const store::OperatorUse& use = data.operator_uses[count.use];
    if (count.times > 0 && is_one(use, count.process)) add_use(by_process[count.process], use, count);
  }
  std::vector<ListedOperators> all;
  for (auto& [process, listed] : by_process) all.push_back(std::move(listed));
  return merged_by_place(data, all);
}

}  // namespace castscope::rules
