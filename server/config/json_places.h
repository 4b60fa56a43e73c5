// JSON whose parts know where in the text they stand, for complaints that people can follow.
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
  // Comments are passed over. A text that is no JSON, or that gives a key twice in an object, is an error with its
  // place.
  static absl::StatusOr<PlacedJson> parse(const std::string& text, const std::string& file);

  const nlohmann::json& root() const { return root_; }
  // "FILE:LINE:COLUMN: sentence", of the key or list entry at this JSON pointer ("/severity/cache-grows", "/select/0").
  absl::Status complaint(const std::string& pointer, const std::string& sentence) const;
  // "FILE:LINE:COLUMN"
  std::string place(const std::string& pointer) const;
  // Of keys of one object: those that stand first in the file are less. (The object itself is sorted by key.)
  std::size_t order(const std::string& pointer) const;

 private:
  std::string place_at(std::size_t offset) const;

  std::string file_, text_;
  std::vector<TextPlace> marks_;  // at equal distances in the text
  nlohmann::json root_;
  std::map<std::string, std::size_t> ends_;  // pointer → offset behind the key or entry
};

}  // namespace castscope::config
