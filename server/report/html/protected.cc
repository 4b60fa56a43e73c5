// The section of the page about arguments that annotations and policies protect.
#include <ranges>

#include "server/report/html/parts.h"
#include "server/report/html/table.h"
#include "server/report/model/protected_arguments.h"
#include "server/report/text/words.h"
#include "server/store/run/names.h"

namespace castscope::report {
void write_protected(Page& page, const Model& model) {
  const std::vector<ProtectedArgument> all = protected_arguments(model.run);
  if (all.empty()) return;
  const Section section(page, "protected", "Protected arguments", OnPaper::kNo);
  Table table("What annotations and policies keep from being cast.", {{"function"},
                                                                      {"argument"},
                                                                      {"by"},
                                                                      {"arrived in"},
                                                                      {"times", true},
                                                                      {"what became of it"},
                                                                      {"first called at"}});
  for (const ProtectedArgument& one : all | std::views::take(Table::kMost))
    table.add(
        {.cells = {one.function, one.argument, one.by, std::string(store::dtype_name(one.arrived)), grouped(one.times),
                   fate_text(one), one.called_at.file.empty() ? "" : place(model.run, one.called_at)}});
  table.write(page.html, all.size(), "JSON");
}

}  // namespace castscope::report
