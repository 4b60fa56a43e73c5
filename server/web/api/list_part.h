// A part of a list that may be long: the routes that give lists take `offset` and `limit`, and say where it goes on.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "server/web/api/routes.h"

namespace castscope::web {

inline constexpr std::int64_t kUsualPart = 1000, kLargestPart = 10'000;  // entries

struct ListPart {
  std::size_t offset = 0, limit = 0, total = 0;
  std::size_t begin() const { return offset < total ? offset : total; }
  std::size_t end() const { return total - begin() < limit ? total : begin() + limit; }
};

// Reads the parameters. A wrong one is noted in them.
ListPart list_part(Parameters& parameters);

// Answers with `json`, to which `total` and `next` are added: how many entries there are in all, and the address of the
// next part, relative to this one's; null = this is the last. The header Link names it, too. `route` is the last part
// of the route's path, `more` what else the address of the next part says.
Response part_answer(Json json, const ListPart& part, std::string_view route, std::string_view more = "");

}  // namespace castscope::web
