// The members of one object of a file of settings, with their types. What is wrong with them is told with its place.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "server/config/json_places.h"

namespace castscope::config {

class Members {
 public:
  // The object at `pointer` ("" = the whole file). A member that is not among `known` is an error.
  Members(const PlacedJson& json, std::string pointer, std::span<const std::string_view> known);

  // Each returns nothing where there is no such member, or where it is wrong. The first thing that is wrong stays in
  // status().
  std::optional<std::string> text(std::string_view key);
  std::optional<std::uint64_t> number(std::string_view key);  // a whole one, 1 or more
  std::optional<std::uint64_t> bytes(std::string_view key);   // "2 GB", or a number
  std::vector<std::string> texts(std::string_view key);
  bool has(std::string_view key) const;
  std::string pointer_of(std::string_view key) const;

  // About a member; "" = about the object.
  void complain(std::string_view key, const std::string& sentence);
  const absl::Status& status() const { return status_; }

 private:
  const nlohmann::json* find(std::string_view key) const;

  const PlacedJson& json_;
  const std::string pointer_;
  const nlohmann::json* object_ = nullptr;  // null: it is none
  absl::Status status_;
};

}  // namespace castscope::config
