// The definitions of a process so far: parses its records (agent/lanes/format.h), resolves texts and hands the results
// to the run's sink. A record that makes no sense is passed over, and remembered as damage. A reference to a number
// that was never defined is not an error: the process may have run out of room for definitions. It becomes 0, "not
// known".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "agent/lanes/format.h"
#include "server/store/run/run_sink.h"

namespace castscope::ingest {

// Numbers begin at 1; a table with larger ones would exceed the segment that it came from.
inline constexpr std::uint32_t kLargestDefinitionId = 1u << 22;
// More than a segment can hold. Facts and operator uses count with their texts, which they share in the segment.
inline constexpr std::uint64_t kMostDefinitionBytes = 64ull << 20;
// So many bytes that a report says count as one. A place is said with its stack, of some kilobytes: in jobs as they
// are, this counts less than the definitions themselves.
inline constexpr std::uint64_t kShownForOne = 64;

class Definitions {
 public:
  // Takes whole records, and skips those that are known, until bytes() is beyond `most_bytes`. On an error of the sink
  // `*sink_error` is set too. Of the other errors each ends the process: more was defined than can be.
  absl::Status apply(const std::string& key, std::string_view records, std::uint64_t most_bytes, store::RunSink& sink,
                     absl::Status* sink_error);

  // Called when the process has ended. The texts and places that it defined are forgotten: a relay that comes back
  // sends them again. The kind of each number stays, so that nobody can define the number as something else.
  void forget_all_but_kinds();

  // What was wrong with the first record that made no sense: "a definition of the unknown kind 77"; "" = none did.
  const std::string& damage() const { return damage_; }
  // Whether a record with that number made no sense, and was none of a site: its counter counts no casts.
  bool lost_use(std::uint32_t id) const { return contains(lost_uses_, id); }

  // Sites and what deep steps see are numbered in one series, and counted alike.
  bool knows_number(std::uint32_t id) const { return what(id) != lanes::DefinitionKind(); }
  bool knows_site(std::uint32_t id) const { return what(id) == lanes::DefinitionKind::kSite; }
  bool knows_operator_use(std::uint32_t id) const { return what(id) == lanes::DefinitionKind::kOperatorUse; }
  bool knows_fact(std::uint32_t id) const { return what(id) == lanes::DefinitionKind::kFact; }
  bool knows_kernel(std::uint32_t id) const { return what(id) == lanes::DefinitionKind::kKernel; }
  bool knows_region(std::uint32_t id) const { return contains(regions_, id); }
  bool knows_thread(std::uint32_t id) const { return contains(threads_, id); }

  // What the new definitions cost the run: texts and stacks as they came, what is written into the run file of them,
  // and a part of what a report says of them. A few bytes may refer to a long text, and each that does has it written
  // again.
  std::uint64_t bytes() const { return bytes_ + written_ + shown_ / kShownForOne; }

 private:
  struct Record {
    lanes::DefinitionKind kind{};
    std::uint32_t id = 0;
    std::string_view payload;
  };
  // The kind of the definition that has this number in the series of sites; DefinitionKind() where there is none.
  lanes::DefinitionKind what(std::uint32_t id) const {
    return id < numbers_.size() ? numbers_[id] : lanes::DefinitionKind();
  }
  std::uint32_t known(lanes::DefinitionKind kind, std::uint32_t id) const { return what(id) == kind ? id : 0; }
  // Assigns `id` to a definition. `fresh` is false if it was defined before; a definition of another kind is an error.
  absl::Status number(lanes::DefinitionKind kind, std::uint32_t id, bool* fresh);
  using Set = std::vector<bool>;
  static bool contains(const Set& set, std::uint32_t id) { return id < set.size() && set[id]; }
  static bool insert(Set& set, std::uint32_t id);  // false: it was in the set
  static std::uint32_t known(const Set& set, std::uint32_t id) { return contains(set, id) ? id : 0; }

  void pass_over(const Record& record, const absl::Status& why);
  absl::Status apply_one(const std::string& key, const Record& record, store::RunSink& sink);
  // Takes one record of this kind. A record that makes no sense is an error.
  template <typename Definition>
  absl::Status take(const std::string& key, const Record& record, store::RunSink& sink);
  std::uint32_t known_subject(const lanes::FactDefinition& fact) const;
  absl::Status kept(absl::Status status);  // remembers an error of the sink
  // The bytes of text that a report says of a definition, by its number.
  class Shown {
   public:
    void set(std::uint32_t id, std::uint64_t bytes);
    std::uint64_t of(std::uint32_t id) const { return id < bytes_.size() ? bytes_[id] : 0; }

   private:
    std::vector<std::uint32_t> bytes_;
  };
  // What a report says of the module, the place, and so on, that a definition names.
  std::uint64_t shown_of(std::uint32_t stack, std::uint32_t module, std::uint32_t region) const {
    return shown_of_stack_.of(stack) + shown_of_module_.of(module) + shown_of_region_.of(region);
  }
  const std::string& text(std::uint32_t id) const;
  const std::string& operator_name(std::uint32_t id) const;

  struct Code {
    std::uint32_t file = 0, function = 0;
  };
  absl::flat_hash_map<std::uint32_t, std::string> strings_;
  absl::flat_hash_map<std::uint32_t, Code> codes_;
  absl::flat_hash_map<std::uint32_t, std::uint32_t> operators_;  // → string
  absl::flat_hash_set<std::pair<std::string, std::string>> attributes_;
  absl::flat_hash_set<std::size_t> said_of_call_sites_;
  Set stacks_, modules_, call_sites_, regions_, threads_;
  std::vector<lanes::DefinitionKind> numbers_;
  Shown shown_of_stack_, shown_of_module_, shown_of_call_site_, shown_of_region_, shown_of_number_;
  std::uint64_t bytes_ = 0, written_ = 0, shown_ = 0;
  std::string damage_;
  Set lost_uses_;
  absl::Status sink_error_;
};

#define CASTSCOPE_TAKE(kind, number, Type) \
  template <>                              \
  absl::Status Definitions::take<lanes::Type>(const std::string& key, const Record& record, store::RunSink& sink);
CASTSCOPE_DEFINITION_KINDS(CASTSCOPE_TAKE)
#undef CASTSCOPE_TAKE

}  // namespace castscope::ingest
