// What the page prints of a site, an operator use, a region, a kernel or a mark: by field, and as one text.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "server/report/model/model.h"
#include "server/store/run/run_data.h"
#include "server/web/search/fields.h"

namespace castscope::web {

class DefinitionWords {
 public:
  // Takes a value of a field. Those that are not `shown` are other ways to write one that is.
  using Take = absl::FunctionRef<void(std::string_view value, bool shown)>;

  DefinitionWords(const store::RunData& run, const report::Model& model);

  void values(const store::Site&, SearchField, Take) const;
  void values(const store::OperatorUse&, SearchField, Take) const;
  void values(const store::Region&, SearchField, Take) const;
  void values(const store::Kernel&, SearchField, Take) const;
  void values(const store::Fact&, SearchField, Take) const;

  // Everything that the page prints of it, a line for each part; as matchable() has it.
  std::string text(const store::Site&) const;
  std::string text(const store::OperatorUse&) const;
  std::string text(const store::Region&) const;
  std::string text(const store::Kernel&) const;
  std::string text(const store::Fact&) const;

 private:
  using Rules = std::vector<std::string>;
  void take_place(store::StackId, SearchField, Take) const;
  void take_module(store::ModuleId, SearchField, Take) const;
  void take_regions(store::RegionId, Take) const;

  const store::RunData& run_;
  std::map<store::SiteId, Rules> rules_of_sites_;
  std::map<store::OperatorUseId, Rules> rules_of_uses_;
  std::map<store::RegionId, Rules> rules_of_regions_;
};

}  // namespace castscope::web
