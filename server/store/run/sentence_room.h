// How much the sentences of a run may take: its notices, or what is missing of it. They come from senders, who may send
// as many as they like, and SQLite compares each new one with all that are there.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace castscope::store {

inline constexpr std::size_t kMostSentences = 4096;
inline constexpr std::size_t kMostSentenceBytes = 1u << 20;
inline constexpr std::size_t kLongestSentence = 16u << 10;

// Not thread-safe.
class SentenceRoom {
 public:
  struct Sentence {
    std::string whose;  // the process that it is about; "" = none
    std::string text;
  };

  // `full`: what is said when there is room for no more.
  explicit SentenceRoom(std::string full) : full_(std::move(full)) {}

  // Returns what is to be written: of a very long sentence the beginning, `full` for the first without room, and
  // nothing for a sentence that was written before or comes later.
  std::optional<Sentence> take(const std::string& whose, std::string_view text);

 private:
  const std::string full_;
  absl::flat_hash_set<std::size_t> said_;  // hashes
  std::size_t bytes_ = 0;
  bool is_full_ = false;
};

}  // namespace castscope::store
