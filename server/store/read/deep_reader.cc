#include "server/store/read/deep_reader.h"

namespace castscope::store {
namespace {

absl::Status read_operator_uses(const Database& database, RunData& data) {
  CASTSCOPE_RETURN_IF_ERROR(
      each(database,
           "SELECT id, stack, module, region, operator, node, phase, device, computed, result, flags "
           "FROM operator_uses ORDER BY id",
           [&](const Statement& row) {
             OperatorUse& u = data.operator_uses.emplace_back();
             row.get(0, u.id), row.get(1, u.stack), row.get(2, u.module), row.get(3, u.region), u.op = row.text(4);
             u.node = row.text(5), row.get(6, u.phase), row.get(7, u.device), row.get(8, u.computed);
             row.get(9, u.result), row.get(10, u.flags);
           }));
  std::size_t lost = 0;
  CASTSCOPE_RETURN_IF_ERROR(each(
      database,
      "SELECT operator_use, argument, dtype, role, flags, entered, name FROM operands ORDER BY operator_use, position",
      [&](const Statement& row) {
        const auto use = static_cast<std::uint64_t>(row.number(0));
        if (use == 0 || use > data.operator_uses.size()) return static_cast<void>(++lost);
        lanes::Operand& o = data.operator_uses[use - 1].operands.emplace_back();
        row.get(1, o.argument), row.get(2, o.dtype), row.get(3, o.role), row.get(4, o.flags);
        row.get(5, o.entered);
        data.operator_uses[use - 1].argument_names.push_back(row.text(6));
      }));
  return none_lost(database, lost, "an operand has no operator use");
}

absl::Status read_flows_and_facts(const Database& database, RunData& data) {
  CASTSCOPE_RETURN_IF_ERROR(each(
      database, "SELECT id, from_use, to_use, argument, cast_to FROM flows ORDER BY id", [&](const Statement& row) {
        Flow& f = data.flows.emplace_back();
        row.get(0, f.id), row.get(1, f.from), row.get(2, f.to), row.get(3, f.argument), row.get(4, f.cast_to);
      }));
  return each(database, "SELECT id, stack, subject, kind, detail, text FROM facts ORDER BY id",
              [&](const Statement& row) {
                Fact& f = data.facts.emplace_back();
                row.get(0, f.id), row.get(1, f.stack), row.get(2, f.subject), row.get(3, f.kind), row.get(4, f.detail);
                f.text = row.text(5);
              });
}

absl::Status read_counts(const Database& database, RunData& data) {
  CASTSCOPE_RETURN_IF_ERROR(each(database,
                                 "SELECT process, operator_use, sum(times), sum(bytes), sum(ns) FROM use_counts "
                                 "GROUP BY process, operator_use ORDER BY process, operator_use",
                                 [&](const Statement& row) {
                                   UseCount& c = data.use_counts.emplace_back();
                                   row.get(0, c.process), row.get(1, c.use), row.get(2, c.times), row.get(3, c.bytes);
                                   row.get(4, c.ns);
                                 }));
  CASTSCOPE_RETURN_IF_ERROR(each(database,
                                 "SELECT process, flow, sum(times) FROM flow_counts GROUP BY process, flow "
                                 "ORDER BY process, flow",
                                 [&](const Statement& row) {
                                   FlowCount& c = data.flow_counts.emplace_back();
                                   row.get(0, c.process), row.get(1, c.flow), row.get(2, c.times);
                                 }));
  return each(database,
              "SELECT process, fact, sum(times) FROM fact_counts GROUP BY process, fact ORDER BY process, fact",
              [&](const Statement& row) {
                FactCount& c = data.fact_counts.emplace_back();
                row.get(0, c.process), row.get(1, c.fact), row.get(2, c.times);
              });
}

absl::Status read_events_evidence(const Database& database, RunData& data) {
  CASTSCOPE_RETURN_IF_ERROR(each(
      database,
      "SELECT process, site, operator_use, tensors, elements, not_finite, zeros, integers, beyond, "
      "integer_tensors, not_finite_tensors, most, most_integer, integers_differ, first_not_finite FROM value_ranges "
      "ORDER BY process, site, operator_use",
      [&](const Statement& row) {
        ValueRange& r = data.value_ranges.emplace_back();
        row.get(0, r.process), row.get(1, r.site), row.get(2, r.use), row.get(3, r.tensors);
        row.get(4, r.elements), row.get(5, r.not_finite), row.get(6, r.zeros), row.get(7, r.integers);
        row.get(8, r.beyond), row.get(9, r.integer_tensors), row.get(10, r.not_finite_tensors);
        r.most = row.real(11), r.most_integer = row.real(12);
        row.get(13, r.integers_differ), row.get(14, r.first_not_finite);
      }));
  return each(
      database,
      "SELECT process, updates, unscales, not_finite, scales, longest_skips, first_scale, last_scale, least_scale, "
      "last_update, update_between_backwards, step_past_scaler, clip_before_unscale FROM scaler_use "
      "ORDER BY process",
      [&](const Statement& row) {
        ScalerUse& u = data.scaler_uses.emplace_back();
        row.get(0, u.process), row.get(1, u.updates), row.get(2, u.unscales), row.get(3, u.not_finite);
        row.get(4, u.scales), row.get(5, u.longest_skips);
        u.first_scale = row.real(6), u.last_scale = row.real(7), u.least_scale = row.real(8);
        row.get(9, u.last_update), row.get(10, u.update_between_backwards), row.get(11, u.step_past_scaler);
        row.get(12, u.clip_before_unscale);
      });
}

}  // namespace

absl::Status read_deep(const Database& database, RunData& data) {
  CASTSCOPE_RETURN_IF_ERROR(read_operator_uses(database, data));
  CASTSCOPE_RETURN_IF_ERROR(read_flows_and_facts(database, data));
  CASTSCOPE_RETURN_IF_ERROR(read_counts(database, data));
  return read_events_evidence(database, data);
}

}  // namespace castscope::store
