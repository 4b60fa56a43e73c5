#include "server/cli/job/proc.h"

#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/utf8/utf8.h"

namespace castscope::cli {
namespace {

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  // This is not done with istreambuf_iterator: if a process ends between opening and reading, the read fails, and the
  // iterator throws.
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

}  // namespace

std::uint64_t start_ticks(pid_t pid) {
  std::string text = read_all(absl::StrCat("/proc/", pid, "/stat"));
  std::size_t name_end = text.rfind(')');  // the name may hold blanks and brackets
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string state, skipped;
  fields >> state;
  for (int field = 4; field < 22; field++) fields >> skipped;
  std::uint64_t ticks = 0;
  return fields >> ticks && state != "Z" && state != "X" ? ticks : 0;
}

bool is_alive(pid_t pid, std::uint64_t ticks) {
  std::uint64_t now = start_ticks(pid);
  return now != 0 && (ticks == 0 || ticks == now);
}

pid_t process_of(pid_t task) {
  constexpr char kKey[] = "\nTgid:";
  const std::string status = read_all(absl::StrCat("/proc/", task, "/status"));
  const std::size_t at = status.find(kKey);
  return at == std::string::npos ? 0 : std::atoi(status.c_str() + at + sizeof kKey - 1);
}

double process_age(pid_t pid) {
  std::uint64_t ticks = start_ticks(pid);
  timespec now{};
  if (ticks == 0 || clock_gettime(CLOCK_BOOTTIME, &now) != 0) return -1e9;
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) -
         static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::vector<std::string> command_line(pid_t pid) {
  std::string text = read_all(absl::StrCat("/proc/", pid, "/cmdline"));
  if (!text.empty() && text.back() == '\0') text.pop_back();
  if (text.empty()) return {};
  return absl::StrSplit(text, '\0');
}

std::string batch_job() {
  for (const char* name :
       {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "OAR_JOB_ID", "CI_JOB_ID", "GITHUB_RUN_ID"}) {
    const char* value = getenv(name);
    if (value != nullptr && *value != '\0') return absl::StrCat(name, "=", value);
  }
  return "";
}

std::string working_folder() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path folder = fs::current_path(error);
  return error ? fs::read_symlink("/proc/self/cwd", error).string() : folder.string();
}

std::string checkout_of(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;  // a folder that cannot be read is not a checkout
  for (fs::path at = folder; at.is_absolute(); at = at.parent_path()) {
    if (fs::exists(at / ".git", error)) return at.string();
    if (!at.has_relative_path()) break;
  }
  return "";
}

std::string one_line(std::string text, std::size_t most_bytes) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t control = utf8::control_at(std::string_view(text).substr(at));
    std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(at), control, ' ');
    at += std::max<std::size_t>(control, 1);
  }
  if (text.size() <= most_bytes) return text;
  return absl::StrCat(text.substr(0, utf8::cut(text, most_bytes)), "…");
}

}  // namespace castscope::cli
