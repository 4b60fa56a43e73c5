// Defines rules and the inquiry that each is given. A rule examines a run and says what is wrong with it. It is a pure
// function of the run's data, so that it says the same during a run and about a finished file, and it judges behaviour
// that was seen, never a version.
//
// A rule is one file in one of the groups that defines its Rule, one line in ../list.h, and a test (NAME_test.cc) with
// a golden case that it must find and cases that it must leave alone.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "server/rules/evidence/finding.h"
#include "server/rules/inquiry/settings.h"
#include "server/store/run/run_data.h"

namespace castscope::rules {

// A number that decides, with its default; people may set another in castscope.json. A comment at its definition
// explains how it was chosen.
struct Threshold {
  std::string_view name;  // "entries"
  double value;
  std::string_view meaning;  // one line: "fewer entries of one line in one region are ordinary code"
};

// What a job suffers from what a rule finds.
enum class Harm : std::uint8_t {
  kNone,  // it is only worth knowing
  kTime,
  kMemory,
  kPrecision,  // code computes in another dtype than it says, or than the same code elsewhere
  kResults,    // numbers are lost: the results may be wrong
  kError,      // an exception is raised, or will be
};
std::string_view name(Harm);   // "none", "time", "memory", "precision", "results", "error"
std::string_view words(Harm);  // "may change results"; "" for kNone

// What a rule looks at beyond counts, definitions and facts, which are exact and of the whole run. Where that was not
// recorded, or not all of it, an empty answer does not mean that all is well (judged_rules.h).
enum Sees : std::uint8_t {
  kCountsAlone = 0,
  kOperators = 1,      // operators of deep steps, the values between them, and how far these reach
  kEvents = 2,         // what happened within one stay in a region, or from step to step
  kDevice = 4,         // kernels and matrix products of GPUs
  kSomeOperators = 8,  // as kOperators, but without these the rule still finds a part
};

// The text of `castscope explain`, in short paragraphs of Markdown.
struct Explanation {
  std::string_view what;     // what happens
  std::string_view why;      // why it matters
  std::string_view example;  // Python that shows it: runs as it stands on a CPU, unless it says otherwise
  std::string_view fix;
  // The example, changed as the words of the finding's fix say, and in nothing else: the rule finds nothing in it.
  // Empty where no run on a CPU could show that.
  std::string_view fixed_example = {};
  std::string_view links;  // to PyTorch's documentation, one a line
};

class Inquiry;

struct Rule {
  std::string_view name;      // "cache-grows"
  std::string_view severity;  // error, warning, performance, info
  Harm harm = Harm::kNone;
  std::string_view summary;  // one line, for lists
  std::span<const Threshold> thresholds;
  std::uint8_t sees = kCountsAlone;  // Sees, together; without it there is nothing that the rule could find
  Explanation explanation;
  void (*judge)(Inquiry&);

  bool sees_operators() const { return (sees & (kOperators | kSomeOperators)) != 0; }
};

// Asks a rule about one run, and collects its findings.
class Inquiry {
 public:
  Inquiry(const Rule& rule, const store::RunData& run, const Settings& settings)
      : data(run), rule_(rule), settings_(settings) {}
  const store::RunData& data;
  double threshold(std::string_view name) const;
  // Returns the policy that the run is compared with; null = none.
  std::shared_ptr<const policy::Policy> policy() const;
  // Adds a finding at the innermost line of the user's own on this stack (0 = none), with rule and severity; the rule
  // fills in title, evidence and fix. Where that line is in an installed package, the line that calls it becomes a
  // related place. The reference is valid until the next finding is added.
  Finding& add(store::StackId stack) { return add(stack, rule_.severity); }
  // Does the same with another severity than the rule's. A severity that the settings give the rule takes precedence.
  Finding& add(store::StackId stack, std::string_view severity);
  // Returns the findings. Their related places are each named once, without the finding's own. A fix at a line of a
  // library with a switch of its own names the switch.
  std::vector<Finding> take();

 private:
  const Rule& rule_;
  const Settings& settings_;
  std::vector<Finding> findings_;
};

}  // namespace castscope::rules
