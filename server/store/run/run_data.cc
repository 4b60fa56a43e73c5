#include "server/store/run/run_data.h"

namespace castscope::store {

Counts& Counts::operator+=(const Counts& other) {
  casts += other.casts;
  hits += other.hits;
  passes += other.passes;
  traced += other.traced;
  bytes += other.bytes;
  cpu_ns += other.cpu_ns;
  kept += other.kept;
  return *this;
}

std::string Process::attribute(std::string_view name) const {
  for (auto it = attributes.rbegin(); it != attributes.rend(); ++it) {
    if (it->first == name) return it->second;
  }
  return "";
}

RegionId RunData::outermost(RegionId id) const {
  while (id != 0 && regions[id].parent != 0) id = regions[id].parent;
  return id;
}

std::optional<CodeLocation> RunData::user_location(StackId stack) const {
  if (stack == 0 || stacks[stack].frames.empty()) return std::nullopt;
  const std::vector<CodeLocation>& frames = stacks[stack].frames;
  for (const CodeLocation& frame : frames) {
    if (is_users_own(frame, torch_folders)) return frame;
  }
  return frames.front();
}

bool is_standard_library(const CodeLocation& frame) {
  const auto at = frame.file.find("/lib/python3.");
  return at != std::string::npos && frame.file.find("-packages/", at) == std::string::npos;
}

bool is_users_own(const CodeLocation& frame, const std::vector<std::string>& torch_folders) {
  for (const std::string& folder : torch_folders) {
    if (frame.file.size() > folder.size() && frame.file[folder.size()] == '/' && frame.file.starts_with(folder))
      return false;
  }
  for (const char* package : {"/site-packages/torch/", "/dist-packages/torch/", "/site-packages/castscope/",
                              "/dist-packages/castscope/", "/agent/python/castscope/"}) {
    if (frame.file.find(package) != std::string::npos) return false;
  }
  if (is_standard_library(frame)) return false;
  // <string> and <stdin> are the user's; these are made by Python's importer and by torch.fx, whose code the agent
  // names after the graph (agent/naming/generated_code.h).
  for (const char* made :
       {"<frozen ", "<eval_with_key>", lanes::kExportedProgram, lanes::kCompiledGraph, lanes::kGraphModule})
    if (frame.file.starts_with(made)) return false;
  return true;
}

}  // namespace castscope::store
