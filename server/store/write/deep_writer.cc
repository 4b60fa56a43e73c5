#include "server/store/write/deep_writer.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "agent/lanes/event_views.h"

namespace castscope::store {
namespace {

std::uint64_t key_of(const ValueRange& range) {
  return range.use != 0 ? std::uint64_t{1} << 32 | range.use : std::uint64_t{range.site};
}

// One more tensor that holds whole numbers alone. Of an operator use, these are its arguments, not its results.
void add_integers(ValueRange& range, const lanes::ValuesEvent& values) {
  const double most = values.most;
  if (values.sampled == 0 || !std::isfinite(most) || most < 0) return;
  ++range.integer_tensors;
  const bool differs_from_others = range.most_integer > 0 && most > 0 && most != range.most_integer;
  range.integers_differ |= values.differ || differs_from_others;
  range.integers_rounded |= values.rounds;
  range.most_integer = std::max(range.most_integer, most);
}

// The sample of one more tensor. It came over the wire: no count is larger than that of all that were sampled.
void add(ValueRange& range, const lanes::ValuesEvent& values) {
  const std::uint32_t sampled = values.sampled;
  if (sampled == 0) return;
  const auto of_sampled = [&](std::uint32_t count) { return std::min(count, sampled); };
  const double most = values.most;
  const bool is_number = std::isfinite(most) && most >= 0;
  const bool integer = values.integers >= sampled;
  ++range.tensors;
  range.elements += sampled;
  range.not_finite += of_sampled(values.not_finite);
  range.zeros += of_sampled(values.zeros);
  range.integers += of_sampled(values.integers);
  range.beyond += of_sampled(values.beyond);
  range.not_finite_tensors += values.not_finite > 0;
  if (is_number) range.most = std::max(range.most, most);
  if (is_number && integer && range.use == 0) add_integers(range, values);
}

// Counts rows by a statement that wants an id.
std::size_t rows_of(Statement& count, std::uint64_t id, absl::Status* status) {
  count.bind_all(id);
  std::size_t rows = 0;
  auto more = count.next();
  for (; more.value_or(false); more = count.next()) count.get(0, rows);
  status->Update(more.status());
  return rows;
}

}  // namespace

void DeepWriter::adopt(const RunData& data) {
  for (const ValueRange& range : data.value_ranges) {
    if (range.process == process_) ranges_[key_of(range)] = {.range = range};
  }
  for (const ScalerUse& use : data.scaler_uses) {
    if (use.process == process_) scaler_.adopt(use);
  }
  for (const Metric& metric : data.metrics) {
    if (metric.process == process_) metrics_.adopt(metric);
  }
}

absl::Status DeepWriter::set(std::uint32_t local, const Local& what, Statement* put_local) {
  if (local >= by_local_.size()) by_local_.resize(local + 1);
  by_local_[local] = what;
  return put_local == nullptr ? absl::OkStatus() : put_local->run(process_, local, what.number);
}

absl::Status DeepWriter::operator_use(const OperatorUseInfo& info) {
  CASTSCOPE_RETURN_IF_ERROR(numbers_->check("operator use", info.id));
  OperatorUse use{.op = info.op,
                  .node = info.node,
                  .phase = info.phase,
                  .device = info.device,
                  .computed = info.computed,
                  .result = info.result,
                  .flags = info.flags,
                  .operands = info.operands,
                  .argument_names = info.argument_names};
  use.argument_names.resize(use.operands.size());
  CASTSCOPE_RETURN_IF_ERROR(numbers_->find(info.stack, &use.stack));
  CASTSCOPE_RETURN_IF_ERROR(numbers_->find(info.module, &use.module));
  CASTSCOPE_RETURN_IF_ERROR(numbers_->find(info.region, &use.region));
  const auto number = tables_->deep.operator_use(use);
  if (!number.ok()) return number.status();
  return set(info.id, {.kind = Kind::kOperatorUse, .number = *number}, &tables_->put_local_use);
}

absl::Status DeepWriter::find_subject(Fact& fact) const {
  const auto find = [&](auto id) {
    const absl::Status found = numbers_->find(fact.subject, &id);
    fact.subject = id;
    return found;
  };
  switch (lanes::subject_of(fact.kind)) {
    case lanes::FactSubject::kSite:
      return find(SiteId());
    case lanes::FactSubject::kRegion:
      return find(RegionId());
    case lanes::FactSubject::kOperatorUse:
      fact.subject = use_or_0(fact.subject);
      break;
    case lanes::FactSubject::kNothing:
      fact.subject = 0;
  }
  return absl::OkStatus();
}

template <typename Row>
absl::Status DeepWriter::row(const Row& told) {
  CASTSCOPE_RETURN_IF_ERROR(numbers_->check(Row::kName, told.id));
  Row row = told;
  absl::Status found;
  Row::columns(row, [&](const char*, auto& value) {
    if constexpr (kIsId<std::remove_reference_t<decltype(value)>>)
      if (found.ok()) found = find(value, &value);
  });
  if constexpr (std::is_same_v<Row, Fact>)
    if (found.ok()) found = find_subject(row);
  CASTSCOPE_RETURN_IF_ERROR(found);
  Local known{.kind = kind_of(row)};
  if constexpr (std::is_same_v<Row, Flow>)  // one of whose ends had no room in the process
    if (row.from == 0 || row.to == 0) return set(told.id, known, nullptr);
  const auto number = tables_->of<Row>().number(row);
  if (!number.ok()) return number.status();
  known.number = *number;
  if constexpr (!std::is_same_v<Row, Fact>) return set(told.id, known, nullptr);
  if constexpr (std::is_same_v<Row, Fact>) {
    known.fact = row.kind;
    known.detail = row.detail;
    known.stack = row.stack;
    if (row.kind == lanes::FactKind::kMetric) metric_names_.try_emplace(told.id, row.text);
    return set(told.id, known, &tables_->put_local_fact);
  }
}

#define CASTSCOPE_ROW(Type, ...) template absl::Status DeepWriter::row(const Type&);
CASTSCOPE_ROW_DEFINITIONS(CASTSCOPE_ROW)
#undef CASTSCOPE_ROW

absl::Status DeepWriter::kernel(const KernelInfo& info) {
  CASTSCOPE_RETURN_IF_ERROR(numbers_->check("kernel", info.id));
  Kernel kernel{.use = use_or_0(info.use),
                .op = info.op,
                .origin = info.origin,
                .device = info.device,
                .work = info.work,
                .flags = info.flags};
  CASTSCOPE_RETURN_IF_ERROR(numbers_->find(info.site, &kernel.site));
  const auto name = tables_->gpu.kernel_name(info.name);
  if (!name.ok()) return name.status();
  kernel.name = *name;
  const auto number = tables_->gpu.kernel(kernel);
  if (!number.ok()) return number.status();
  return set(info.id, {.kind = Kind::kKernel, .number = *number}, &tables_->put_local_kernel);
}

void DeepWriter::event(std::uint32_t lane, const lanes::Event& event) {
  if (event.kind == lanes::EventKind::kValues) {
    values(event);
  } else if (event.kind == lanes::EventKind::kBackward) {
    scaler_.backward(lane);
  } else if (event.kind == lanes::EventKind::kMetric) {
    if (const auto named = metric_names_.find(event.site); named != metric_names_.end())
      metrics_.value(MetricSource::kJob, named->second, event.step, as_metric(event).value);
  } else {
    scaling(lane, event);
  }
}

void DeepWriter::values(const lanes::Event& event) {
  ValueRange range{.process = process_};
  const Local of = at(event.site);
  if (of.kind == Kind::kOperatorUse) {
    range.use = OperatorUseId(of.number);
  } else {
    range.site = numbers_->site_or_0(event.site);
  }
  if (range.use == 0 && range.site == 0) return;  // its definition had no room in the process
  Range& known = ranges_.try_emplace(key_of(range), Range{.range = range}).first->second;
  const lanes::ValuesEvent values = as_values(event);
  if ((event.flags & lanes::kFlagArgument) != 0) {
    add_integers(known.range, values);
    known.changed = true;
    return;
  }
  add(known.range, values);
  std::uint64_t& first = known.range.first_not_finite;
  if (!gap_ && values.sampled > 0 && values.not_finite > 0 && (first == 0 || event.time < first)) first = event.time;
  known.changed = true;
}

void DeepWriter::scaling(std::uint32_t lane, const lanes::Event& event) {
  const Local fact = at(event.site);
  const FactId id(fact.number);
  if (event.kind == lanes::EventKind::kOptimizer) {
    scaler_.optimizer_step(lane, id, /*within_scaler=*/fact.detail == 1 || fact.kind != Kind::kFact);
  } else if (fact.fact == lanes::FactKind::kScale) {
    scaler_.scale(lane);
  } else if (fact.fact == lanes::FactKind::kClip) {
    scaler_.clip(lane, id);
  } else if (fact.fact == lanes::FactKind::kUnscale) {
    if (fact.detail == 3)
      scaler_.not_stepped(lane);
    else
      scaler_.unscale(lane, fact.stack, fact.detail == 1);
  } else if (fact.fact == lanes::FactKind::kUpdate) {
    const lanes::ScalerEvent scale = as_scaler(event);
    scaler_.update(lane, id, scale.before, scale.after);
    if (scale.before != 0) metrics_.value(MetricSource::kGradScaler, kScaleName, event.step, scale.before);
  }
}

absl::Status DeepWriter::write() {
  CASTSCOPE_RETURN_IF_ERROR(write_counters());
  CASTSCOPE_RETURN_IF_ERROR(write_ranges());
  CASTSCOPE_RETURN_IF_ERROR(write_metrics());
  ScalerUse u;
  if (!scaler_.take(&u)) return absl::OkStatus();
  return tables_->put_scaler_use.run(process_, u.updates, u.unscales, u.not_finite, u.scales, u.longest_skips,
                                     u.first_scale, u.last_scale, u.least_scale, u.last_update,
                                     u.update_between_backwards, u.step_past_scaler, u.clip_before_unscale);
}

absl::Status DeepWriter::write_metrics() {
  absl::Status status;
  const auto id_of = [&](const Metric& metric) { return std::uint64_t{process_} << 32 | metric.number; };
  metrics_.take({.put =
                     [&](const Metric& m) {
                       status.Update(tables_->put_metric.run(id_of(m), process_, m.name, m.source, m.values,
                                                             m.not_finite, m.first_step, m.first_not_finite_step,
                                                             m.first, m.last, m.least, m.most, m.kept_every));
                     },
                 .put_value =
                     [&](const Metric& m, MetricValue value) {
                       status.Update(tables_->put_metric_value.run(id_of(m), value.step, value.value));
                     },
                 .thin =
                     [&](const Metric& m) {
                       status.Update(tables_->thin_metric.run(id_of(m), m.first_step, m.kept_every));
                       return rows_of(tables_->count_metric_values, id_of(m), &status);
                     }});
  return status;
}

absl::Status DeepWriter::write_counters() {
  for (const auto& [key, row] : counters_) {
    const Local what = at(row.site);
    if (what.number == 0) continue;
    const std::uint64_t id = std::uint64_t{process_} << 48 | key;
    absl::Status status;
    switch (what.kind) {
      case Kind::kOperatorUse:
        status = tables_->put_use_count.run(id, process_, row.lane, what.number, row.casts, row.bytes, row.cpu_ns);
        break;
      case Kind::kKernel:
        status = tables_->put_kernel_count.run(id, process_, row.lane, what.number, row.casts, row.bytes, row.hits);
        break;
#define CASTSCOPE_PUT_COUNT(Type, ...)                                                                \
  case Kind::k##Type:                                                                                 \
    status = tables_->of<Type>().put_count(id, process_, row.lane, Id<Type>(what.number), row.casts); \
    break;
        CASTSCOPE_ROW_DEFINITIONS(CASTSCOPE_PUT_COUNT)
#undef CASTSCOPE_PUT_COUNT
      case Kind::kNone:
        break;
    }
    CASTSCOPE_RETURN_IF_ERROR(status);
  }
  counters_.clear();
  return absl::OkStatus();
}

absl::Status DeepWriter::write_ranges() {
  for (auto& [key, known] : ranges_) {
    if (!known.changed) continue;
    known.changed = false;
    const ValueRange& r = known.range;
    CASTSCOPE_RETURN_IF_ERROR(tables_->put_value_range.run(
        process_, r.site, r.use, r.tensors, r.elements, r.not_finite, r.zeros, r.integers, r.beyond, r.integer_tensors,
        r.not_finite_tensors, r.most, r.most_integer, r.integers_differ, r.integers_rounded, r.first_not_finite));
  }
  return absl::OkStatus();
}

}  // namespace castscope::store
