// A part of a report's JSON. The report may have been edited by hand or come from anywhere: an entry that is missing or
// of the wrong type is reported once, with its place, and is read as empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace castscope::report {

class ReportPart {
 public:
  using Json = nlohmann::ordered_json;

  // `place`: "totals", "sites[3]"; "" = all of it. `wrong` gets the first sentence and keeps it.
  ReportPart(const Json& json, std::string place, std::string& wrong)
      : json_(&json), place_(std::move(place)), wrong_(&wrong) {}

  bool has(std::string_view key) const { return json_->contains(key); }
  bool is_null(std::string_view key) const { return has(key) && json_->at(key).is_null(); }

  ReportPart part(std::string_view key) const;                // an object
  std::vector<ReportPart> parts(std::string_view key) const;  // a list of objects
  std::string text(std::string_view key) const;
  std::string text_or_empty(std::string_view key) const;  // "" for null
  std::vector<std::string> texts(std::string_view key) const;
  bool flag(std::string_view key) const;
  std::uint64_t count(std::string_view key) const;
  std::uint64_t count_or_0(std::string_view key) const;  // 0 where it is left out
  std::int64_t number(std::string_view key) const;
  std::int64_t number_or_0(std::string_view key) const;               // 0 for null
  std::optional<double> real_or_nothing(std::string_view key) const;  // nothing for null

  // Returns the element of `list` whose place stands under `key`. Nothing where the key is left out or null, or where
  // the list has no such place, which is reported.
  std::optional<ReportPart> referred(std::string_view key, const std::vector<ReportPart>& list) const;

  // Returns the elements of `list` whose places stand in the list under `key`.
  std::vector<ReportPart> referred_all(std::string_view key, const std::vector<ReportPart>& list) const;

  // `sentence` goes on from the key: "is not a severity".
  void complain(std::string_view key, std::string_view sentence) const;

 private:
  std::string place_of(std::string_view key) const;
  const Json* find(std::string_view key) const;  // nullptr: missing, which was reported
  const Json* list(std::string_view key) const;

  const Json* json_;  // an object
  std::string place_;
  std::string* wrong_;
};

}  // namespace castscope::report
