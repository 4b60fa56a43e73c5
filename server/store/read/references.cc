#include "server/store/read/references.h"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace castscope::store {
namespace {

// Does it lead to an entry, or to none?
template <typename Entry, typename Of>
bool may_name(const Table<Entry, Of>& table, Id<Of> id) {
  return id == 0 || table.contains(id);
}

template <typename Entry, typename Of>
std::size_t refer(Id<Of>& id, const Table<Entry, Of>& table) {
  if (may_name(table, id)) return 0;
  id = {};
  return 1;
}

// An id of a definition, by what it is the number of.
std::size_t mend(StackId& id, const RunData& data) { return refer(id, data.stacks); }
std::size_t mend(ModuleId& id, const RunData& data) { return refer(id, data.modules); }
std::size_t mend(CallSiteId& id, const RunData& data) { return refer(id, data.call_sites); }
std::size_t mend(RegionId& id, const RunData& data) { return refer(id, data.regions); }
std::size_t mend(SiteId& id, const RunData& data) { return refer(id, data.sites); }
std::size_t mend(OperatorUseId& id, const RunData& data) { return refer(id, data.operator_uses); }
std::size_t mend(FactId& id, const RunData& data) { return refer(id, data.facts); }
std::size_t mend(KernelNameId& id, const RunData& data) { return refer(id, data.kernel_names); }
template <typename... Ids>
std::size_t mend_all(const RunData& data, Ids&... ids) {
  return (mend(ids, data) + ...);
}

template <typename Rows, typename Good>
std::size_t keep(Rows& rows, Good good) {
  return std::erase_if(rows, [&](const auto& row) { return !good(row); });
}

std::size_t mend_definitions(RunData& data) {
  std::size_t mended = keep_numbered(data.regions) + keep_numbered(data.sites);
  for (Region& region : data.regions) {
    mended += mend(region.stack, data);
    if (region.parent < region.id) continue;
    region.parent = {};
    ++mended;
  }
  for (Site& site : data.sites) {
    mended += mend_all(data, site.stack, site.module, site.call_site, site.region);
    if (site.forward_site == 0 || site.forward_site < site.id) continue;
    site.forward_site = {};
    ++mended;
  }
  return mended;
}

std::size_t mend_counts(RunData& data) {
  const Table<Process>& processes = data.processes;
  return keep(data.site_uses,
              [&](const SiteUse& u) { return processes.contains(u.process) && may_name(data.sites, u.site); }) +
         keep(data.region_uses,
              [&](const RegionUse& u) { return processes.contains(u.process) && data.regions.contains(u.region); }) +
         keep(data.step_runs,
              [&](const StepRun& r) {
                return processes.contains(r.process) && r.last >= r.first &&
                       r.training_steps <= std::uint64_t{r.last} - r.first + 1;
              }) +
         keep(data.behaviour_sites, [&](const BehaviourSite& b) { return data.sites.contains(b.site); });
}

// Returns how many sites, uses and so on the run has, of the kind of thing that this fact is about.
std::size_t subjects(const Fact& fact, const RunData& data) {
  switch (lanes::subject_of(fact.kind)) {
    case lanes::FactSubject::kSite:
      return data.sites.size();
    case lanes::FactSubject::kOperatorUse:
      return data.operator_uses.size();
    case lanes::FactSubject::kRegion:
      return data.regions.size();
    case lanes::FactSubject::kNothing:
      break;
  }
  return 0;
}

std::size_t mend_subject(Fact& fact, const RunData& data) {
  if (fact.subject <= subjects(fact, data)) return 0;
  fact.subject = 0;
  return 1;
}

std::size_t mend_deep_definitions(RunData& data) {
  std::size_t mended = keep_numbered(data.operator_uses) + keep_numbered(data.flows);
  const Table<OperatorUse>& uses = data.operator_uses;
  for (OperatorUse& use : data.operator_uses) mended += mend_all(data, use.stack, use.module, use.region);
  // A flow is known by its number: none may be left out between others.
  const auto good = [&](const Flow& flow) { return uses.contains(flow.from) && uses.contains(flow.to); };
  const auto flows = static_cast<std::size_t>(std::ranges::find_if_not(data.flows, good) - data.flows.begin());
  mended += data.flows.size() - flows;
  data.flows.resize(flows);
  return mended;
}

template <typename Row>
std::size_t mend_rows(RunData& data) {
  auto& rows = Counted<Row>::rows(data);
  std::size_t mended = keep_numbered(rows);
  for (Row& row : rows) {
    Row::columns(row, [&](const char*, auto& value) {
      if constexpr (kIsId<std::remove_reference_t<decltype(value)>>) mended += mend(value, data);
    });
    if constexpr (std::is_same_v<Row, Fact>) mended += mend_subject(row, data);
  }
  return mended + keep(Counted<Row>::counts(data), [&](const auto& count) {
           return data.processes.contains(count.process) && rows.contains(count.*Counted<Row>::kNumber);
         });
}

std::size_t mend_deep_counts(RunData& data) {
  const Table<Process>& processes = data.processes;
  const Table<OperatorUse>& uses = data.operator_uses;
  std::size_t mended =
      keep(data.use_counts, [&](const UseCount& c) { return processes.contains(c.process) && uses.contains(c.use); }) +
      keep(data.value_ranges,
           [&](const ValueRange& r) {
             return processes.contains(r.process) && (r.site == 0) != (r.use == 0) && may_name(data.sites, r.site) &&
                    may_name(uses, r.use);
           }) +
      keep(data.scaler_uses, [&](const ScalerUse& u) { return processes.contains(u.process); });
  mended += keep(data.metrics, [&](const Metric& m) { return processes.contains(m.process); });
  for (ScalerUse& use : data.scaler_uses)
    mended +=
        mend_all(data, use.last_update, use.update_between_backwards, use.step_past_scaler, use.clip_before_unscale);
  return mended;
}

std::size_t mend_gpu(RunData& data) {
  std::size_t mended = keep_numbered(data.kernels);
  for (Kernel& kernel : data.kernels) mended += mend_all(data, kernel.site, kernel.use, kernel.name);
  return mended + keep(data.kernel_counts, [&](const KernelCount& c) {
           return data.processes.contains(c.process) && data.kernels.contains(c.kernel);
         });
}

}  // namespace

std::size_t mend_references(RunData& data) {
  std::size_t mended = keep_numbered(data.processes);
  mended += mend_definitions(data);  // what others refer to comes first
  mended += mend_counts(data);
  mended += mend_deep_definitions(data);
#define CASTSCOPE_MEND(Type, ...) mended += mend_rows<Type>(data);
  CASTSCOPE_ROW_DEFINITIONS(CASTSCOPE_MEND)
#undef CASTSCOPE_MEND
  mended += mend_deep_counts(data);
  return mended + mend_gpu(data);
}

}  // namespace castscope::store
