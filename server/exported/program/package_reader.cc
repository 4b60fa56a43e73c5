#include "server/exported/program/package_reader.h"

#include <optional>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/exported/program/program_reader.h"
#include "server/exported/program/stack_trace.h"
#include "server/exported/program/zip_archive.h"

namespace castscope::exported {
namespace {

constexpr std::string_view kFormat = "archive_format", kVersion = "archive_version", kModels = "models/",
                           kCompiled = "data/aotinductor/", kExecutorch = "data/executorch/", kJson = ".json";
constexpr std::string_view kOldProgram = "serialized_exported_program.json", kOldVersion = "version";
constexpr std::uint64_t kMostTag = 64;      // bytes of a version or format
constexpr std::size_t kMostPrograms = 100;  // in one file: prefill, decode, a few sizes of input

// Returns "model/" where the archive has "model/archive_format", and "" where it has that file without a folder. The
// folder is called what the file was called when it was saved.
std::optional<std::string> root_of(const ZipArchive& zip, std::string_view landmark) {
  for (const ZipArchive::Entry& entry : zip.entries()) {
    if (!entry.name.ends_with(landmark)) continue;
    const std::string root = entry.name.substr(0, entry.name.size() - landmark.size());
    if (root.empty() || (root.back() == '/' && root.find('/') == root.size() - 1)) return root;
  }
  return std::nullopt;
}

absl::Status unsupported(const std::string& sentence) { return absl::InvalidArgumentError(sentence); }

// Says what a zip archive of PyTorch's is when it holds no program of torch.export.
absl::Status no_program(const ZipArchive& zip) {
  if (root_of(zip, "constants.pkl") && root_of(zip, "data.pkl"))
    return unsupported(
        "is a TorchScript program (torch.jit.save), which castscope sees when it runs: `castscope run -- …`");
  if (root_of(zip, "data.pkl"))
    return unsupported(
        "holds weights or a pickled object (torch.save) and no program: what it computes in is decided by the code "
        "that loads it, and seen by `castscope run -- …`");
  return unsupported(
      "is a zip archive that neither torch.export.save nor AOTInductor wrote: it has neither \"archive_format\" nor "
      "\"serialized_exported_program.json\"");
}

absl::Status in_file(const std::string& name, const absl::Status& status) {
  return {status.code(), absl::StrCat("cannot be read: ", name, ": ", status.message())};
}

absl::StatusOr<Program> program_in(const ZipArchive& zip, const std::string& entry, std::string name,
                                   std::uint64_t most_bytes) {
  const absl::StatusOr<std::string> json = zip.read(entry, most_bytes);
  if (!json.ok()) return in_file(entry, json.status());
  absl::StatusOr<Program> program = read_program(*json, std::move(name));
  if (!program.ok()) return in_file(entry, program.status());
  if (program->schema_major != kSchemaMajor)
    return unsupported(
        absl::StrCat("has a program of torch.export's schema ", program->schema_major, ".", program->schema_minor,
                     program->torch_version.empty() ? "" : absl::StrCat(" (PyTorch ", program->torch_version, ")"),
                     ", and this castscope knows schema ", kSchemaMajor,
                     " (PyTorch 2.6 … 2.13): load and save it with such a PyTorch"));
  return program;
}

// Returns the text of the tag for sentences, when it can be read.
std::string tag(const ZipArchive& zip, const std::string& entry) {
  const auto text = zip.read(entry, kMostTag);
  return text.ok() ? std::string(stripped(*text)) : "";
}

// Returns the names of the folders below `folder`: "model" for "root/data/aotinductor/model/a.so".
std::set<std::string> names_below(const ZipArchive& zip, const std::string& folder) {
  std::set<std::string> names;
  for (const ZipArchive::Entry& entry : zip.entries()) {
    if (!entry.name.starts_with(folder)) continue;
    const std::string rest = entry.name.substr(folder.size());
    if (!rest.empty()) names.insert(rest.substr(0, rest.find('/')));
  }
  return names;
}

std::string compiled_sentence(const std::set<std::string>& names) {
  return absl::StrCat("AOTInductor's compiled code (", absl::StrJoin(names, ", "),
                      ") no longer holds the graph that it was made of, nor the dtypes that were recorded in it");
}

absl::StatusOr<Package> read_pt2(const ZipArchive& zip, const std::string& root, std::uint64_t most_bytes) {
  if (const std::string format = tag(zip, root + std::string(kFormat)); format != "pt2")
    return unsupported(absl::StrCat("is an archive of format \"", format, "\", and this castscope knows \"pt2\""));
  // The first archives, which are of version 0, have no such file.
  const std::string version_file = root + std::string(kVersion);
  const std::string version = zip.has(version_file) ? tag(zip, version_file) : "0";
  if (version != "0")
    return unsupported(absl::StrCat("is a PT2 archive of version \"", version, "\", and this castscope knows 0"));
  Package package;
  const std::string models = root + std::string(kModels);
  for (const ZipArchive::Entry& entry : zip.entries()) {
    if (!entry.name.starts_with(models) || !entry.name.ends_with(kJson)) continue;
    const std::string name = entry.name.substr(models.size(), entry.name.size() - models.size() - kJson.size());
    if (package.programs.size() == kMostPrograms)
      return unsupported(absl::StrCat("has more than ", kMostPrograms, " programs"));
    auto program = program_in(zip, entry.name, name, most_bytes);
    if (!program.ok()) return program.status();
    package.programs.push_back(*std::move(program));
  }
  const auto compiled = names_below(zip, root + std::string(kCompiled));
  const auto executorch = names_below(zip, root + std::string(kExecutorch));
  if (!compiled.empty()) package.not_seen.push_back(compiled_sentence(compiled));
  if (!executorch.empty())
    package.not_seen.push_back(absl::StrCat("ExecuTorch's programs (", absl::StrJoin(executorch, ", "),
                                            ") are of a format that this castscope does not know"));
  if (!package.programs.empty()) return package;
  if (!compiled.empty())
    return unsupported(
        absl::StrCat("holds compiled code and no program: ", compiled_sentence(compiled),
                     ". Save the program that is compiled too (torch.export.save(ep, \"model.pt2\")) and "
                     "check that"));
  return unsupported(absl::StrCat("is a PT2 archive without a program (", std::string(kModels), "*.json)",
                                  package.not_seen.empty() ? "" : ": " + package.not_seen.front()));
}

absl::StatusOr<Package> read_old(const ZipArchive& zip, std::uint64_t most_bytes) {
  // This file gave the version before the JSON did, and it identifies such archives in any case.
  const std::string version = tag(zip, std::string(kOldVersion));
  if (!version.starts_with(absl::StrCat(kSchemaMajor, ".")))
    return unsupported(absl::StrCat("has a program of torch.export's schema \"", version,
                                    "\", and this castscope knows schema ", kSchemaMajor,
                                    " (PyTorch 2.6 … 2.13): load and save it with such a PyTorch"));
  auto program = program_in(zip, std::string(kOldProgram), "model", most_bytes);
  if (!program.ok()) return program.status();
  Package package;
  package.programs.push_back(*std::move(program));
  return package;
}

}  // namespace

absl::StatusOr<Package> read_package(const std::string& file, std::uint64_t most_bytes) {
  const auto in_this_file = [&](const absl::Status& status, std::string_view before = "") {
    return absl::Status(status.code(), absl::StrCat(file, " ", std::string(before), std::string(status.message())));
  };
  const absl::StatusOr<ZipArchive> zip = ZipArchive::open(file);
  if (!zip.ok()) return in_this_file(zip.status(), "cannot be read: ");
  const auto root = root_of(*zip, kFormat);
  absl::StatusOr<Package> package = root                                 ? read_pt2(*zip, *root, most_bytes)
                                    : zip->has(std::string(kOldProgram)) ? read_old(*zip, most_bytes)
                                                                         : absl::StatusOr<Package>(no_program(*zip));
  if (!package.ok()) return in_this_file(package.status());
  package->file = file;
  return package;
}

}  // namespace castscope::exported
