#include "agent/start/process_description.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "agent/enforce/enforcing.h"
#include "agent/interposed/launchers.h"
#include "agent/start/machine_description.h"
#include "agent/torch/autocast_state.h"
#include "agent/torch/torch_seam.h"

namespace castscope::agent {
namespace {

// The words with zero bytes between them, as the system has them: what hides secrets in them (server/redaction) has to
// know where a word ends.
std::string command_words() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::ostringstream content;  // not by istreambuf_iterator: a read that fails would throw
  content << in.rdbuf();
  std::string words = content.str();
  while (!words.empty() && words.back() == '\0') words.pop_back();
  return words;
}

std::string torch_version() {
  // <torch>/lib/libtorch_cpu.so → <torch>/version.py
  std::string path = g_process.preload->torch_library == nullptr ? "" : g_process.preload->torch_library;
  for (int i = 0; i < 2; ++i) path = path.substr(0, path.rfind('/'));
  std::ifstream in(path + "/version.py");
  for (std::string line; std::getline(in, line);)
    if (line.rfind("__version__ = '", 0) == 0) return line.substr(15, line.rfind('\'') - 15);
  return compiled_torch_version();
}

}  // namespace

void notice_strange_python(Definitions& d) {
  d.attribute("notice", std::string("Python ") + python_version() +
                            ": its stack is not known to this castscope, casts have no source line");
}

void describe_process(Recording& r) {
  Definitions& d = r.definitions;
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  d.attribute("host", host);
  d.attribute("command_line", command_words());
  char cwd[4096];
  if (getcwd(cwd, sizeof cwd) != nullptr) d.attribute("cwd", cwd);
  d.attribute("torch_version", torch_version());
  d.attribute("python_version", python_version());
  describe_machine(d);
  for (const auto& [variable, name] : {std::pair{"CASTSCOPE_DEEP", "deep"}, std::pair{"CASTSCOPE_GPU", "gpu"}})
    if (const char* value = std::getenv(variable); value != nullptr && value[0] != 0) d.attribute(name, value);
  if (enforce::is_on()) {
    d.attribute("enforced_policy", enforce::policy_name());
    d.attribute("enforced_policy_hash", enforce::policy_hash());
    for (const std::string& notice : enforce::notices()) d.attribute("notice", notice);
  }
  const auto variable = [](const char* name) -> const char* { return std::getenv(name); };
  for (const auto& [what, name] : {std::pair{CASTSCOPE_RANK, "rank"}, std::pair{CASTSCOPE_LOCAL_RANK, "local_rank"},
                                   std::pair{CASTSCOPE_WORLD_SIZE, "world_size"}})
    if (const char* value = castscope_told(variable, what)) d.attribute(name, value);
  if (!g_process.has_python && !g_process.python_unproved && python_version()[0] != 0) notice_strange_python(d);
}

}  // namespace castscope::agent
