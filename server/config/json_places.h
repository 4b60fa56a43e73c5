// JSON whose values know their place in the text, so that complaints name it.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"

namespace castscope::config {

struct TextPlace {
  std::size_t offset = 0, line = 1, column = 1;
};

class PlacedJson {
 public:
  // Comments are skipped. A text that is not JSON, or that has the same key twice in an object, is an error with its
  // place.
  static absl::StatusOr<PlacedJson> parse(const std::string& text, const std::string& file);

  const nlohmann::json& root() const { return root_; }
  // Returns an error "FILE:LINE:COLUMN: sentence" about the key or list entry at this JSON pointer
  // ("/severity/cache-grows", "/select/0").
  absl::Status complaint(const std::string& pointer, const std::string& sentence) const;
  // "FILE:LINE:COLUMN"
  std::string place(const std::string& pointer) const;
  // Orders the keys of one object: a key that comes earlier in the file has a smaller number. (The object itself is
  // sorted by key.)
  std::size_t order(const std::string& pointer) const;

 private:
  std::string place_at(std::size_t offset) const;

  std::string file_, text_;
  std::vector<TextPlace> marks_;  // at equal distances in the text
  nlohmann::json root_;
  std::map<std::string, std::size_t> ends_;  // pointer → offset behind the key or entry
};

}  // namespace castscope::config
