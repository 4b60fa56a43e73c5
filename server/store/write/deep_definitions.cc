#include "server/store/write/deep_definitions.h"

#include "server/store/write/content.h"

namespace castscope::store {
namespace {

std::string content_of(const OperatorUse& u) {
  std::string bytes = content(u.stack, u.module, u.region, u.op, u.node, u.phase, u.device, u.computed, u.result,
                              u.flags, u.operands.size());
  for (const lanes::Operand& o : u.operands) bytes += content(o.argument, o.dtype, o.role, o.flags, o.entered);
  return bytes;
}

}  // namespace

absl::StatusOr<DeepDefinitions> DeepDefinitions::on(const Database& database) {
  DeepDefinitions d;
  const std::pair<Statement*, const char*> all[] = {
      {&d.add_use_, "INSERT INTO operator_uses VALUES (?,?,?,?,?,?,?,?,?,?,?)"},
      {&d.add_operand_, "INSERT INTO operands VALUES (?,?,?,?,?,?,?,?)"},
  };
  CASTSCOPE_RETURN_IF_ERROR(prepare_all(database, all));
  return d;
}

void DeepDefinitions::adopt(const RunData& data) {
  for (const OperatorUse& use : data.operator_uses) uses_.emplace(content_of(use), use.id);
}

absl::StatusOr<OperatorUseId> DeepDefinitions::operator_use(const OperatorUse& u) {
  const auto [it, is_new] = uses_.try_emplace(content_of(u), OperatorUseId(uses_.size() + 1));
  if (!is_new) return it->second;
  const OperatorUseId id = it->second;
  CASTSCOPE_RETURN_IF_ERROR(
      add_use_.run(id, u.stack, u.module, u.region, u.op, u.node, u.phase, u.device, u.computed, u.result, u.flags));
  for (std::size_t i = 0; i < u.operands.size(); ++i) {
    const lanes::Operand& o = u.operands[i];
    CASTSCOPE_RETURN_IF_ERROR(
        add_operand_.run(id, i, o.argument, o.dtype, o.role, o.flags, o.entered, u.argument_names[i]));
  }
  return id;
}

}  // namespace castscope::store
