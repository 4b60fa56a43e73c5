#include "server/store/run/sentence_room.h"

#include "absl/hash/hash.h"
#include "server/utf8/utf8.h"

namespace castscope::store {

std::optional<SentenceRoom::Sentence> SentenceRoom::take(const std::string& whose, std::string_view text) {
  std::string kept = utf8::shortened(text, kLongestSentence);
  const std::size_t hash = absl::HashOf(whose, kept), bytes = whose.size() + kept.size();
  if (is_full_ || said_.contains(hash)) return std::nullopt;
  is_full_ = said_.size() == kMostSentences || bytes > kMostSentenceBytes - bytes_;
  if (is_full_) return Sentence{.whose = "", .text = full_};
  said_.insert(hash);
  bytes_ += bytes;
  return Sentence{.whose = whose, .text = std::move(kept)};
}

}  // namespace castscope::store
