// The query of a request (server/web/http/parameters.h).
#include <string>
#include <vector>

#include "server/web/http/parameters.h"
#include "tests/fuzz/fuzzer.h"

namespace castscope::fuzz {
namespace {

std::string encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string all;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    all.append("%").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
  }
  return all;
}

}  // namespace

CASTSCOPE_FUZZER(query_string, 20000, 1024) {
  CASTSCOPE_PROMISE(web::decoded(encoded(input), true) == std::string(input), "what was encoded is decoded");
  const std::vector<std::string_view> known = {"at_ns", "share", "tracks", "all", "search"};
  auto parameters = web::Parameters::parse(input, known);
  if (!parameters.ok()) {
    CASTSCOPE_PROMISE(!parameters.status().message().empty(), "a query is refused with a sentence");
    return;
  }
  const std::int64_t number = parameters->number("at_ns", -5, web::kLatestTime, 7);
  CASTSCOPE_PROMISE(number >= -5 && number <= web::kLatestTime, "a number is within its bounds");
  const double share = parameters->real("share", 0, 1, 0.5);
  CASTSCOPE_PROMISE(share >= 0 && share <= 1, "a real number is within its bounds");
  for (const std::uint32_t track : parameters->numbers("tracks", 100))
    CASTSCOPE_PROMISE(track >= 1 && track <= 100, "numbers of a list are within their bounds");
  (void)parameters->flag("all");
  (void)parameters->text("search");
  if (parameters->error().ok()) return;
  const std::string wrong = web::parameter_of(parameters->error());
  CASTSCOPE_PROMISE(parameters->has(wrong), "an error names a parameter of the query");
}

}  // namespace castscope::fuzz
