#include "agent/enforce/enforcing.h"

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "agent/enforce/autocast_kernel.h"
#include "agent/enforce/default_dtype.h"
#include "agent/enforce/enforced.h"
#include "agent/enforce/kernel_registry.h"
#include "agent/enforce/met_rules.h"
#include "agent/session/process.h"

namespace castscope::enforce {

Enforced* g_enforced = nullptr;

namespace {

CacheOptions cache_options(const PolicyTable& policy) {
  CacheOptions options;
  const auto take = [](const std::optional<bool>& said, bool& into) { into = said.value_or(into); };
  take(policy.cache_enabled, options.keeping.enabled);
  take(policy.cache_frozen, options.keeping.frozen);
  take(policy.cache_views, options.keeping.views);
  take(policy.cache_nonleaf, options.keeping.nonleaf);
  options.max_bytes = policy.cache_max_bytes;
  options.until = policy.cache_keep.value_or(options.until);
  return options;
}

std::optional<PolicyTable> read(const char* path, std::string* error) {
  struct stat info {};
  const bool is_ordinary = stat(path, &info) == 0 && S_ISREG(info.st_mode);  // a pipe would keep the job waiting
  std::ifstream file(is_ordinary ? path : "", std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || !text) return *error = std::string(path) + " cannot be read", std::nullopt;
  return read_policy_table(text.str(), error);
}

// `--enforce-if-possible`, as in agent/preload/refuse.c.
bool may_go_without() {
  const char* set = std::getenv("CASTSCOPE_ENFORCE_IF_POSSIBLE");
  return set != nullptr && set[0] != '\0';
}

bool g_defaults_in_all_threads = true;

void set_defaults(const PolicyTable& policy) {
  if (!policy.default_dtype) return;
  const auto dtype = *policy.default_dtype == LowerDtype::kFloat16 ? c10::ScalarType::Half : c10::ScalarType::BFloat16;
  for (std::size_t i = 0; i < kDeviceWords.size(); ++i) {
    if (policy.is_for(kDeviceWords[i]))
      g_defaults_in_all_threads &= set_default_dtype(device_type(static_cast<Device>(i)), dtype);
  }
}

}  // namespace

bool start(const castscope_preload* preload) {
  const char* path = std::getenv("CASTSCOPE_ENFORCE");
  if (path == nullptr || path[0] == '\0') return false;
  std::string error;
  std::optional<PolicyTable> policy = read(path, &error);
  if (!policy) {
    if (!may_go_without()) throw std::runtime_error(error);
    preload->say((error + ": no policy is enforced, PyTorch's own autocast decides").c_str());
    return false;
  }
  const CacheOptions options = cache_options(*policy);
  const bool on_cpu = policy->is_for("cpu");
  g_enforced = new Enforced{*std::move(policy), on_cpu, options, new Copies(options), nullptr};
  g_enforced->modules = new ModuleRules(agent::g_process.python, g_enforced->policy);
  const char* all = std::getenv("CASTSCOPE_ALL_KERNELS");
  start_kernels(g_enforced->policy, all != nullptr && all[0] == '1');
  set_defaults(g_enforced->policy);
  return true;
}

bool is_on() { return g_enforced != nullptr; }
std::string policy_name() { return g_enforced->policy.name; }
std::string policy_hash() { return g_enforced->policy.hash; }

std::vector<std::string> notices() {
  std::vector<std::string> all = kernel_notices();
  if (!g_defaults_in_all_threads)
    all.push_back(
        "castscope did not find where autocast of this PyTorch keeps its default dtypes: the policy's default_dtype "
        "applies in the thread that imports torch, PyTorch's own defaults in all others");
  return all;
}

void region_begins(bool modules_changed) {
  look_for_operators();
  if (modules_changed) g_enforced->modules->look_again();
}

CacheContents cache_cleared() { return g_enforced->copies->end_region(); }
void step_begins() { g_enforced->copies->begin_step(); }
void optimizer_stepped() {
  if (is_on()) g_enforced->copies->optimizer_stepped();
}
void rule_met_in_python(std::string_view rule) {
  const auto blank = rule.find(' ');
  if (is_on() && blank != std::string_view::npos) rule_met(rule.substr(0, blank), rule.substr(blank + 1));
}
void recording_begins(agent::Definitions& definitions) {
  if (is_on()) tell_rules_met(definitions);
}
void fork_begins() {
  if (is_on()) hold_rules_met();
}
void fork_ends() {
  if (is_on()) release_rules_met();
}
void child_begins() {
  if (!is_on()) return;
  release_rules_met();
  Proof::child_begins();
  g_enforced->copies = new Copies(g_enforced->cache);
}

}  // namespace castscope::enforce
