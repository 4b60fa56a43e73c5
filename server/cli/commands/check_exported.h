// castscope check, of a file of torch.export.
#pragma once

#include <string>

#include "server/report/compare/gate.h"

namespace castscope::cli {

struct ExportedCheck {
  std::string file, config, format, json_file;
  report::Gate gate;
};

// By what is in it, or by a name that nothing else has.
bool is_exported(const std::string& file);
// The exit status; what is wrong is said.
int check_exported(const ExportedCheck&);

}  // namespace castscope::cli
