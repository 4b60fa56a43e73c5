#include "agent/observe/weight_versions.h"

#include <c10/core/TensorImpl.h>

#include <vector>

namespace castscope::observe {

struct WeightVersions::Watched {
  const c10::TensorImpl* tensor;  // only good for comparing
  c10::VariableVersion counter;
  std::uint32_t seen;
};
struct WeightVersions::List {
  std::vector<Watched> watched;
};

WeightVersions::WeightVersions() : list_(std::make_unique<List>()) {}
WeightVersions::~WeightVersions() = default;

void WeightVersions::watch(const void* tensor) {
  const auto* impl = static_cast<const c10::TensorImpl*>(tensor);
  const c10::VariableVersion& counter = impl->version_counter();
  if (!counter.enabled()) return;
  std::lock_guard lock(mutex_);
  std::vector<Watched>& watched = list_->watched;
  for (const Watched& known : watched)
    if (known.tensor == impl) return;
  if (watched.size() < kMostWatched) watched.push_back({impl, counter, counter.current_version()});
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

}  // namespace castscope::observe
