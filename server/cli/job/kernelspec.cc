#include "server/cli/job/kernelspec.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/cli/toolkit/child.h"
#include "server/cli/toolkit/fresh_file.h"
#include "server/files/plain_file.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// The answer is printed between marks, since sitecustomize and .pth files may print, too.
constexpr char kQuestion[] = R"(
import sys
if sys.path[:1] == [""]:
    del sys.path[0]  # nothing of the working folder is run
import ipykernel
from jupyter_core.paths import jupyter_data_dir
print("<castscope>%s|%d.%d|%s|%s</castscope>" % ((sys.executable,) + tuple(sys.version_info[:2]) + (
    sys.prefix, jupyter_data_dir())))
)";

// Whether its command begins with `… run`, and has ipykernel behind that.
bool is_castscopes(const fs::path& file) {
  const Json json = Json::parse(files::text_or_nothing(file.string()), nullptr, false);
  if (!json.is_object() || !json.contains("argv") || !json["argv"].is_array() || json["argv"].size() < 2) return false;
  const Json& words = json["argv"];
  return words[1] == "run" && std::ranges::find(words, Json("ipykernel_launcher")) != words.end();
}

}  // namespace

absl::StatusOr<JupyterPython> ask_jupyter(const std::string& python) {
  const auto answer = run_child({python, "-c", kQuestion}, {.folder = "", .environment = {"CASTSCOPE_OFF=1"}});
  if (!answer.ok()) return answer.status();
  const std::size_t begin = answer->out.find("<castscope>"), end = answer->out.find("</castscope>");
  if (answer->status != 0 || begin == std::string::npos || end == std::string::npos) {
    const std::vector<std::string> lines = absl::StrSplit(absl::StripAsciiWhitespace(answer->err), '\n');
    if (lines.back().empty()) return absl::NotFoundError(absl::StrCat(python, " does not answer as a Python does"));
    return absl::NotFoundError(
        absl::StrCat(python, " cannot run a kernel (", lines.back(), "): ", python, " -m pip install ipykernel"));
  }
  const std::size_t from = begin + std::strlen("<castscope>");
  const std::vector<std::string> fields = absl::StrSplit(answer->out.substr(from, end - from), '|');
  if (fields.size() != 4) return absl::UnknownError(absl::StrCat(python, " gives an unexpected answer"));
  return JupyterPython{fields[0], fields[1], fields[2], fields[3]};
}

std::string problem_of_kernel_name(const std::string& name) {
  const bool is_right = !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || std::strchr("._-", c) != nullptr;
  });
  return is_right ? "" : absl::StrCat("a kernel's name has letters, digits, `.`, `_` and `-`, not `", name, "`");
}

std::string kernel_json(const Kernelspec& spec) {
  Json words = spec.command;
  for (const char* word : {"-m", "ipykernel_launcher", "-f", "{connection_file}"}) words.push_back(word);
  const Json json = {
      {"argv", words}, {"display_name", spec.display_name}, {"language", "python"}, {"metadata", {{"debugger", true}}}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::Status install_kernel(const std::string& folder, const Kernelspec& spec, bool force) {
  const fs::path file = fs::path(folder) / "kernel.json";
  std::error_code error;
  if (fs::exists(file, error) && !force && !is_castscopes(file))
    return absl::AlreadyExistsError(
        absl::StrCat(file.string(), " is a kernel without castscope: choose another --name, or --force"));
  fs::create_directories(folder, error);
  FreshFile fresh(file.string());
  if (fresh.is_open()) fresh.stream() << kernel_json(spec);
  if (fresh.is_open() && fresh.keep()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(file.string(), " cannot be written: ", std::strerror(fresh.error())));
}

}  // namespace castscope::cli
