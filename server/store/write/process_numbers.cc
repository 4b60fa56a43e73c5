#include "server/store/write/process_numbers.h"

#include "absl/strings/str_cat.h"

namespace castscope::store {
namespace {

constexpr std::uint32_t kMostNumbers = 1u << 24;

}  // namespace

template <typename T>
void ProcessNumbers::set(Numbers<T>& numbers, std::uint32_t local, Id<T> number) {
  if (local >= numbers.size()) numbers.resize(local + 1);
  numbers[local] = number;
}

absl::Status ProcessNumbers::check(const char* what, std::uint32_t local) const {
  if (local > 0 && local < kMostNumbers) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("process ", key_, ": ", what, " ", local, " is out of range"));
}

template <typename T>
absl::Status ProcessNumbers::find(const char* what, std::uint32_t local, const Numbers<T>& numbers,
                                  Id<T>* number) const {
  *number = local < numbers.size() ? numbers[local] : Id<T>();
  if (local == 0 || *number != 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("process ", key_, ": ", what, " ", local, " was never defined"));
}

absl::Status ProcessNumbers::find(std::uint32_t local, StackId* number) const {
  return find("stack", local, stacks_, number);
}
absl::Status ProcessNumbers::find(std::uint32_t local, ModuleId* number) const {
  return find("module", local, modules_, number);
}
absl::Status ProcessNumbers::find(std::uint32_t local, RegionId* number) const {
  return find("region", local, regions_, number);
}
absl::Status ProcessNumbers::find(std::uint32_t local, SiteId* number) const {
  return find("site", local, sites_, number);
}
absl::Status ProcessNumbers::find(std::uint32_t local, CallSiteId* number) const {
  return find("call site", local, call_sites_, number);
}

void ProcessNumbers::site(std::uint32_t local, SiteId number) { set(sites_, local, number); }

template <typename T>
absl::Status ProcessNumbers::adopt(const Database& database, const char* what, const char* sql,
                                   const Table<T, T>& table, Numbers<T>& numbers) {
  auto rows = Statement::prepare(database, absl::StrCat(sql, process_.number()));
  if (!rows.ok()) return rows.status();
  for (;;) {
    const auto more = rows->next();
    if (!more.ok() || !*more) return more.status();
    const auto local = static_cast<std::uint32_t>(rows->number(0));
    const Id<T> number(rows->number(1));
    if (!table.contains(number))
      return absl::DataLossError(
          absl::StrCat(database.path(), ": the run file is damaged: a process names a ", what, " that is not there"));
    CASTSCOPE_RETURN_IF_ERROR(check(what, local));
    set(numbers, local, number);
  }
}

// A relay that comes back defines each call site anew: first with what was known at its first use, later with the rest.
// Sites and regions are needed for the steps that were open.
absl::Status ProcessNumbers::adopt(const Database& database, const RunData& data) {
  CASTSCOPE_RETURN_IF_ERROR(adopt(database, "call site",
                                  "SELECT local_id, call_site FROM local_call_sites WHERE process = ", data.call_sites,
                                  call_sites_));
  CASTSCOPE_RETURN_IF_ERROR(
      adopt(database, "site", "SELECT local_id, site FROM local_sites WHERE process = ", data.sites, sites_));
  CASTSCOPE_RETURN_IF_ERROR(
      adopt(database, "region", "SELECT local_id, region FROM local_regions WHERE process = ", data.regions, regions_));
  outermost_.resize(regions_.size());
  for (std::size_t local = 0; local < regions_.size(); ++local)
    outermost_[local] = regions_[local] != 0 && data.regions[regions_[local]].parent == 0;
  return absl::OkStatus();
}

absl::Status ProcessNumbers::stack(const StackInfo& stack) {
  CASTSCOPE_RETURN_IF_ERROR(check("stack", stack.id));
  const auto number = tables_->definitions.stack(stack);
  if (number.ok()) set(stacks_, stack.id, *number);
  return number.status();
}

absl::Status ProcessNumbers::module(const ModuleInfo& module) {
  CASTSCOPE_RETURN_IF_ERROR(check("module", module.id));
  const auto number = tables_->definitions.module({module.path, module.type, module.root_type, module.root_number});
  if (number.ok()) set(modules_, module.id, *number);
  return number.status();
}

absl::Status ProcessNumbers::call_site(const CallSiteInfo& info, bool* moved) {
  *moved = false;
  CASTSCOPE_RETURN_IF_ERROR(check("call site", info.id));
  const CallSite content{info.op, info.argument, info.argument_name, info.code_address};
  const CallSiteId before = info.id < call_sites_.size() ? call_sites_[info.id] : CallSiteId();
  const auto number = before ? tables_->definitions.refine(before, content) : tables_->definitions.call_site(content);
  if (!number.ok()) return number.status();
  set(call_sites_, info.id, *number);
  if (before == *number) return absl::OkStatus();
  *moved = before != 0;
  return tables_->put_local_call_site.run(process_, info.id, *number);
}

absl::Status ProcessNumbers::region(const RegionInfo& info) {
  CASTSCOPE_RETURN_IF_ERROR(check("region", info.id));
  Region region{.nesting = info.nesting,
                .device = info.device,
                .dtype = info.dtype,
                .enabled = info.enabled,
                .cache_enabled = info.cache_enabled,
                .kind = info.kind,
                .flags = info.flags};
  CASTSCOPE_RETURN_IF_ERROR(find(info.stack, &region.stack));
  CASTSCOPE_RETURN_IF_ERROR(find(info.parent, &region.parent));
  const auto number = tables_->definitions.region(region);
  if (!number.ok()) return number.status();
  set(regions_, info.id, *number);
  if (info.id >= outermost_.size()) outermost_.resize(info.id + 1);
  outermost_[info.id] = info.parent == 0;
  return tables_->put_local_region.run(process_, info.id, *number);
}

}  // namespace castscope::store
