#include "agent/start/late_imports.h"

#include <array>
#include <span>

#include "agent/imports/imports.h"
#include "agent/session/process.h"

namespace castscope::agent {
namespace {

constexpr const char* kSymbols[] = {
#define CASTSCOPE_SYMBOL(name, symbol, loads) #symbol,
    CASTSCOPE_HOOKS(CASTSCOPE_SYMBOL)
#undef CASTSCOPE_SYMBOL
};

imports::Imports* g_late_imports = nullptr;

}  // namespace

void take_imports(const castscope_preload& preload) {
  auto* wanted = new std::array<imports::Import, CASTSCOPE_HOOK_COUNT>;
  std::size_t count = 0;
  for (int i = 0; i < CASTSCOPE_HOOK_COUNT; ++i)
    if (preload.originals[i] != nullptr)
      (*wanted)[count++] = {.symbol = kSymbols[i], .ours = preload.entries[i], .original = nullptr, .own_calls = true};
  g_late_imports = new imports::Imports(std::span(*wanted).first(count));
  take_later_imports();
}

void take_later_imports() noexcept {
  if (g_late_imports == nullptr) return;
  const std::size_t taken = g_late_imports->take();
  if (taken == 0) return;
  const imports::ImportCounts all = g_late_imports->counts();
  log_line("took %zu words in tables of loaded objects: %zu lead to castscope, %zu wait, %zu could not be written",
           taken, all.taken, all.waiting, all.failed);
}

}  // namespace castscope::agent
