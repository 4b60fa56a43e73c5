// Checks what rows of a run file say of one another. Nothing in a file is trusted: after mend_references() every id
// in the data leads to its entry or to none, and chains of regions end.
#pragma once

#include <cstddef>

#include "server/store/run/run_data.h"

namespace castscope::store {

// The rows are numbered from 1, in order. Drops the first row whose number is another and all rows after it. Returns
// how many those are.
template <typename Row>
std::size_t keep_numbered(Table<Row>& rows) {
  std::size_t good = 0;
  for (const Row& row : rows) {
    if (row.id != good + 1) break;
    ++good;
  }
  const std::size_t rest = rows.size() - good;
  rows.resize(good);
  return rest;
}

// Forgets what refers to rows that are not there, and how often it did: 0 for a file as we write them.
std::size_t mend_references(RunData&);

}  // namespace castscope::store
