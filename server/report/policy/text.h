// Describes policies for people and for programs: what a policy says, what it decides, how two policies differ.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "server/policy/decide.h"
#include "server/policy/difference.h"

namespace castscope::report {

// "mine.json: for cuda, extends torch-cuda; 21 operators lower_precision_fp, …"
std::string policy_text(const policy::Policy&, int width);
nlohmann::ordered_json policy_json(const policy::Policy&);

struct Question {  // the subject of a decision
  policy::OperatorName op;
  std::string module, class_name;
  // The operators that it calls and that are cast, where it is itself left alone: "bmm (lower_precision_fp)".
  std::string parts = {};
};
std::string decision_text(const policy::Policy&, const Question&, const policy::Decision&, int width);
nlohmann::ordered_json decision_json(const policy::Policy&, const Question&, const policy::Decision&);

std::string policy_difference_text(const policy::Policy& before, const policy::Policy& after,
                                   const policy::PolicyDifference&, int width);
nlohmann::ordered_json policy_difference_json(const policy::Policy& before, const policy::Policy& after,
                                              const policy::PolicyDifference&);

}  // namespace castscope::report
