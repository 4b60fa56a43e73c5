// What a rule is, and what it is asked. A rule looks at what a run did and says what is wrong with it: a pure function
// of the run's data, so that it says the same during a run and about a finished file. It judges behaviour that was
// seen, never a version.
//
// One rule = one file in one of the groups that defines its Rule, one line in ../list.h, one golden case that it must
// find and those that it must leave alone (NAME_test.cc).
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

// A number that decides, with its default; people may set another in castscope.json. Its arithmetic stands in a comment
// where it is defined.
struct Threshold {
  std::string_view name;  // "entries"
  double value;
  std::string_view meaning;  // one line: "fewer entries of one line in one region are ordinary code"
};

// For `castscope explain`: short paragraphs of Markdown.
struct Explanation {
  std::string_view what;     // happens
  std::string_view why;      // it matters
  std::string_view example;  // Python that shows it: runs as it stands on a CPU, unless it says otherwise
  std::string_view fix;
  std::string_view links;  // of PyTorch's documentation, one a line
};

class Inquiry;

struct Rule {
  std::string_view name;      // "cache-grows"
  std::string_view severity;  // error, warning, performance, info
  std::string_view summary;   // one line, for lists
  std::span<const Threshold> thresholds;
  Explanation explanation;
  void (*judge)(Inquiry&);
};

// What a rule is asked: is this run all right? Its findings go in here.
class Inquiry {
 public:
  Inquiry(const Rule& rule, const store::RunData& run, const Settings& settings)
      : data(run), rule_(rule), settings_(settings) {}
  const store::RunData& data;
  double threshold(std::string_view name) const;
  // What the run is to be held against; null = nothing.
  std::shared_ptr<const policy::Policy> policy() const;
  // A finding at the innermost line of the user's own on this stack (0 = none), with rule and severity; title, evidence
  // and fix are the rule's to fill in; where that line is in an installed package, the line that calls it is related.
  // The reference holds until the next one is added.
  Finding& add(std::uint32_t stack) { return add(stack, rule_.severity); }
  // … where this one is more, or less, than the rule is at large. What the settings say of the rule stands.
  Finding& add(std::uint32_t stack, std::string_view severity);
  std::vector<Finding> take() { return std::move(findings_); }

 private:
  const Rule& rule_;
  const Settings& settings_;
  std::vector<Finding> findings_;
};

}  // namespace castscope::rules
