// castscope report -f sarif, with what only that form takes.
#pragma once

#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "server/rules/inquiry/settings.h"

namespace castscope::cli {

struct SarifChoice {
  std::string baseline;  // a run file or report; "" = none
  std::string category;  // "" = named after the script
  bool empty() const { return baseline.empty() && category.empty(); }
};

absl::Status write_sarif(const std::string& run_file, const SarifChoice&, const rules::Settings&, std::ostream& out);

}  // namespace castscope::cli
