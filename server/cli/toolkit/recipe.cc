#include "server/cli/toolkit/recipe.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/hash/fnv1a.h"
#include "server/cli/toolkit/child.h"
#include "server/cli/toolkit/embedded.h"
#include "server/cli/toolkit/library_file.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// NDEBUG is needed: asserts in torch's headers (RecordFunction::inputs) fire otherwise. Functions are aligned to cache
// lines: otherwise the cost of a cast would depend on the code that happens to lie before its loops.
const Words kAgentFlags = {"-std=c++20",
                           "-O2",
                           "-falign-functions=64",
                           "-fPIC",
                           "-DNDEBUG",
                           "-fvisibility=hidden",
                           "-fvisibility-inlines-hidden",
                           "-w",
                           "-I.",
                           "-include",
                           "agent/floor/glibc.h"};
// Lazy binding would take the loader's lock in the middle of a cast. Relative relocations in their packed form ask for
// glibc 2.36.
const Words kAgentLinkFlags = {"-shared", "-Wl,-z,now", "-Wl,-z,defs", "-Wl,-z,nopack-relative-relocs"};
// By name: with glibc 2.34 and newer, -ldl and -lpthread are archives without content.
const Words kAgentLibraries = {"-Wl,--no-as-needed", "-l:libdl.so.2", "-l:libpthread.so.0"};

Words sources_in(std::string_view folder, std::string_view suffix) {
  Words result;
  for (const auto& file : embedded_files()) {
    if (file.path.starts_with(folder) && file.path.ends_with(suffix)) result.emplace_back(file.path);
  }
  return result;
}

Words operator+(Words left, const Words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

std::uint64_t hash_on(std::uint64_t hash, std::string_view text) {
  return castscope_fnv1a(hash, text.data(), text.size());
}

// The largest unit takes 1.9 GB, each other one less than 0.9 (GCC 12, PyTorch 2.13).
int parallel_compilations() {
  int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::ifstream info("/proc/meminfo");
  std::string word;
  while (info >> word) {
    long kilobytes = 0;
    if (word == "MemAvailable:" && info >> kilobytes)
      return std::clamp(static_cast<int>(kilobytes >> 20) - 1, 1, cores);
  }
  return cores;
}

// Sources of the agent that are compiled as one unit, so that PyTorch's headers, which take longer than all of the
// agent, are read only once. A room stands for its sources that no earlier unit has. All other sources are compiled one
// by one.
struct Unit {
  const char* name;
  std::vector<std::string_view> rooms;    // "casts"
  std::vector<std::string_view> sources;  // "agent/casts/cached_cast.cc"
};
const std::vector<Unit> kUnits = {
    // The hot path: in a large unit GCC inlines less of it (inline-unit-growth). A hit took 16 ns more there.
    {"hot", {}, {"agent/casts/cached_cast.cc", "agent/enforce/casting.cc", "agent/enforce/enforced_cast.cc"}},
    {"pytorch",
     {"wiring", "cpython", "torch", "torchscript", "naming", "session", "regions", "casts", "script", "enforce",
      "compile", "operators", "errors", "start"},
     {}},
    {"gpu", {"gpu"}, {}},
    {"cupti", {"gpu/cupti"}, {}},
    {"ground", {"memory", "lanes", "imports", "matmuls"}, {}},
    {"decided", {"enforce/decided"}, {}},
    {"freshness", {"enforce/freshness"}, {}},
};

std::string_view room_of(std::string_view source) {
  constexpr std::string_view kAgent = "agent/";
  return source.substr(kAgent.size(), source.rfind('/') - kAgent.size());
}

// Writes a file of its own for each unit beside the sources, and returns the files to compile, those of the sources
// that belong to no unit among them. Names are relative to the folder of the sources: to ccache a file is another one
// where its name differs.
absl::StatusOr<Words> write_units(const std::string& folder) {
  Words left = sources_in("agent/", ".cc"), result;
  std::sort(left.begin(), left.end());
  for (const Unit& unit : kUnits) {
    Words sources(unit.sources.begin(), unit.sources.end());
    std::erase_if(left, [&](const std::string& source) { return absl::c_linear_search(sources, source); });
    for (std::string_view room : unit.rooms)
      absl::c_copy_if(left, std::back_inserter(sources),
                      [&](const std::string& source) { return room_of(source) == room; });
    std::erase_if(left, [&](const std::string& source) { return absl::c_linear_search(unit.rooms, room_of(source)); });
    std::string text;
    for (const std::string& source : sources) absl::StrAppend(&text, "#include \"", source, "\"\n");
    result.push_back(absl::StrCat("units/", unit.name, ".cc"));
    const absl::Status status = write_source(absl::StrCat(folder, "/", result.back()), text);
    if (!status.ok()) return status;
  }
  return result + left;
}

Words object_names(const fs::path& folder, std::size_t n) {
  Words result;
  for (std::size_t i = 0; i < n; i++) result.push_back((folder / absl::StrCat(i, ".o")).string());
  return result;
}

Words torch_flags(const TorchInstall& torch) {
  Words flags = {absl::StrCat("-D_GLIBCXX_USE_CXX11_ABI=", torch.cxx11_abi ? 1 : 0)};
  for (const auto& folder : torch.include_folders) {
    // The compiler searches it anyway, and naming it breaks #include_next of the C++ library.
    if (folder == "/usr/include") continue;
    flags.push_back("-isystem" + folder);
    // Assertions in PyTorch's headers name their file: an agent is not to depend on where these lie.
    flags.push_back(absl::StrCat("-fmacro-prefix-map=", folder, "=torch"));
  }
  return flags;
}

}  // namespace

Words cxx_compiler() {
  const char* chosen = getenv("CXX");
  if (chosen != nullptr && chosen[0] != '\0') return absl::StrSplit(chosen, ' ', absl::SkipWhitespace());
  for (const char* name : {"g++", "c++", "clang++"}) {
    if (!find_in_path(name).empty()) return {name};
  }
  return {};
}

const std::string& source_hash() {
  static const auto* hash = [] {
    std::uint64_t value = CASTSCOPE_FNV1A_SHORT_START;
    for (const auto& file : embedded_files()) value = hash_on(hash_on(value, file.path), file.content);
    const std::string flags = absl::StrJoin(kAgentFlags + kAgentLinkFlags + kAgentLibraries, " ");
    value = hash_on(value, carried("libcastscope.so"));
    return new std::string(absl::StrFormat("%016x", hash_on(value, flags)));
  }();
  return *hash;
}

absl::Status can_compile(const TorchInstall& torch) {
  if (cxx_compiler().empty()) return absl::NotFoundError("no C++ compiler is found: install g++ (or set CXX)");
  if (torch.include_folders.empty()) {
    return absl::NotFoundError(absl::StrCat("the headers of the PyTorch in ", torch.folder,
                                            " are not installed: install them (Debian: libtorch-dev), or a wheel"));
  }
  if (has_foreign_headers(torch)) {
    return absl::NotFoundError(absl::StrCat("the headers in ", torch.include_folders[0], " are those of PyTorch ",
                                            torch.headers_version, ", not of ", torch.version,
                                            ": install the headers of this PyTorch, or the PyTorch of these headers"));
  }
  return absl::OkStatus();
}

absl::Status compile_agent(const std::string& sources, const TorchInstall& torch, const std::string& output,
                           Symbols symbols) {
  absl::Status status = can_compile(torch);
  if (!status.ok()) return status;
  const Words cxx = cxx_compiler();
  absl::StatusOr<Words> files = write_units(sources);
  if (!files.ok()) return files.status();
  std::string folder = absl::StrCat(output, ".", getpid(), ".objects");
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return absl::UnavailableError(absl::StrCat(folder, " cannot be made: ", error.message()));
  auto remove = absl::MakeCleanup([&] { fs::remove_all(folder, error); });

  Words objects = object_names(folder, files->size());
  std::vector<Words> commands;
  for (std::size_t i = 0; i < files->size(); i++) {
    commands.push_back(cxx + kAgentFlags + torch_flags(torch) + Words{"-c", (*files)[i], "-o", objects[i]});
  }
  ChildOptions options{.folder = sources, .environment = {"CASTSCOPE_OFF=1"}};
  status = run_children(commands, parallel_compilations(), options);
  if (!status.ok()) return status;
  const Words strip = symbols == Symbols::kStripped ? Words{"-s"} : Words{};
  status = run_children({cxx + kAgentLinkFlags + strip + Words{"-o", output} + objects +
                         Words{torch.library, torch.core_library} + kAgentLibraries},
                        1, options);
  if (!status.ok()) return status;
  if (!fs::exists(output, error))
    return absl::UnavailableError(absl::StrCat("the compiler ", absl::StrJoin(cxx, " "),
                                               " ends with 0 and writes nothing: set CXX to another one"));
  return seal(output);
}

}  // namespace castscope::cli
