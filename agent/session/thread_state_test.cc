#include "agent/session/thread_state.h"

#include <gtest/gtest.h>

namespace castscope::agent {
namespace {

lanes::Counter* counter(std::uint64_t key) { return reinterpret_cast<lanes::Counter*>((key + 1) * 64); }
std::uint64_t hash_of(const PassEntry& row) { return row.call_site * 0x9e3779b97f4a7c15u >> 20; }

class Table {
 public:
  explicit Table(std::uint32_t capacity) : table(capacity) {}
  void put(std::uint64_t key, std::uint64_t gone_below = 0) {
    if (table.crowded()) table.grow(hash_of, [=](const PassEntry& row) { return row.call_site < gone_below; });
    PassEntry row{key, 0, 0, counter(key)};
    PassEntry* at = table.begin(hash_of(row));
    while (at->counter != nullptr) at = table.next(at);
    *at = row;
    table.count_row();
  }
  // The number of rows that a lookup reads; 0 when the key is not there.
  int reads(std::uint64_t key) {
    int n = 1;
    for (PassEntry* at = table.begin(hash_of({key, 0, 0, nullptr})); at->counter != nullptr; at = table.next(at), ++n)
      if (at->call_site == key) return at->counter == counter(key) ? n : 0;
    return 0;
  }
  CallTable<PassEntry> table;
};

TEST(CallTable, KeepsEveryRowWhileItGrows) {
  Table t(32);
  for (std::uint64_t key = 0; key < 5000; ++key) {
    t.put(key);
    if (key % 97 != 0 && key >= 100) continue;
    for (std::uint64_t known = 0; known <= key; ++known) ASSERT_GT(t.reads(known), 0) << known << " of " << key;
  }
  EXPECT_EQ(t.table.used(), 5000u);
  EXPECT_EQ(t.reads(5000), 0);
}

TEST(CallTable, ALookupSeldomReadsASecondRow) {
  for (const std::uint64_t keys : {8u, 16u, 60u, 200u, 640u}) {
    Table t(64);
    for (std::uint64_t key = 0; key < keys; ++key) t.put(key);
    std::uint64_t all = 0;
    for (std::uint64_t key = 0; key < keys; ++key) all += static_cast<std::uint64_t>(t.reads(key));
    EXPECT_LE(all, keys * 2) << keys << " keys in " << t.table.capacity();
  }
}

TEST(CallTable, RowsThatAreGoneMakeRoom) {
  Table t(64);
  for (std::uint64_t key = 0; key < 100'000; ++key) t.put(key, key < 4 ? 0 : key - 4);
  EXPECT_EQ(t.table.capacity(), 64u);
  for (std::uint64_t key = 100'000 - 4; key < 100'000; ++key) EXPECT_GT(t.reads(key), 0);
}

TEST(ThreadState, CostsLittleInAThreadThatCastsLittle) {
  EXPECT_LE(sizeof(ThreadState) + ThreadState::kFirstSites * sizeof(SiteEntry) +
                ThreadState::kFirstPasses * sizeof(PassEntry),
            12u << 10);
}

}  // namespace
}  // namespace castscope::agent
