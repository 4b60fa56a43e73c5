// `castscope check model.pt2`: holds a program of torch.export against a gate, without Python and without PyTorch.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "server/exported/program/program.h"
#include "server/report/compare/gate.h"
#include "server/rules/inquiry/settings.h"

namespace castscope::exported {

struct Checked {
  report::Account account;  // its findings, counted as those of a run are
  report::Verdict verdict;
  std::string text;
  nlohmann::ordered_json json;
};

// `project` is the folder that file names are relative to. The program brings the lines of its source; where this
// machine has the same file and its line differs only in a comment, the line of this machine is used.
Checked check(const Package&, const rules::Settings&, const std::string& project, const report::Gate&, int width);

}  // namespace castscope::exported
