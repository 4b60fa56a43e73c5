#include "server/report/compare/report_part.h"

#include <cmath>
#include <limits>

namespace castscope::report {
namespace {

using Json = ReportPart::Json;

// Some tools round large numbers to doubles. Such a number is no longer a count.
bool is_count(const Json& value) {
  if (value.is_number_unsigned()) return true;
  if (value.is_number_integer()) return value.get<std::int64_t>() >= 0;
  if (!value.is_number_float()) return false;
  const double number = value.get<double>();
  return number >= 0 && number < 0x1p64 && std::trunc(number) == number;
}

bool is_whole(const Json& value) {
  if (value.is_number_unsigned())
    return value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (value.is_number_integer()) return true;
  if (!value.is_number_float()) return false;
  const double number = value.get<double>();
  return number >= -0x1p63 && number < 0x1p63 && std::trunc(number) == number;
}

}  // namespace

std::string ReportPart::place_of(std::string_view key) const {
  return place_ + (place_.empty() ? "" : ".") + std::string(key);
}

void ReportPart::complain(std::string_view key, std::string_view sentence) const {
  if (wrong_->empty()) *wrong_ = "\"" + place_of(key) + "\" " + std::string(sentence);
}

const Json* ReportPart::find(std::string_view key) const {
  const auto found = json_->find(key);
  if (found != json_->end()) return &*found;
  complain(key, "is missing");
  return nullptr;
}

const Json* ReportPart::list(std::string_view key) const {
  const Json* const value = find(key);
  if (value == nullptr || value->is_array()) return value;
  complain(key, "is not a list");
  return nullptr;
}

ReportPart ReportPart::part(std::string_view key) const {
  static const Json kNothing = Json::object();
  const Json* const value = find(key);
  if (value != nullptr && !value->is_object()) complain(key, "is not an object");
  return {value != nullptr && value->is_object() ? *value : kNothing, place_of(key), *wrong_};
}

std::vector<ReportPart> ReportPart::parts(std::string_view key) const {
  std::vector<ReportPart> all;
  const Json* const value = list(key);
  for (std::size_t i = 0; value != nullptr && i < value->size(); ++i) {
    const std::string entry = std::string(key) + "[" + std::to_string(i) + "]";
    if (!(*value)[i].is_object()) {
      complain(entry, "is not an object");
      return {};
    }
    all.emplace_back((*value)[i], place_of(entry), *wrong_);
  }
  return all;
}

std::string ReportPart::text(std::string_view key) const {
  const Json* const value = find(key);
  if (value == nullptr) return "";
  if (value->is_string()) return value->get<std::string>();
  complain(key, "is not text");
  return "";
}

std::string ReportPart::text_or_empty(std::string_view key) const { return is_null(key) ? "" : text(key); }

std::vector<std::string> ReportPart::texts(std::string_view key) const {
  std::vector<std::string> all;
  const Json* const value = list(key);
  for (std::size_t i = 0; value != nullptr && i < value->size(); ++i) {
    if ((*value)[i].is_string())
      all.push_back((*value)[i].get<std::string>());
    else
      complain(std::string(key) + "[" + std::to_string(i) + "]", "is not text");
  }
  return all;
}

bool ReportPart::flag(std::string_view key) const {
  const Json* const value = find(key);
  if (value == nullptr) return false;
  if (!value->is_boolean()) complain(key, "is neither true nor false");
  return value->is_boolean() && value->get<bool>();
}

std::uint64_t ReportPart::count(std::string_view key) const {
  const Json* const value = find(key);
  if (value == nullptr) return 0;
  if (is_count(*value)) return value->get<std::uint64_t>();
  complain(key, "is not a whole number from 0 to 18446744073709551615");
  return 0;
}

std::uint64_t ReportPart::count_or_0(std::string_view key) const { return has(key) ? count(key) : 0; }

std::optional<ReportPart> ReportPart::referred(std::string_view key, const std::vector<ReportPart>& list) const {
  if (!has(key) || is_null(key)) return std::nullopt;
  const std::uint64_t place = count(key);
  if (place < list.size()) return list[place];
  complain(key, "names a place that its list does not have");
  return std::nullopt;
}

std::vector<ReportPart> ReportPart::referred_all(std::string_view key, const std::vector<ReportPart>& list) const {
  std::vector<ReportPart> all;
  const Json* const places = this->list(key);
  for (std::size_t i = 0; places != nullptr && i < places->size(); ++i) {
    const Json& place = (*places)[i];
    if (is_count(place) && place.get<std::uint64_t>() < list.size())
      all.push_back(list[place.get<std::uint64_t>()]);
    else
      complain(std::string(key) + "[" + std::to_string(i) + "]", "names a place that its list does not have");
  }
  return all;
}

std::int64_t ReportPart::number(std::string_view key) const {
  const Json* const value = find(key);
  if (value == nullptr) return 0;
  if (is_whole(*value)) return value->get<std::int64_t>();
  complain(key, "is not a whole number of 64 bits");
  return 0;
}

std::int64_t ReportPart::number_or_0(std::string_view key) const { return is_null(key) ? 0 : number(key); }

std::optional<double> ReportPart::real_or_nothing(std::string_view key) const {
  const Json* const value = find(key);
  if (value == nullptr || value->is_null()) return std::nullopt;
  if (value->is_number()) return value->get<double>();
  complain(key, "is not a number");
  return std::nullopt;
}

}  // namespace castscope::report
