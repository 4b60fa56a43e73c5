// castscope build-agent and pack-agent, for CMake and scripts/agents: they compile by the very same recipe as
// `castscope run`.
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/cli/agents/agents.h"
#include "server/cli/agents/prebuilt.h"
#include "server/cli/agents/proof.h"
#include "server/cli/commands/commands.h"
#include "server/cli/commands/fail.h"
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

// --- an archive of agents that a released program carries ----------------------------------------------------------

struct PackOptions {
  std::string torch, archive;
};

// A released agent loads wherever its PyTorch does.
absl::Status check_needs(const std::string& agent, const TorchInstall& torch) {
  const auto versions = versions_beyond_torch(agent, torch);
  if (!versions.ok()) return versions.status();
  std::string beyond;
  for (const SymbolVersion& version : *versions) absl::StrAppend(&beyond, " ", version.text());
  if (beyond.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the agent for PyTorch ", torch.version, " asks for more than its PyTorch does:", beyond));
}

// Compiles the agent in a folder of its own beside the archive.
absl::StatusOr<PrebuiltAgent> compiled_for(const TorchInstall& torch, const std::string& folder) {
  std::error_code error;
  const auto remove = absl::MakeCleanup([&] { std::filesystem::remove_all(folder, error); });
  const std::string agent = folder + "/agent.so";
  absl::Status status = extract_sources(folder + "/sources");
  if (status.ok()) status = compile_agent(folder + "/sources", torch, agent, Symbols::kStripped);
  if (status.ok()) status = check_needs(agent, torch);
  if (!status.ok()) return status;
  return PrebuiltAgent{torch.key, release_of(torch.version), torch.cxx11_abi,
                       compressed(content_of(agent).value_or(""))};
}

// Whether a program with this archive would have agents: those of other sources are passed over.
int list_agents(const std::string& archive) {
  const auto content = content_of(archive);
  if (!content) return fail(absl::StrCat(archive, " cannot be read"), kUsage);
  const auto agents = agents_in(*content, source_hash());
  if (!agents.ok()) return fail(agents.status(), kIncompleteData);
  for (const PrebuiltAgent& agent : *agents)
    say(absl::StrCat("an agent for PyTorch ", agent.torch_version, ", build ", agent.torch_key));
  if (!agents->empty()) return 0;
  return fail(absl::StrCat("the agents in ", archive, " are of other sources than this castscope"), kIncompleteData);
}

// Adds the agent, in place of an older one for the same PyTorch.
int pack(const PackOptions& options) {
  if (options.torch.empty()) return list_agents(options.archive);
  const auto torch = describe_torch(std::filesystem::absolute(options.torch).string());
  if (!torch.ok()) return fail(torch.status(), kUsage);
  const std::string before = content_of(options.archive).value_or("");
  auto agents = before.empty() ? std::vector<PrebuiltAgent>() : agents_in(before, source_hash());
  if (!agents.ok()) return fail(agents.status(), kIncompleteData);
  std::erase_if(*agents, [&](const PrebuiltAgent& agent) { return agent.torch_key == torch->key; });
  auto agent = compiled_for(*torch, std::filesystem::absolute(options.archive).string() + ".build");
  if (!agent.ok()) return fail(agent.status(), kIncompleteData);
  say(absl::StrFormat("PyTorch %s, build %s: %.2f MB", torch->version, torch->key,
                      static_cast<double>(agent->compressed.size()) / 1e6));
  agents->push_back(*std::move(agent));
  const absl::Status status = write_library(options.archive, archive_of(*agents, source_hash()));
  return status.ok() ? 0 : fail(status, kIncompleteData);
}

}  // namespace

void add_pack_agent(CommandLine& line) {
  const Command command =
      line.subcommand("pack-agent", "Compile an agent, and add it to an archive of agents").hidden();
  auto options = std::make_shared<PackOptions>();
  command.option("--torch FOLDER", options->torch,
                 "The PyTorch that it is for: …/site-packages/torch. Without it, the agents in the archive are listed");
  command.option("--archive FILE", options->archive, "The archive; it is made where there is none").required();
  command.on_run([options] { return pack(*options); });
}

void add_build_agent(CommandLine& line) {
  const Command command = line.subcommand("build-agent", "Compile an agent").hidden();
  auto options = std::make_shared<BuildOptions>();
  command.option("--agent-into FOLDER", options->agent_folder, "Put the agent into this folder").required();
  command.option("--python PYTHON", options->python, "Build the agent for the PyTorch of this Python");
  command.on_run([options] { return build(*options); });
}

}  // namespace castscope::cli
