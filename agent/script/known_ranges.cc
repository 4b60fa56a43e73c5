#include "agent/script/known_ranges.h"

#include <torch/csrc/jit/frontend/source_range.h>

#include <mutex>
#include <utility>

#include "agent/memory/own_memory.h"
#include "agent/script/misplaced.h"

namespace castscope::script {
namespace {

using torch::jit::Source;
using torch::jit::SourceRange;

constexpr std::size_t kMostKept = 200'000;

struct Known {
  std::shared_ptr<Source> source;
  std::shared_ptr<const NodeNote> note;
  bool pytorchs = false;
};

std::mutex g_mutex;
memory::OwnMap<const Source*, Known>& known() {
  static auto& map = *new memory::OwnMap<const Source*, Known>;  // threads may still ask while the process exits
  return map;
}

// nullptr where there is no room.
Known* known_locked(const SourceRange& range) {
  if (range.source() == nullptr) return nullptr;
  if (const auto found = known().find(range.source().get()); found != known().end()) return &found->second;
  if (known().size() >= kMostKept) return nullptr;
  return &known().emplace(range.source().get(), Known{range.source(), nullptr, false}).first->second;
}

}  // namespace

void keep(const SourceRange& range) {
  std::lock_guard lock(g_mutex);
  known_locked(range);
}

void mark_as_pytorchs(const SourceRange& range) {
  std::lock_guard lock(g_mutex);
  if (Known* k = known_locked(range)) k->pytorchs = true;
}

bool is_pytorchs(const SourceRange& range) {
  std::lock_guard lock(g_mutex);
  const auto found = known().find(range.source().get());
  return found != known().end() && found->second.pytorchs;
}

SourceRange own_range(const SourceRange& of, NodeNote what) {
  auto source =
      of.source() == nullptr ? std::make_shared<Source>(std::string()) : torch::jit::OwnedSourceRange(of).source();
  SourceRange own(std::move(source), of.start(), of.end());
  auto shared = std::make_shared<const NodeNote>(std::move(what));
  std::lock_guard lock(g_mutex);
  Known* k = known_locked(own);
  if (k == nullptr) return of;
  k->note = std::move(shared);
  return own;
}

void note(const SourceRange& range, NodeNote what) {
  auto shared = std::make_shared<const NodeNote>(std::move(what));
  std::lock_guard lock(g_mutex);
  if (Known* k = known_locked(range)) k->note = std::move(shared);
}

std::shared_ptr<const NodeNote> note_of(const SourceRange& range) {
  std::lock_guard lock(g_mutex);
  const auto found = known().find(range.source().get());
  return found == known().end() ? nullptr : found->second.note;
}

void fork_begins() {
  g_mutex.lock();
  misplaced_fork_begins();
}
void fork_ends() {
  misplaced_fork_ends();
  g_mutex.unlock();
}

}  // namespace castscope::script
