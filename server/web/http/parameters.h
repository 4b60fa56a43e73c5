// The parameters in the query of a request (after the "?"), checked. An error is a sentence that names the parameter.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace castscope::web {

// The error of a request whose parameter of this name is wrong; parameter_of() gives the name back, "" = none is named.
absl::Status wrong_parameter(std::string_view name, const std::string& sentence);
std::string parameter_of(const absl::Status& status);

// Decodes "%20" to a space; returns nothing if the text is not properly encoded.
std::optional<std::string> decoded(std::string_view text, bool plus_is_space);

// Times are below 2^53 ns, so that any language can represent them.
inline constexpr std::int64_t kLatestTime = (std::int64_t{1} << 53) - 1;

class Parameters {
 public:
  // `known` lists the route's parameters. Any other parameter, or one that appears twice, is an error.
  static absl::StatusOr<Parameters> parse(std::string_view query, const std::vector<std::string_view>& known);

  bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
  std::string text(std::string_view name) const;  // "" = missing
  // The readers below note the first error; ask error() when all have been called. `otherwise` is the value of a
  // missing parameter; nothing = the parameter is required.
  std::int64_t number(std::string_view name, std::int64_t least, std::int64_t most,
                      std::optional<std::int64_t> otherwise = std::nullopt);
  double real(std::string_view name, double least, double most, double otherwise);
  // "1,2,3"; empty when it is missing.
  std::vector<std::uint32_t> numbers(std::string_view name, std::uint32_t most);
  bool flag(std::string_view name);  // "1" or "0"; false when it is missing
  absl::Status error() const { return error_; }
  // Notes that the parameter of this name is wrong, in a sentence.
  void note(std::string_view name, const std::string& sentence);

 private:
  std::map<std::string, std::string, std::less<>> values_;
  absl::Status error_;
};

}  // namespace castscope::web
