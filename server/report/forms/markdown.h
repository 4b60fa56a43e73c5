// A run as Markdown for a pull request: totals, findings with their details folded, the costliest sites.
#pragma once

#include <string>
#include <string_view>

#include "server/report/model/model.h"

namespace castscope::report {

std::string markdown_text(const Model&);  // fits into a comment on GitHub

// Escapes a text so that it shows as it is: it contains no Markdown and no HTML, and an @ notifies nobody.
std::string markdown_escaped(std::string_view text);

}  // namespace castscope::report
