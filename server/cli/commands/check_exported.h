// castscope check for a file of torch.export.
#pragma once

#include <string>

#include "server/report/compare/gate.h"

namespace castscope::cli {

struct ExportedCheck {
  std::string file, config, format, json_file;
  report::Gate gate;
};

// Decides by the file's contents, or by a name that no other kind of file has.
bool is_exported(const std::string& file);
// Returns the exit status, after saying what is wrong.
int check_exported(const ExportedCheck&);

}  // namespace castscope::cli
