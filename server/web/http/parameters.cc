#include "server/web/http/parameters.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace castscope::web {
namespace {

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr char kPayload[] = "castscope/parameter";

}  // namespace

absl::Status wrong_parameter(std::string_view name, const std::string& sentence) {
  absl::Status status = absl::InvalidArgumentError(sentence);
  status.SetPayload(kPayload, absl::Cord(absl::string_view(name.data(), name.size())));
  return status;
}

std::string parameter_of(const absl::Status& status) {
  const auto name = status.GetPayload(kPayload);
  return name ? std::string(*name) : std::string();
}

std::optional<std::string> decoded(std::string_view text, bool plus_is_space) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i] == '+' && plus_is_space ? ' ' : text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = digit(text[i + 1]), low = digit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    plain += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return plain;
}

absl::StatusOr<Parameters> Parameters::parse(std::string_view query, const std::vector<std::string_view>& known) {
  Parameters parameters;
  for (std::size_t at = 0; at < query.size();) {
    const std::size_t end = std::min(query.find('&', at), query.size());
    const std::string_view one = query.substr(at, end - at);
    at = end + 1;
    if (one.empty()) continue;
    const std::size_t mark = std::min(one.find('='), one.size());
    const auto name = decoded(one.substr(0, mark), true);
    const auto value = decoded(mark < one.size() ? one.substr(mark + 1) : std::string_view(), true);
    if (!name || !value) return absl::InvalidArgumentError("the query is not percent-encoded as URLs are");
    if (std::find(known.begin(), known.end(), *name) == known.end()) {
      std::vector<std::string> names(known.begin(), known.end());
      return wrong_parameter(*name, absl::StrCat("there is no parameter ", *name,
                                                 names.empty() ? std::string("; none is taken here")
                                                               : "; known are " + absl::StrJoin(names, ", ")));
    }
    if (!parameters.values_.emplace(*name, *value).second)
      return wrong_parameter(*name, absl::StrCat(*name, " is given twice"));
  }
  return parameters;
}

std::string Parameters::text(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::string() : found->second;
}

void Parameters::note(std::string_view name, const std::string& sentence) {
  if (error_.ok()) error_ = wrong_parameter(name, sentence);
}

std::int64_t Parameters::number(std::string_view name, std::int64_t least, std::int64_t most,
                                std::optional<std::int64_t> otherwise) {
  const auto found = values_.find(name);
  if (found == values_.end() && otherwise) return *otherwise;
  std::int64_t value = least;
  if (found == values_.end()) {
    note(name, absl::StrCat(std::string(name), " is missing: a whole number from ", least, " to ", most));
  } else if (!absl::SimpleAtoi(found->second, &value) || value < least || value > most) {
    note(name, absl::StrCat(std::string(name), " is not a whole number from ", least, " to ", most));
    value = least;
  }
  return value;
}

double Parameters::real(std::string_view name, double least, double most, double otherwise) {
  const auto found = values_.find(name);
  if (found == values_.end()) return otherwise;
  double value = otherwise;
  if (absl::SimpleAtod(found->second, &value) && std::isfinite(value) && value >= least && value <= most) return value;
  note(name, absl::StrCat(std::string(name), " is not a number from ", least, " to ", most));
  return otherwise;
}

std::vector<std::uint32_t> Parameters::numbers(std::string_view name, std::uint32_t most) {
  std::vector<std::uint32_t> all;
  const std::string list = text(name);
  if (list.empty()) return all;
  for (const auto part : absl::StrSplit(list, ',')) {
    std::uint32_t number = 0;
    if (!absl::SimpleAtoi(part, &number) || number == 0 || number > most) {
      note(name, absl::StrCat(std::string(name), " is not a list of numbers from 1 to ", most, ", such as 1,2,3"));
      return {};
    }
    all.push_back(number);
  }
  return all;
}

bool Parameters::flag(std::string_view name) {
  const std::string value = text(name);
  if (value != "" && value != "0" && value != "1") note(name, absl::StrCat(std::string(name), " is neither 0 nor 1"));
  return value == "1";
}

}  // namespace castscope::web
