// The section of the page about arguments that annotations and policies protect.
#include <algorithm>

#include "server/report/html/parts.h"
#include "server/report/html/table.h"
#include "server/report/model/protected_arguments.h"
#include "server/report/text/words.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

constexpr std::size_t kProtectedRows = 100;

}  // namespace

void write_protected(Html& html, const Model& model) {
  const std::vector<ProtectedArgument> all = protected_arguments(model.run);
  if (all.empty()) return;
  html.leaf("h2", "Protected arguments");
  {
    Table table(html, {{"function"}, {"argument"}, {"by"}, {"arrived in"}, {"times", true}, {""}, {"first called at"}});
    for (std::size_t i = 0; i < std::min(all.size(), kProtectedRows); ++i) {
      const ProtectedArgument& one = all[i];
      table.row({one.function, one.argument, one.by, std::string(store::dtype_name(one.arrived)), grouped(one.times),
                 fate_text(one), one.called_at.file.empty() ? "" : place(model.run, one.called_at)});
    }
  }
  write_rest(html, all.size(), kProtectedRows, "JSON");
}

}  // namespace castscope::report
