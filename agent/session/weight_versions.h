// Whether weights were written to since an outermost region was last entered: what an optimizer step does, and what is
// left to see of one that torch.compile compiled (Dynamo drops the record_function range around Optimizer.step). Every
// in-place write raises the version counter that a parameter has for autograd, compiled graphs raise it too.
//
// Counters are kept, not tensors: nothing of the job's lives longer for it. Thread-safe. No torch header here.
#pragma once

#include <memory>
#include <mutex>

namespace castscope::observe {

class WeightVersions {
 public:
  // The first so many weights that live are watched; an optimizer writes to all that it has.
  static constexpr std::size_t kMostWatched = 256;

  WeightVersions();
  ~WeightVersions();
  void watch(const void* tensor);  // TensorImpl* of a parameter that requires grad
  bool changed();                  // since the last call, or since it is watched

 private:
  struct Watched;
  struct List;
  std::mutex mutex_;
  std::unique_ptr<List> list_;
};

}  // namespace castscope::observe
