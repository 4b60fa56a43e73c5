#include "server/store/read/deep_reader.h"

#include <algorithm>
#include <limits>
#include <map>

#include "server/store/read/row_reader.h"

namespace castscope::store {
namespace {

absl::Status read_operator_uses(const Database& database, RunData& data) {
  CASTSCOPE_RETURN_IF_ERROR(each(
      database,
      "SELECT id, stack, module_id, region, operator, node, phase, device, computed_in, result_dtype, use_flags "
      "FROM operator_uses ORDER BY id",
      [&](const Statement& row) {
        OperatorUse& u = data.operator_uses.emplace_back();
        row.read(u.id, u.stack, u.module, u.region, u.op, u.node, u.phase, u.device, u.computed, u.result, u.flags);
      }));
  std::size_t lost = 0;
  CASTSCOPE_RETURN_IF_ERROR(
      each(database,
           "SELECT operator_use, argument_position, given_dtype, role, operand_flags, passed_dtype, argument_name "
           "FROM operands ORDER BY operator_use, operand_position",
           [&](const Statement& row) {
             OperatorUse* const use = data.operator_uses.find_number(static_cast<std::uint64_t>(row.number(0)));
             if (use == nullptr) return static_cast<void>(++lost);
             lanes::Operand& o = use->operands.emplace_back();
             row.read_from(1, o.argument, o.dtype, o.role, o.flags, o.entered);
             use->argument_names.push_back(row.text(6));
           }));
  return none_lost(database, lost, "an operand has no operator use");
}

absl::Status read_deep_counts(const Database& database, RunData& data) {
  CASTSCOPE_RETURN_IF_ERROR(
      each(database,
           "SELECT process, operator_use, sum(calls), sum(result_bytes), sum(operator_ns) FROM operator_use_counts "
           "GROUP BY process, operator_use ORDER BY process, operator_use",
           [&](const Statement& row) {
             UseCount& c = data.use_counts.emplace_back();
             row.read(c.process, c.use, c.times, c.bytes, c.ns);
           }));
#define CASTSCOPE_READ_COUNTS(Type, ...) CASTSCOPE_RETURN_IF_ERROR(read_counts_of<Type>(database, data));
  CASTSCOPE_ROW_DEFINITIONS(CASTSCOPE_READ_COUNTS)
#undef CASTSCOPE_READ_COUNTS
  return absl::OkStatus();
}

// SQLite keeps a NaN as null.
double real_or_nan(const Statement& row, int column) {
  return row.is_null(column) ? std::numeric_limits<double>::quiet_NaN() : row.real(column);
}

absl::Status read_metrics(const Database& database, RunData& data) {
  std::map<std::uint64_t, std::size_t> by_id;
  CASTSCOPE_RETURN_IF_ERROR(each(
      database,
      "SELECT id, process, metric_name, from_scaler, value_count, not_finite_values, first_step, "
      "first_not_finite_step, kept_every, first_value, last_value, least_value, most_value FROM metrics ORDER BY id",
      [&](const Statement& row) {
        by_id.emplace(row.number(0), data.metrics.size());
        Metric& m = data.metrics.emplace_back();
        row.get(0, m.number);
        row.read_from(1, m.process, m.name, m.source, m.values, m.not_finite, m.first_step, m.first_not_finite_step,
                      m.kept_every);
        m.first = real_or_nan(row, 9), m.last = real_or_nan(row, 10), m.least = row.real(11), m.most = row.real(12);
        m.kept_every = std::max(m.kept_every, 1u);
      }));
  std::size_t lost = 0;
  CASTSCOPE_RETURN_IF_ERROR(
      each(database, "SELECT metric, step, metric_value FROM metric_values ORDER BY metric, step",
           [&](const Statement& row) {
             const auto of = by_id.find(static_cast<std::uint64_t>(row.number(0)));
             if (of == by_id.end()) return static_cast<void>(++lost);
             data.metrics[of->second].kept.push_back({static_cast<std::uint32_t>(row.number(1)), real_or_nan(row, 2)});
           }));
  return none_lost(database, lost, "a value has no metric");
}

absl::Status read_events_evidence(const Database& database, RunData& data) {
  CASTSCOPE_RETURN_IF_ERROR(
      each(database,
           "SELECT process, site, operator_use, sampled_tensors, sampled_elements, not_finite, "
           "zeros, integers, beyond_range, "
           "integer_tensors, not_finite_tensors, largest, largest_integer, integers_differ, integers_rounded, "
           "first_not_finite_in_process_ns FROM value_ranges "
           "ORDER BY process, site, operator_use",
           [&](const Statement& row) {
             ValueRange& r = data.value_ranges.emplace_back();
             row.read(r.process, r.site, r.use, r.tensors, r.elements, r.not_finite, r.zeros, r.integers, r.beyond,
                      r.integer_tensors, r.not_finite_tensors);
             r.most = row.real(11), r.most_integer = row.real(12);
             row.read_from(13, r.integers_differ, r.integers_rounded, r.first_not_finite);
           }));
  CASTSCOPE_RETURN_IF_ERROR(read_metrics(database, data));
  return each(
      database,
      "SELECT process, updates, unscales, not_finite_unscales, scaled_losses, most_skips_in_a_row, first_scale, "
      "last_scale, "
      "least_scale, last_update, update_between_backwards, step_past_scaler, clip_before_unscale FROM scaler_use "
      "ORDER BY process",
      [&](const Statement& row) {
        ScalerUse& u = data.scaler_uses.emplace_back();
        row.read(u.process, u.updates, u.unscales, u.not_finite, u.scales, u.longest_skips);
        u.first_scale = row.real(6), u.last_scale = row.real(7), u.least_scale = row.real(8);
        row.read_from(9, u.last_update, u.update_between_backwards, u.step_past_scaler, u.clip_before_unscale);
      });
}

}  // namespace

absl::Status read_deep(const Database& database, RunData& data) {
  CASTSCOPE_RETURN_IF_ERROR(read_operator_uses(database, data));
#define CASTSCOPE_READ_ROWS(Type, ...) CASTSCOPE_RETURN_IF_ERROR(read_rows<Type>(database, data));
  CASTSCOPE_ROW_DEFINITIONS(CASTSCOPE_READ_ROWS)
#undef CASTSCOPE_READ_ROWS
  CASTSCOPE_RETURN_IF_ERROR(read_deep_counts(database, data));
  return read_events_evidence(database, data);
}

}  // namespace castscope::store
