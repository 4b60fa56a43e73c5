// Leads from a node of autograd's graph to the cast that made it. So a cast in backward can name the cast of the
// forward pass whose gradient it converts.
//
// Each thread numbers the nodes that it makes one after the other, whatever made them, and a node's number decides its
// place here. So a cast is forgotten at the earliest when its thread has made kPlaces more nodes, and in steps that do
// the same, the same casts are.
//
// Thread-safe, without a lock: a place is one word. No torch header here.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>

#include "agent/cpython/python_stack.h"
#include "agent/memory/own_memory.h"
#include "agent/torch/backward_node.h"

namespace castscope::agent {

class CastNodes {
 public:
  static constexpr std::size_t kPlaces = 1 << 16;  // a power of two

  CastNodes() {
    try {
      places_ = static_cast<std::uint64_t*>(memory::own_memory(kBytes));
    } catch (const std::bad_alloc&) {  // nothing is remembered: what backward casts keeps its own line
    }
  }
  ~CastNodes() { memory::give_back(places_, kBytes); }
  CastNodes(const CastNodes&) = delete;
  CastNodes& operator=(const CastNodes&) = delete;

  // The cast that is counted at `site` made the node.
  void remember(const NodeIdentity& node, std::uint32_t site) {
    if (places_ == nullptr || node.address == nullptr || site == 0) return;
    place_of(node).store(std::uint64_t{site} << 32 | mark_of(node), std::memory_order_relaxed);
  }
  // The site of the cast that made the node; 0 = none did, or it was forgotten. It takes another node for that one with
  // a chance of 2^-32.
  std::uint32_t site_of(const NodeIdentity& node) const {
    if (places_ == nullptr || node.address == nullptr) return 0;
    const std::uint64_t word = place_of(node).load(std::memory_order_relaxed);
    return static_cast<std::uint32_t>(word) == mark_of(node) ? static_cast<std::uint32_t>(word >> 32) : 0;
  }

 private:
  static constexpr std::size_t kBytes = kPlaces * sizeof(std::uint64_t);

  static std::uint32_t mark_of(const NodeIdentity& node) {
    return static_cast<std::uint32_t>(mix(node.thread, reinterpret_cast<std::uintptr_t>(node.address), node.sequence));
  }
  // Threads that make nodes at the same time begin at different places.
  std::atomic_ref<std::uint64_t> place_of(const NodeIdentity& node) const {
    return std::atomic_ref(places_[(node.sequence + node.thread * (kPlaces / 8 + 1)) & (kPlaces - 1)]);
  }

  std::uint64_t* places_ = nullptr;  // new pages are zero, and a page takes memory when it is first written to
};

}  // namespace castscope::agent
