#include "server/cli/toolkit/python_runner.h"

#include <cstdlib>
#include <filesystem>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/cli/toolkit/child.h"
#include "server/files/plain_file.h"

namespace castscope::cli {
namespace {

using Words = std::vector<std::string>;

// Whether uv makes an environment for this script alone (PEP 723).
bool has_inline_metadata(const std::string& script) {
  return absl::StrContains(files::text_or_nothing(script), "# /// script");
}

// What `uv run` is told of the Python, as the options of `uv python find`.
struct Asked {
  Words options;
  std::string request, script;
  bool active = false;
};

// Options that uv takes and that say nothing of the Python are passed over, with a value or without.
Asked asked_of(const Words& command, std::size_t at) {
  Asked asked;
  for (; at < command.size(); at++) {
    std::string word = command[at], value;
    const std::size_t equals = absl::StartsWith(word, "--") ? word.find('=') : std::string::npos;
    if (equals != std::string::npos) value = word.substr(equals + 1), word.resize(equals);
    const bool takes_value = word == "-p" || word == "--python" || word == "--project" || word == "--directory";
    if (takes_value && equals == std::string::npos && at + 1 < command.size()) value = command[++at];
    if (word == "-p" || word == "--python") asked.request = value;
    if (word == "--project" || word == "--directory") asked.options.insert(asked.options.end(), {word, value});
    if (word == "--no-project") asked.options.push_back(word);
    asked.active |= word == "--active";
    if (absl::EndsWith(word, ".py") && has_inline_metadata(word)) asked.script = word;
    const bool is_python = absl::StartsWith(std::filesystem::path(word).filename().string(), "python");
    if (word == "--" || word == "-m" || absl::EndsWith(word, ".py") || is_python) break;
  }
  return asked;
}

std::string ask_uv(const std::string& uv, const Asked& asked) {
  const char* active = getenv("VIRTUAL_ENV");
  if (asked.active && active != nullptr) return find_in_path(absl::StrCat(active, "/bin/python"));
  Words question = {uv, "python", "find"};
  question.insert(question.end(), asked.options.begin(), asked.options.end());
  if (!asked.script.empty()) question.insert(question.end(), {"--script", asked.script});
  if (asked.script.empty() && !asked.request.empty()) question.push_back(asked.request);
  const auto answer = run_child(question, {.folder = "", .environment = {"CASTSCOPE_OFF=1"}});
  if (!answer.ok() || answer->status != 0) return "";
  return find_in_path(std::string(absl::StripAsciiWhitespace(answer->out)));
}

}  // namespace

std::string python_of_runner(const Words& command) {
  if (command.size() < 3 || std::filesystem::path(command[0]).filename() != "uv") return "";
  std::size_t run = 1;
  while (run < command.size() && command[run] != "run" && absl::StartsWith(command[run], "-")) run++;
  if (run >= command.size() || command[run] != "run") return "";
  static auto* const known = new std::map<Words, std::string>();
  auto [at, is_new] = known->try_emplace(command);
  if (is_new) at->second = ask_uv(command[0], asked_of(command, run + 1));
  return at->second;
}

}  // namespace castscope::cli
