#include "server/config/json_members.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/config/amounts.h"
#include "server/config/nearest.h"

namespace castscope::config {

Members::Members(const PlacedJson& json, std::string pointer, std::span<const std::string_view> known)
    : json_(json), pointer_(std::move(pointer)) {
  const nlohmann::json& value = json.root().at(nlohmann::json::json_pointer(pointer_));
  if (!value.is_object()) {
    status_ = json.complaint(pointer_, "this must be an object: { … }");
    return;
  }
  object_ = &value;
  for (const auto& [key, ignored] : value.items()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    complain(key, absl::StrCat("there is no setting \"", key, "\" here", meant(key, known)));
  }
}

const nlohmann::json* Members::find(std::string_view key) const {
  if (object_ == nullptr) return nullptr;
  const auto found = object_->find(key);
  return found != object_->end() ? &*found : nullptr;
}

bool Members::has(std::string_view key) const { return find(key) != nullptr; }

std::string Members::pointer_of(std::string_view key) const {
  return key.empty() ? pointer_ : (nlohmann::json::json_pointer(pointer_) / std::string(key)).to_string();
}

void Members::complain(std::string_view key, const std::string& sentence) {
  if (status_.ok()) status_ = json_.complaint(pointer_of(key), sentence);
}

std::optional<std::string> Members::text(std::string_view key) {
  const nlohmann::json* const value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_string() && !value->get_ref<const std::string&>().empty()) return value->get<std::string>();
  complain(key, "this must be a text in quotation marks, and not an empty one");
  return std::nullopt;
}

std::optional<std::uint64_t> Members::number(std::string_view key) {
  const nlohmann::json* const value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_number_unsigned() && value->get<std::uint64_t>() > 0) return value->get<std::uint64_t>();
  complain(key, "this must be a whole number, 1 or more");
  return std::nullopt;
}

std::optional<std::uint64_t> Members::bytes(std::string_view key) {
  const nlohmann::json* const value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto amount = value->is_string()            ? parse_bytes(value->get_ref<const std::string&>())
                      : value->is_number_unsigned() ? std::optional(value->get<std::uint64_t>())
                                                    : std::nullopt;
  if (amount && *amount > 0) return amount;
  complain(key, "this must be an amount of bytes: \"500 GB\", \"2 GiB\", or a number");
  return std::nullopt;
}

std::vector<std::string> Members::texts(std::string_view key) {
  const nlohmann::json* const value = find(key);
  if (value == nullptr) return {};
  const bool is_list = value->is_array() && !value->empty() &&
                       std::ranges::all_of(*value, [](const auto& one) { return one.is_string(); });
  if (is_list) return value->get<std::vector<std::string>>();
  complain(key, "this must be a list of texts, and not an empty one");
  return {};
}

}  // namespace castscope::config
