#include "server/rules/evidence/places/different_modules.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace castscope::rules {
namespace {

using Paths = std::set<std::string>;

// The names under which PyTorch's wrappers hold the module that they wrap.
constexpr std::string_view kWrapped[] = {"module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"};

// "module.blocks.0._checkpoint_wrapped_module.mlp" → "blocks.0.mlp"
std::string without_wrappers(const std::string& path) {
  std::string rest;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('.', at), path.size());
    const std::string_view name = std::string_view(path).substr(at, end - at);
    if (std::ranges::find(kWrapped, name) == std::end(kWrapped)) {
      if (!rest.empty()) rest += '.';
      rest += name;
    }
    at = end + 1;
  }
  return rest;
}

bool all_in(const Paths& paths, const std::string& prefix, const Paths& others) {
  return std::ranges::all_of(paths, [&](const std::string& path) {
    return path.starts_with(prefix) && others.contains(path.substr(prefix.size()));
  });
}

// `others` has all of these paths: as they are, or below one module that holds them ("ema_model.blocks.0"). Of a single
// path nobody can tell whether what comes before its end is such a module.
bool are_in(const Paths& paths, const Paths& others) {
  if (all_in(paths, "", others)) return true;
  if (paths.size() < 2) return false;
  const std::string& first = *paths.begin();
  return std::ranges::any_of(others, [&](const std::string& other) {
    if (other.empty() || !first.ends_with("." + other)) return false;
    return all_in(paths, first.substr(0, first.size() - other.size()), others);
  });
}

}  // namespace

std::size_t different_modules(const store::RunData& data, const std::set<store::ModuleId>& modules) {
  std::map<std::pair<std::string, std::uint32_t>, Paths> by_root;
  for (const store::ModuleId id : modules) {
    if (id == 0) continue;
    const store::Module& module = data.modules[id];
    by_root[{module.root_type, module.root_number}].insert(without_wrappers(module.path));
  }
  // A root that has fewer modules here may be a part of one that has more; the shorter paths are the model's own.
  std::vector<Paths> roots;
  for (auto& [root, paths] : by_root) roots.push_back(std::move(paths));
  std::ranges::stable_sort(roots, [](const Paths& a, const Paths& b) {
    return std::pair(b.size(), a.begin()->size()) < std::pair(a.size(), b.begin()->size());
  });
  std::size_t different = 0;
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const bool counted =
        std::any_of(roots.begin(), roots.begin() + static_cast<std::ptrdiff_t>(i),
                    [&](const Paths& before) { return are_in(roots[i], before) || are_in(before, roots[i]); });
    if (!counted) different += roots[i].size();
  }
  return different;
}

}  // namespace castscope::rules
