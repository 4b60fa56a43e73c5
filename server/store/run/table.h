// A table finds an entry by its id. Nothing else turns an id into an index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <ranges>
#include <utility>
#include <vector>

#include "server/store/run/ids.h"

namespace castscope::store {

// The entries 1, 2, … n. What is known of each entry of another table has a table of its own: Table<Counts, Site> holds
// the counts of each site.
template <typename Entry, typename Of = Entry>
class Table {
 public:
  using value_type = Entry;

  Table() = default;
  explicit Table(std::size_t size) : entries_(size) {}
  Table(std::initializer_list<Entry> entries) : entries_(entries) {}

  auto operator[](Id<Of> id) const -> typename std::vector<Entry>::const_reference { return entries_[id - 1]; }
  auto operator[](Id<Of> id) -> typename std::vector<Entry>::reference { return entries_[id - 1]; }
  bool contains(Id<Of> id) const { return id != 0 && id <= size(); }
  // Null for none, and for what is not in the table.
  const Entry* find(Id<Of> id) const { return contains(id) ? &(*this)[id] : nullptr; }
  Entry* find(Id<Of> id) { return contains(id) ? &(*this)[id] : nullptr; }

  // Finds the entry for a number that was read from a file, where any number may stand; null if there is none.
  Entry* find_number(std::uint64_t number) { return number <= size() ? find(Id<Of>(number)) : nullptr; }

  Id<Of> push_back(Entry entry) {
    entries_.push_back(std::move(entry));
    return last();
  }
  template <typename... T>
  Entry& emplace_back(T&&... values) {
    return entries_.emplace_back(std::forward<T>(values)...);
  }
  void resize(std::size_t size) { entries_.resize(size); }

  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  Id<Of> last() const { return Id<Of>(size()); }  // none of an empty table
  auto ids() const {
    return std::views::iota(std::size_t{1}, size() + 1) |
           std::views::transform([](std::size_t n) { return Id<Of>(n); });
  }

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  auto begin() { return entries_.begin(); }
  auto end() { return entries_.end(); }
  const Entry& front() const { return entries_.front(); }
  Entry& front() { return entries_.front(); }
  const Entry& back() const { return entries_.back(); }
  Entry& back() { return entries_.back(); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace castscope::store
