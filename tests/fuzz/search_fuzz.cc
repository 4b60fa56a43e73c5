// What somebody types into the search of the viewer (server/web/search/query.h).
#include "server/utf8/utf8.h"
#include "server/web/search/query.h"
#include "tests/fuzz/fuzzer.h"

namespace castscope::fuzz {

CASTSCOPE_FUZZER(search, 10000, 5000) {
  const auto query = web::parse_search(input);
  if (!query.ok()) {
    CASTSCOPE_PROMISE(!query.status().message().empty(), "a search is refused with a sentence");
    return;
  }
  CASTSCOPE_PROMISE(input.size() <= web::kMostSearchBytes, "a search is no longer than it may be");
  std::size_t values = 0;
  for (const web::SearchTerm& term : *query) {
    CASTSCOPE_PROMISE(!term.values.empty(), "a term has a value");
    values += term.values.size();
    for (const web::SearchValue& value : term.values) {
      CASTSCOPE_PROMISE(!value.text.empty(), "a value is not empty");
      (void)web::is_value(value, web::matchable("aten::linear float32→bfloat16"));
      CASTSCOPE_PROMISE(!value.literal || web::is_value(value, value.text), "what is quoted is itself");
    }
  }
  CASTSCOPE_PROMISE(values <= web::kMostSearchValues, "a search has no more values than it may");
}

}  // namespace castscope::fuzz
