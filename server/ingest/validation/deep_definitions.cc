// The part of Definitions that parses what deep steps see.
#include <algorithm>

#include "server/ingest/validation/definitions.h"
#include "server/ingest/validation/record.h"

namespace castscope::ingest {
namespace {

using lanes::DefinitionKind;

// `names` are those of all arguments in the schema, separated by commas.
void name_arguments(std::string_view names, store::OperatorUseInfo& info) {
  if (names.empty()) return;
  std::vector<std::string_view> all;
  for (std::size_t at = 0; at <= names.size();) {
    const std::size_t end = std::min(names.find(',', at), names.size());
    all.push_back(names.substr(at, end - at));
    at = end + 1;
  }
  for (const lanes::Operand& operand : info.operands)
    info.argument_names.emplace_back(operand.argument < all.size() ? all[operand.argument] : std::string_view());
}

}  // namespace

template <>
absl::Status Definitions::take<lanes::OperatorUseDefinition>(const std::string& key, const Record& record,
                                                             store::RunSink& sink) {
  lanes::OperatorUseDefinition use{};
  if (record.payload.size() < sizeof use)
    return invalid(absl::StrCat("an operator use definition of ", record.payload.size(), " bytes"));
  std::memcpy(&use, record.payload.data(), sizeof use);
  const std::string_view operands = record.payload.substr(sizeof use);
  if (use.operands > lanes::kMostOperands || operands.size() != use.operands * sizeof(lanes::Operand))
    return invalid(absl::StrCat("an operator use of ", use.operands, " operands in ", record.payload.size(),
                                " bytes, where at most ", lanes::kMostOperands, " operands may be"));
  if (!lanes::is_listed(use.phase))
    return invalid(absl::StrCat("operator use ", record.id, " with a phase that is on no list"));
  store::OperatorUseInfo info{.id = record.id,
                              .stack = known(stacks_, use.stack),
                              .module = known(modules_, use.module),
                              .region = known(regions_, use.region),
                              .op = operator_name(use.op),
                              .node = text(use.node),
                              .phase = use.phase,
                              .device = use.device,
                              .computed = use.computed,
                              .result = use.result,
                              .flags = use.flags,
                              .operands = std::vector<lanes::Operand>(use.operands)};
  for (std::size_t i = 0; i < info.operands.size(); ++i) {
    std::memcpy(&info.operands[i], operands.data() + i * sizeof(lanes::Operand), sizeof(lanes::Operand));
    if (!lanes::is_listed(info.operands[i].role))
      return invalid(absl::StrCat("operator use ", record.id, " with a role that is on no list"));
  }
  name_arguments(text(use.arguments), info);
  bool fresh = false;
  if (absl::Status status = number(DefinitionKind::kOperatorUse, record.id, &fresh); !status.ok() || !fresh)
    return status;
  bytes_ += info.op.size() + info.node.size();
  for (const std::string& name : info.argument_names) bytes_ += name.size();
  shown_of_number_.set(record.id, shown_of(use.stack, use.module, use.region) + info.op.size() + info.node.size());
  shown_ += shown_of_number_.of(record.id);
  return kept(sink.define(key, info));
}

template <>
absl::Status Definitions::take<lanes::FlowDefinition>(const std::string& key, const Record& record,
                                                      store::RunSink& sink) {
  lanes::FlowDefinition flow{};
  if (absl::Status status = read(record.payload, "flow", &flow); !status.ok()) return status;
  const store::OperatorUseId from(known(DefinitionKind::kOperatorUse, flow.from)),
      to(known(DefinitionKind::kOperatorUse, flow.to));
  bool fresh = false;
  if (absl::Status status = number(DefinitionKind::kFlow, record.id, &fresh); !status.ok() || !fresh) return status;
  return kept(sink.define(
      key,
      store::Flow{
          .id = store::FlowId(record.id), .from = from, .to = to, .argument = flow.argument, .cast_to = flow.cast_to}));
}

template <>
absl::Status Definitions::take<lanes::FactDefinition>(const std::string& key, const Record& record,
                                                      store::RunSink& sink) {
  lanes::FactDefinition fact{};
  if (absl::Status status = read(record.payload, "fact", &fact); !status.ok()) return status;
  using enum lanes::FactKind;
  const bool listed = lanes::is_listed(fact.kind) &&
                      (fact.kind != kStaleHit || lanes::is_listed(static_cast<lanes::Staleness>(fact.detail))) &&
                      (fact.kind != kError || fact.detail <= static_cast<int>(lanes::ErrorKind::kPython));
  if (!listed) return invalid(absl::StrCat("fact ", record.id, " with a kind or detail that is on no list"));
  const std::uint32_t subject = known_subject(fact);
  bool fresh = false;
  if (absl::Status status = number(DefinitionKind::kFact, record.id, &fresh); !status.ok() || !fresh) return status;
  const std::string& said = text(fact.text);
  bytes_ += said.size();
  shown_ += said.size() + shown_of_stack_.of(fact.stack) + shown_of_number_.of(subject);
  return kept(sink.define(key, store::Fact{.id = store::FactId(record.id),
                                           .stack = store::StackId(known(stacks_, fact.stack)),
                                           .subject = subject,
                                           .kind = fact.kind,
                                           .detail = fact.detail,
                                           .text = said}));
}

std::uint32_t Definitions::known_subject(const lanes::FactDefinition& fact) const {
  switch (lanes::subject_of(fact.kind)) {
    case lanes::FactSubject::kSite:
      return known(DefinitionKind::kSite, fact.subject);
    case lanes::FactSubject::kOperatorUse:
      return known(DefinitionKind::kOperatorUse, fact.subject);
    case lanes::FactSubject::kRegion:
      return known(regions_, fact.subject);
    case lanes::FactSubject::kNothing:
      break;
  }
  return 0;
}

}  // namespace castscope::ingest
