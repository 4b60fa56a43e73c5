// `castscope check model.pt2`: a program of torch.export before the gate, without Python and without PyTorch.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "server/exported/program/program.h"
#include "server/report/compare/gate.h"
#include "server/rules/inquiry/settings.h"

namespace castscope::exported {

struct Checked {
  report::Account account;  // its findings, as of a run
  report::Verdict verdict;
  std::string text;
  nlohmann::ordered_json json;
};

// `project`: the folder that files are named from. Lines of source come with the program; where a file is on this
// machine, and says the same but for a comment, that one counts.
Checked check(const Package&, const rules::Settings&, const std::string& project, const report::Gate&, int width);

}  // namespace castscope::exported
