// Patterns of modules (agent/enforce/decided/pattern.h): the first line is the pattern, the rest a text.
#include <string>

#include "agent/enforce/decided/pattern.h"
#include "tests/fuzz/fuzzer.h"

namespace castscope::fuzz {

CASTSCOPE_FUZZER(pattern, 3000, 512) {
  const std::size_t end = input.find('\n');
  const std::string_view written = input.substr(0, end);
  const std::string_view text = end == input.npos ? std::string_view() : input.substr(end + 1);
  std::string error;
  const auto pattern = enforce::Pattern::parse(written, &error);
  CASTSCOPE_PROMISE(pattern.has_value() || !error.empty(), "a pattern that is refused is refused with a sentence");
  if (!pattern) return;
  const bool matches = pattern->matches_all(text);
  // Each of these says the same as the pattern itself, unless it has no right place for what is put around it.
  for (const std::string& same :
       {"(?:" + std::string(written) + ")", std::string(written) + "|" + std::string(written)}) {
    const auto other = enforce::Pattern::parse(same, &error);
    CASTSCOPE_PROMISE(!other || other->matches_all(text) == matches,
                      "a group, and a choice of the same, match the same");
  }
}

}  // namespace castscope::fuzz
