// Numbers as types: that of a region does not pass for that of a site, and a table (table.h) is asked by the numbers of
// its own entries alone.
//
// Ids are run-wide: the same code in eight ranks is one site. Numbers that a process gives are plain, as they come over
// the wire; only definitions of row_definitions.h hold them as ids until the store has put run-wide ones in their
// place.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <utility>

namespace castscope::store {

// The number of a T: 1, 2, … in its table; 0 = none. Made of a number by saying so, and read as one wherever a number
// is wanted.
template <typename T>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::integral auto number) : number_(static_cast<std::uint32_t>(number)) {}
  constexpr operator std::uint32_t() const { return number_; }
  constexpr std::uint32_t number() const { return number_; }  // where nothing says that a number is wanted

  friend constexpr bool operator==(Id, Id) = default;
  friend constexpr auto operator<=>(Id, Id) = default;
  // Numbers of different things have nothing to do with each other.
  template <typename Other>
  friend constexpr bool operator==(Id, Id<Other>) = delete;
  template <typename Other>
  friend constexpr auto operator<=>(Id, Id<Other>) = delete;

  template <typename Hash>
  friend Hash AbslHashValue(Hash hash, Id id) {
    return Hash::combine(std::move(hash), id.number_);
  }
  template <typename Json>
  friend void to_json(Json& json, Id id) {
    json = id.number_;
  }

 private:
  std::uint32_t number_ = 0;
};

template <typename T>
inline constexpr bool kIsId = false;
template <typename T>
inline constexpr bool kIsId<Id<T>> = true;

struct Process;
struct Stack;
struct Module;
struct CallSite;
struct Region;
struct Site;
struct OperatorUse;
struct Flow;
struct Fact;
struct KernelName;
struct Kernel;
struct Matmul;

using ProcessId = Id<Process>;
using StackId = Id<Stack>;
using ModuleId = Id<Module>;
using CallSiteId = Id<CallSite>;
using RegionId = Id<Region>;
using SiteId = Id<Site>;
using OperatorUseId = Id<OperatorUse>;
using FlowId = Id<Flow>;
using FactId = Id<Fact>;
using KernelNameId = Id<KernelName>;
using KernelId = Id<Kernel>;
using MatmulId = Id<Matmul>;

}  // namespace castscope::store
