#include "server/cli/toolkit/python_probe.h"

#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/machine/names.h"
#include "server/cli/toolkit/child.h"
#include "server/cli/toolkit/elf.h"
#include "server/cli/toolkit/python_runner.h"
#include "server/files/plain_file.h"

namespace castscope::cli {

namespace fs = std::filesystem;

bool looks_like_python(const std::string& path) {
  static const std::regex pattern("(python|pypy)[0-9.]*t?d?");
  return std::regex_match(fs::path(path).filename().string(), pattern);
}

namespace {

// Returns the Python that a script's first lines name: "#!/venv/bin/python", "#!/usr/bin/env python3", and pip's form
// for long paths, a shell script that begins with '''exec' "/long path/python" "$0" "$@".
std::string python_of_script(const std::string& path) {
  std::istringstream file(files::text_or_nothing(path));
  std::string first, second;
  if (!std::getline(file, first) || !absl::StartsWith(first, "#!")) return "";
  std::getline(file, second);
  std::istringstream words(first.substr(2));
  std::string word;
  while (words >> word) {
    if (looks_like_python(word)) return find_in_path(word);
  }
  static const std::regex exec_line("'''exec' \"?([^\"]+?)\"? \"\\$0\".*");
  std::smatch match;
  if (std::regex_match(second, match, exec_line) && looks_like_python(match[1])) return find_in_path(match[1]);
  return "";
}

// The answer is printed between marks, since sitecustomize and .pth files may print too. Python's own modules are not
// taken from the working folder, which may be anybody's; torch is looked for there, too, as by the job, and not run.
constexpr char kProbe[] = R"(
import sys
here = sys.path[:1] == [""]
if here:
    del sys.path[0]
import importlib.util
if here:
    sys.path.insert(0, "")
def folder(name):
    try:
        spec = importlib.util.find_spec(name)
    except Exception:
        return ""
    return list(spec.submodule_search_locations or [""])[0] if spec and spec.origin else ""
print("<castscope>%s|%d.%d.%d|%s|%s</castscope>" % (
    (sys.executable,) + tuple(sys.version_info[:3]) + (folder("torch"), folder("castscope"))))
)";

std::string read_version(const fs::path& torch) {
  const std::string content = files::text_or_nothing((torch / "version.py").string());
  static const std::regex pattern("__version__ *= *['\"]([^'\"]+)['\"]");
  std::smatch match;
  return std::regex_search(content, match, pattern) ? match[1].str() : "(version unknown)";
}

// Looks in the wheel's own folder, and where a distribution's package has it ("libtorch_cpu.so.2.6").
std::string find_library(const fs::path& torch, const std::string& name) {
  for (const fs::path& folder :
       {torch / "lib", fs::path(CASTSCOPE_LIBRARY_FOLDER), fs::path("/usr/lib64"), fs::path("/usr/lib")}) {
    std::error_code error;
    if (fs::exists(folder / name, error)) return fs::canonical(folder / name, error).string();
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (absl::StartsWith(entry.path().filename().string(), absl::StrCat(name, "."))) {
        return fs::canonical(entry.path(), error).string();
      }
    }
  }
  return "";
}

std::vector<std::string> find_headers(const fs::path& torch) {
  for (const fs::path& folder : {torch / "include", fs::path("/usr/include")}) {
    std::error_code error;
    if (fs::exists(folder / "ATen" / "autocast_mode.h", error)) {
      return {folder.string(), (folder / "torch/csrc/api/include").string()};
    }
  }
  return {};
}

// Returns "2.13", from where PyTorch 2.10 and newer have it, or older ones.
std::string version_of_headers(const std::vector<std::string>& folders) {
  static const std::regex major("# *define +TORCH_VERSION_MAJOR +([0-9]+)"),
      minor("# *define +TORCH_VERSION_MINOR +([0-9]+)");
  for (const std::string& folder : folders) {
    for (const char* name : {"torch/headeronly/version.h", "torch/version.h"}) {
      const std::string content = files::text_or_nothing((fs::path(folder) / name).string());
      std::smatch first, second;
      if (std::regex_search(content, first, major) && std::regex_search(content, second, minor))
        return absl::StrCat(first[1].str(), ".", second[1].str());
    }
  }
  return "";
}

}  // namespace

absl::StatusOr<TorchInstall> describe_torch(const std::string& folder) {
  TorchInstall torch;
  torch.folder = folder;
  torch.version = read_version(folder);
  torch.library = find_library(folder, "libtorch_cpu.so");
  torch.core_library = find_library(folder, "libc10.so");
  if (torch.library.empty() || torch.core_library.empty()) {
    return absl::NotFoundError(absl::StrCat("the PyTorch in ", folder, " has no libtorch_cpu.so and libc10.so"));
  }
  auto key = library_key(torch.library);
  if (!key.ok()) return key.status();
  torch.key = *key;
  torch.include_folders = find_headers(folder);
  torch.headers_version = version_of_headers(torch.include_folders);
  // torchCheckFail takes a std::string: its mangled name shows which ABI.
  auto cxx11 = file_contains(torch.core_library, "torchCheckFailEPKcS2_jRKNSt7__cxx1112basic_string");
  torch.cxx11_abi = !cxx11.ok() || *cxx11;
  return torch;
}

bool has_foreign_headers(const TorchInstall& torch) {
  static const std::regex pattern("^([0-9]+\\.[0-9]+)");
  std::smatch match;
  return !torch.headers_version.empty() && std::regex_search(torch.version, match, pattern) &&
         match[1].str() != torch.headers_version;
}

std::string named_python(const std::vector<std::string>& command) {
  if (command.empty()) return "";
  std::string program = find_in_path(command[0]);
  if (looks_like_python(command[0])) return program;
  std::string python = program.empty() ? "" : python_of_script(program);
  if (python.empty()) python = python_of_runner(command);
  if (!python.empty()) return python;
  for (const std::string& argument : command) {  // env X=1 python …, numactl python …
    if (looks_like_python(argument) && !find_in_path(argument).empty()) return find_in_path(argument);
  }
  return "";
}

std::string python_of(const std::vector<std::string>& command) {
  std::string python = named_python(command);
  if (!python.empty() || (!command.empty() && looks_like_python(command[0]))) return python;
  python = find_in_path("python3");
  return python.empty() ? find_in_path("python") : python;
}

absl::StatusOr<PythonInstall> probe_python(const std::string& executable) {
  auto result = run_child({executable, "-c", kProbe}, {.folder = "", .environment = {"CASTSCOPE_OFF=1"}});
  if (!result.ok()) return result.status();
  std::size_t begin = result->out.find("<castscope>"), end = result->out.find("</castscope>");
  if (result->status != 0 || begin == std::string::npos || end == std::string::npos) {
    return absl::UnknownError(absl::StrCat(executable, " does not run: ", absl::StripAsciiWhitespace(result->err)));
  }
  begin += sizeof("<castscope>") - 1;
  std::vector<std::string> fields = absl::StrSplit(result->out.substr(begin, end - begin), '|');
  if (fields.size() != 4) return absl::UnknownError(absl::StrCat(executable, " gives an unexpected answer"));
  PythonInstall python;
  python.executable = fields[0].empty() ? executable : fields[0];
  python.version = fields[1];
  python.has_castscope = !fields[3].empty();
  if (fields[2].empty()) return python;
  auto torch = describe_torch(fields[2]);
  if (torch.ok()) {
    python.torch = *std::move(torch);
  } else {
    python.torch_problem = std::string(torch.status().message());
  }
  return python;
}

}  // namespace castscope::cli
