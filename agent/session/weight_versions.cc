#include "agent/session/weight_versions.h"

#include <c10/core/TensorImpl.h>

#include <cstring>
#include <vector>

#include "agent/memory/own_memory.h"

namespace castscope::agent {
namespace {

// The address that identifies the counter. Unlike a tensor's, no other counter can get it while this one is watched.
const void* identity(const c10::VariableVersion& counter) {
  static_assert(sizeof(c10::VariableVersion) == sizeof(void*));  // one intrusive_ptr
  const void* object;
  std::memcpy(&object, &counter, sizeof object);
  return object;
}

}  // namespace

struct WeightVersions::Watched {
  c10::VariableVersion counter;
  std::uint32_t seen;
};
struct WeightVersions::List {
  memory::OwnVector<Watched> watched;
};

WeightVersions::WeightVersions() : list_(std::make_unique<List>()) {}
WeightVersions::~WeightVersions() = default;

void WeightVersions::watch(const void* tensor) {
  const auto* impl = static_cast<const c10::TensorImpl*>(tensor);
  const c10::VariableVersion& counter = impl->version_counter();
  if (!counter.enabled()) return;
  std::lock_guard lock(mutex_);
  memory::OwnVector<Watched>& watched = list_->watched;
  for (const Watched& known : watched)
    if (identity(known.counter) == identity(counter)) return;
  if (watched.size() >= kMostWatched)  // weights of models that are gone: nobody else holds their counters
    std::erase_if(watched, [](const Watched& known) { return known.counter.unique(); });
  if (watched.size() < kMostWatched) watched.push_back({counter, counter.current_version()});
}

bool WeightVersions::changed() {
  std::lock_guard lock(mutex_);
  bool any = false;
  for (Watched& w : list_->watched) {
    const std::uint32_t version = w.counter.current_version();
    any |= version != w.seen;
    w.seen = version;
  }
  return any;
}

}  // namespace castscope::agent
