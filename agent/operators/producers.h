// Tells which operator use made a tensor, within one deep step, in one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "agent/lanes/format.h"
#include "agent/memory/own_memory.h"

namespace castscope::operators {

inline constexpr std::uint8_t kNoDtype = 0xff;

// A tensor's TensorImpl together with where its data begins. Either alone may be reused by another tensor; both
// together only by one that has the same memory.
struct Identity {
  const void* tensor;
  std::uint64_t data;
  bool operator==(const Identity&) const = default;
};

// A script's graph casts a tensor before the operator that takes the copy (script_casts.h). This record is kept with
// the copy and tells what the tensor was before.
struct BeforeCast {
  std::uint8_t dtype = kNoDtype;  // kNoDtype: a script did not cast it
  lanes::Role role{};             // as the graph tells; kUnknown: the fields below tell
  bool leaf = true, view = false, parameter = false, requires_grad = false;
};

struct Producer {
  std::uint32_t use = 0;  // 0 = not known
  std::uint8_t dtype = 0;
  lanes::Phase phase{};
  BeforeCast before{};
  bool is_known() const { return use != 0 || before.dtype != kNoDtype; }
};

class Producers {
 public:
  static constexpr std::size_t kMost = 200'000;  // some 14 MB; later tensors have no producer

  Producer find(const Identity& tensor, std::uint8_t dtype) const {
    const auto found = made_.find(tensor);
    // A different dtype means that another tensor has its address.
    return found == made_.end() || found->second.dtype != dtype ? Producer{} : found->second;
  }
  // A producer without facts erases those of an earlier tensor at this address.
  void set(const Identity& tensor, const Producer& producer) {
    if (!producer.is_known())
      made_.erase(tensor);
    else if (made_.size() < kMost)
      made_.insert_or_assign(tensor, producer);
    else if (const auto found = made_.find(tensor); found != made_.end())
      found->second = producer;
  }
  void clear() { made_.clear(); }
  std::size_t size() const { return made_.size(); }

 private:
  struct Hash {
    std::size_t operator()(const Identity& i) const {
      return (reinterpret_cast<std::uint64_t>(i.tensor) ^ i.data * 0xff51afd7ed558ccdu) * 0x9e3779b97f4a7c15u >> 16;
    }
  };
  memory::OwnMap<Identity, Producer, Hash> made_;
};

}  // namespace castscope::operators
