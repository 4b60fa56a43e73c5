// Tells whether weights were written to since an outermost region was last entered. An optimizer step does that, and it
// is the only trace of a step that torch.compile compiled (Dynamo drops the record_function range around
// Optimizer.step). Every in-place write raises the version counter that a parameter has for autograd; compiled graphs
// raise it too.
//
// Counters are kept, not tensors, so nothing of the job's lives longer. Thread-safe. No torch header here.
#pragma once

#include <memory>
#include <mutex>

namespace castscope::agent {

class WeightVersions {
 public:
  // The most living weights that are watched, the first ones; an optimizer writes to all that it has.
  static constexpr std::size_t kMostWatched = 256;

  WeightVersions();
  ~WeightVersions();
  void watch(const void* tensor);  // TensorImpl* of a parameter that requires grad
  bool changed();                  // since the last call, or since a weight is watched

 private:
  struct Watched;
  struct List;
  std::mutex mutex_;
  std::unique_ptr<List> list_;
};

}  // namespace castscope::agent
