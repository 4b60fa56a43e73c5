// A run as Markdown for a pull request: totals, findings with their details folded, the costliest sites.
#pragma once

#include <string>
#include <string_view>

#include "server/report/model/model.h"

namespace castscope::report {

std::string markdown_text(const Model&);  // fits into a comment on GitHub

// Text that shows as it is: no Markdown, no HTML, nobody is notified by an @.
std::string markdown_escaped(std::string_view text);

}  // namespace castscope::report
