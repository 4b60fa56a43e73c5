// castscope build-agent, for CMake: the build and `castscope run` compile by the very same recipe.
#include <filesystem>
#include <fstream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "server/cli/agents/agents.h"
#include "server/cli/agents/proof.h"
#include "server/cli/commands/commands.h"
#include "server/cli/toolkit/embedded.h"
#include "server/cli/toolkit/library_file.h"
#include "server/cli/toolkit/recipe.h"

namespace castscope::cli {
namespace {

struct BuildOptions {
  std::string agent_folder, python;
};

absl::Status leave_hash(const std::string& folder) {
  std::ofstream file(folder + "/castscope.sources");
  file << source_hash() << "\n";
  file.close();
  return file ? absl::OkStatus() : absl::UnavailableError(absl::StrCat(folder, "/castscope.sources cannot be written"));
}

absl::Status build_agent(const std::string& sources, const std::string& folder, const std::string& executable) {
  std::filesystem::create_directories(folder);
  auto python = probe_python(executable);
  if (!python.ok()) return python.status();
  if (!python->torch) {
    say(absl::StrCat(executable, " has no PyTorch: no agent is built now, `castscope run` will build one"));
    return leave_hash(folder);
  }
  const std::string path = absl::StrCat(folder, "/", agent_file_name(*python->torch));
  absl::Status status = compile_agent(sources, *python->torch, path + ".new");
  if (status.ok()) status = put_into_place(path + ".new", path);
  if (status.ok()) status = prove(path, *python, say, true);
  return status.ok() ? leave_hash(folder) : status;
}

int build(const BuildOptions& options) {
  const std::string sources = options.agent_folder + "/sources";
  absl::Status status = extract_sources(sources);
  if (status.ok()) status = build_agent(sources, options.agent_folder, options.python);
  if (status.ok()) return 0;
  say(std::string(status.message()));
  return kIncompleteData;
}

}  // namespace

void add_build_agent(CommandLine& line) {
  const Command command = line.subcommand("build-agent", "Compile an agent").hidden();
  auto options = std::make_shared<BuildOptions>();
  command.option("--agent-into FOLDER", options->agent_folder, "Put the agent into this folder").required();
  command.option("--python PYTHON", options->python, "Build the agent for the PyTorch of this Python");
  command.on_run([options] { return build(*options); });
}

}  // namespace castscope::cli
