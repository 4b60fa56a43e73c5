#include "agent/session/kept_sources.h"

#include <utility>

namespace castscope::agent {

KeptSources::Row* KeptSources::row_of(const void* source) {
  if (rows_.empty()) return nullptr;
  const std::size_t mask = rows_.size() - 1;
  std::size_t at = static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(source) * 0x9e3779b97f4a7c15u >> 32);
  while (rows_[at &= mask].generation == generation_ && rows_[at].source != source) ++at;
  return &rows_[at];
}

void KeptSources::grow() {
  memory::OwnVector<Row> larger(rows_.empty() ? 64 : rows_.size() * 2);
  larger.swap(rows_);
  for (const Row& row : larger)
    if (row.generation == generation_) *row_of(row.source) = row;
}

void KeptSources::put(const void* source, const Snapshot& as_cast) {
  std::lock_guard lock(mutex_);
  if ((used_ + 1) * 2 > rows_.size() && used_ < kMost) grow();
  Row& row = *row_of(source);
  const bool fresh = row.generation != generation_;
  if (fresh && used_ >= kMost) return;
  if (!fresh && row.kept.steps != steps_) --unlooked_;
  used_ += fresh;
  row = {source, generation_, {as_cast, as_cast.version, steps_, lanes::Staleness::kNone}};
}

std::optional<KeptSources::Kept> KeptSources::find(const void* source) {
  std::lock_guard lock(mutex_);
  const Row* row = row_of(source);
  if (row == nullptr || row->generation != generation_) return std::nullopt;
  return row->kept;
}

bool KeptSources::looked_at(const void* source, std::uint32_t version, std::uint32_t steps, lanes::Staleness how) {
  std::lock_guard lock(mutex_);
  Row* row = row_of(source);
  if (row != nullptr && row->generation == generation_) {
    if (row->kept.steps != steps_ && steps == steps_) --unlooked_;
    row->kept.version = version;
    row->kept.steps = steps;
    row->kept.how = how;
  }
  return unlooked_ == 0;
}

void KeptSources::clear() {
  std::lock_guard lock(mutex_);
  ++generation_;
  used_ = unlooked_ = 0;
}

bool KeptSources::optimizer_stepped() {
  std::lock_guard lock(mutex_);
  if (used_ == 0) return false;
  ++steps_;
  unlooked_ = used_;
  return true;
}

std::uint32_t KeptSources::steps() {
  std::lock_guard lock(mutex_);
  return steps_;
}

}  // namespace castscope::agent
