#include "agent/torchscript/misplaced.h"

#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <mutex>

#include "agent/memory/own_memory.h"

namespace castscope::script {
namespace {

constexpr std::size_t kMostLookedAt = 100'000;
constexpr const char* kSpace = " \t\r\n\f";
constexpr std::size_t kMostMisplaced = 10'000;

struct Table {
  std::mutex mutex;
  memory::OwnMap<std::size_t, std::uint32_t> numbers;  // by source; 0: it is in the file that PyTorch names
  std::vector<std::string> files;                      // by number - 1; empty: not known
  std::vector<std::pair<std::uint32_t, ToldSource>> unasked;
};
Table& table() {
  static auto& t = *new Table;  // threads may still ask while the process exits
  return t;
}
std::atomic<bool> g_misplaced{false}, g_unasked{false};

std::size_t key_of(const ToldSource& told) {
  const std::size_t text = std::hash<std::string>{}(told.text), file = std::hash<std::string>{}(told.file);
  return text ^ (file * 31 + told.line) * 0x9e3779b97f4a7c15;
}

// The line without the space around it.
std::string_view stripped(std::string_view line) {
  const auto first = line.find_first_not_of(kSpace);
  return first == line.npos ? std::string_view() : line.substr(first, line.find_last_not_of(kSpace) + 1 - first);
}

bool is_regular(const std::string& file) {
  struct stat status {};
  return stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

bool stands_in_its_file(const ToldSource& told) {
  if (!is_regular(told.file)) return true;
  std::ifstream file(told.file);
  std::string line;
  for (std::uint32_t at = 1; at < told.line; ++at)
    if (!std::getline(file, line)) return file.bad();
  for (std::string_view text = told.text; !text.empty();) {
    const auto end = text.find('\n');
    if (!std::getline(file, line)) return file.bad() || stripped(text).empty();
    if (stripped(line) != stripped(text.substr(0, end))) return false;
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return true;
}

void look_at_file(const ToldSource& told) {
  const std::size_t key = key_of(told);
  {
    std::lock_guard lock(table().mutex);
    if (table().numbers.size() >= kMostLookedAt || !table().numbers.try_emplace(key, 0).second) return;
  }
  if (!stripped(told.text).starts_with('@') && stands_in_its_file(told)) return;
  std::lock_guard lock(table().mutex);
  if (table().files.size() >= kMostMisplaced) return;
  table().files.emplace_back();
  const auto number = static_cast<std::uint32_t>(table().files.size());
  table().numbers[key] = number;
  table().unasked.emplace_back(number, told);
  g_misplaced.store(true, std::memory_order_relaxed);
  g_unasked.store(true, std::memory_order_relaxed);
}

bool any_misplaced() { return g_misplaced.load(std::memory_order_relaxed); }

std::uint32_t misplaced_number(const ToldSource& told) {
  std::lock_guard lock(table().mutex);
  const auto found = table().numbers.find(key_of(told));
  return found == table().numbers.end() ? 0 : found->second;
}

bool any_unasked() { return g_unasked.load(std::memory_order_relaxed); }

std::vector<std::pair<std::uint32_t, ToldSource>> take_unasked() {
  std::lock_guard lock(table().mutex);
  g_unasked.store(false, std::memory_order_relaxed);
  return std::exchange(table().unasked, {});
}

void found_in(std::uint32_t number, std::string file) {
  std::lock_guard lock(table().mutex);
  table().files.at(number - 1) = std::move(file);
}

std::string file_of(const CodeLine& frame) {
  if (frame.misplaced == 0) return frame.file;
  std::lock_guard lock(table().mutex);
  const std::string& found = table().files.at(frame.misplaced - 1);
  return found.empty() ? frame.file : found;
}

std::string place_text(const Region& region) {
  if (region.place.empty()) return {};
  return file_of(region.place.front()) + ":" + std::to_string(region.place.front().line);
}

void misplaced_fork_begins() { table().mutex.lock(); }
void misplaced_fork_ends() { table().mutex.unlock(); }

}  // namespace castscope::script
