// A run as the search sees it: the words of all that happens in it, and which events a query finds.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/timeline/questions/queries.h"
#include "server/web/runs/snapshot.h"
#include "server/web/search/definition_words.h"
#include "server/web/search/query.h"

namespace castscope::web {

using SelectionPtr = std::shared_ptr<const timeline::Selection>;

class SearchedRun {
 public:
  SearchedRun(const store::RunData& run, const report::Model& model);

  const store::RunData& run() const { return run_; }
  const DefinitionWords& words() const { return words_; }

  // Which events the text finds. An error says what is wrong with the text. A page asks for a picture of the same
  // search again and again, so the newest answers are kept.
  absl::StatusOr<SelectionPtr> find(const std::string& text) const;

 private:
  timeline::Selection select(const SearchQuery& query) const;

  const store::RunData& run_;
  const DefinitionWords words_;
  const std::vector<std::string> sites_, uses_, regions_, kernels_, facts_;  // the texts, by id - 1
  mutable std::mutex mutex_;
  mutable std::list<std::pair<std::string, SelectionPtr>> newest_;
};

// Made when somebody searches the snapshot for the first time, and kept as long as the snapshot.
const SearchedRun& searched(const Snapshot& snapshot);

}  // namespace castscope::web
