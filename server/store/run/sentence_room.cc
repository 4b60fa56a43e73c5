#include "server/store/run/sentence_room.h"

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "server/utf8/utf8.h"

namespace castscope::store {
namespace {

std::string shortened(std::string_view text) {
  if (text.size() <= kLongestSentence) return std::string(text);
  std::string kept(text.substr(0, utf8::cut(text, kLongestSentence)));
  absl::StrAppend(&kept, "… (and ", text.size() - kept.size(), " bytes)");
  return kept;
}

}  // namespace

std::optional<SentenceRoom::Sentence> SentenceRoom::take(const std::string& whose, std::string_view text) {
  std::string kept = shortened(text);
  const std::size_t hash = absl::HashOf(whose, kept), bytes = whose.size() + kept.size();
  if (is_full_ || said_.contains(hash)) return std::nullopt;
  is_full_ = said_.size() == kMostSentences || bytes > kMostSentenceBytes - bytes_;
  if (is_full_) return Sentence{.whose = "", .text = full_};
  said_.insert(hash);
  bytes_ += bytes;
  return Sentence{.whose = whose, .text = std::move(kept)};
}

}  // namespace castscope::store
