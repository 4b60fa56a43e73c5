#include "agent/session/renamed_modules.h"

#include <utility>

#include "agent/session/process.h"

namespace castscope::agent {

void drop_renamed_modules(ThreadState& t) {
  ModuleNames& modules = g_process.recording.load()->modules;
  if (t.renames_seen == modules.renames()) return;
  const std::uint32_t before = std::exchange(t.renames_seen, modules.renames());
  if (t.sites.used() == 0) return;
  const auto renamed = modules.renamed_since(before);
  t.sites.grow(hash_of_site, [&](const SiteEntry& e) {
    if (e.module == nullptr || !renamed.contains(e.module)) return false;
    modules.give_back(e.module_weakref);
    return true;
  });
}

}  // namespace castscope::agent
