#include "agent/torchscript/known_ranges.h"

#include <torch/csrc/jit/frontend/source_range.h>

#include <mutex>
#include <utility>

#include "agent/memory/own_memory.h"
#include "agent/torchscript/misplaced.h"

namespace castscope::script {
namespace {

using torch::jit::Source;
using torch::jit::SourceRange;

constexpr std::size_t kMostKept = 200'000;

struct Known {
  std::shared_ptr<Source> source;
  std::shared_ptr<const NodeNote> note;
  std::shared_ptr<const NodePlace> place;
  bool pytorchs = false;
  bool owns_text = false;
  bool loaded = false;  // its program was saved and does not contain its lines
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
  return &known()
              .emplace(range.source().get(), Known{.source = range.source(), .note = nullptr, .place = nullptr})
              .first->second;
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

namespace {

// A copy of the range's source. Copies of a source that owns its text share the text.
std::shared_ptr<Source> copy_of(const SourceRange& range) {
  if (range.source() == nullptr) return std::make_shared<Source>(std::string());
  {
    std::lock_guard lock(g_mutex);
    const auto found = known().find(range.source().get());
    if (found != known().end() && found->second.owns_text) return std::make_shared<Source>(*found->second.source);
  }
  return torch::jit::OwnedSourceRange(range).source();
}

// A range that reads as `lines`, with what is known of `of`; does nothing where too many ranges are known.
struct Own {
  SourceRange range;
  Known* known = nullptr;
};
Own own_locked(const SourceRange& of, const SourceRange& lines, std::shared_ptr<Source> source) {
  SourceRange own(std::move(source), lines.start(), lines.end());
  Known* k = known_locked(own);
  if (k == nullptr) return {of, nullptr};
  k->owns_text = true;
  if (const auto before = known().find(of.source().get()); before != known().end()) {
    k->note = before->second.note;
    k->place = before->second.place;
    k->loaded = before->second.loaded;
  }
  return {std::move(own), k};
}

}  // namespace

SourceRange own_range(const SourceRange& of, NodeNote what) {
  auto source = copy_of(of);
  auto shared = std::make_shared<const NodeNote>(std::move(what));
  std::lock_guard lock(g_mutex);
  const Own own = own_locked(of, of, std::move(source));
  if (own.known != nullptr) own.known->note = std::move(shared);
  return own.range;
}

SourceRange own_place(const SourceRange& of, const SourceRange& lines, NodePlace where) {
  auto source = copy_of(lines);
  auto shared = std::make_shared<const NodePlace>(std::move(where));
  const bool loaded = of.findSourceRangeThatGenerated().has_value();
  std::lock_guard lock(g_mutex);
  const Own own = own_locked(of, lines, std::move(source));
  if (own.known == nullptr) return own.range;
  own.known->place = std::move(shared);
  own.known->loaded |= loaded;
  return own.range;
}

bool was_loaded(const SourceRange& range) {
  std::lock_guard lock(g_mutex);
  const auto found = known().find(range.source().get());
  return found != known().end() && found->second.loaded;
}

std::shared_ptr<const NodePlace> place_of(const SourceRange& range) {
  std::lock_guard lock(g_mutex);
  const auto found = known().find(range.source().get());
  return found == known().end() ? nullptr : found->second.place;
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
