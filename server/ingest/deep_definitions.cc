// The half of Definitions that parses what deep steps see.
#include <algorithm>

#include "server/ingest/definitions.h"
#include "server/ingest/record.h"

namespace castscope::ingest {
namespace {

// `names`: of all arguments of the schema, with commas between them.
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

absl::Status Definitions::apply_operator_use(const std::string& key, const Record& record, store::RunSink& sink) {
  lanes::OperatorUseDefinition use{};
  if (record.payload.size() < sizeof use)
    return nonsense(absl::StrCat("an operator use definition of ", record.payload.size(), " bytes"));
  std::memcpy(&use, record.payload.data(), sizeof use);
  const std::string_view operands = record.payload.substr(sizeof use);
  if (use.operands > lanes::kMostOperands || operands.size() != use.operands * sizeof(lanes::Operand))
    return nonsense(absl::StrCat("an operator use of ", use.operands, " operands in ", record.payload.size(),
                                 " bytes, where at most ", lanes::kMostOperands, " operands may be"));
  if (!is_listed(use.phase, lanes::Phase::kOther))
    return nonsense(absl::StrCat("operator use ", record.id, " with a phase that is on no list"));
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
    if (!is_listed(info.operands[i].role, lanes::Role::kGradient))
      return nonsense(absl::StrCat("operator use ", record.id, " with a role that is on no list"));
  }
  name_arguments(text(use.arguments), info);
  bool fresh = false;
  if (absl::Status status = number(Numbered::kOperatorUse, record.id, &fresh); !status.ok() || !fresh) return status;
  bytes_ += info.op.size() + info.node.size();
  for (const std::string& name : info.argument_names) bytes_ += name.size();
  return kept(sink.operator_use(key, info));
}

absl::Status Definitions::apply_flow(const std::string& key, const Record& record, store::RunSink& sink) {
  lanes::FlowDefinition flow{};
  if (absl::Status status = read(record.payload, "flow", &flow); !status.ok()) return status;
  const std::uint32_t from = known(Numbered::kOperatorUse, flow.from), to = known(Numbered::kOperatorUse, flow.to);
  bool fresh = false;
  if (absl::Status status = number(Numbered::kFlow, record.id, &fresh); !status.ok() || !fresh) return status;
  return kept(
      sink.flow(key, {.id = record.id, .from = from, .to = to, .argument = flow.argument, .cast_to = flow.cast_to}));
}

absl::Status Definitions::apply_fact(const std::string& key, const Record& record, store::RunSink& sink) {
  lanes::FactDefinition fact{};
  if (absl::Status status = read(record.payload, "fact", &fact); !status.ok()) return status;
  using enum lanes::FactKind;
  const bool listed = is_listed(fact.kind, kScriptLeavesArgument) &&
                      (fact.kind != kStaleHit || fact.detail <= static_cast<int>(lanes::Staleness::kUnversioned)) &&
                      (fact.kind != kError || fact.detail <= static_cast<int>(lanes::ErrorKind::kPython));
  if (!listed) return nonsense(absl::StrCat("fact ", record.id, " with a kind or detail that is on no list"));
  const std::uint32_t subject = known_subject(fact);
  bool fresh = false;
  if (absl::Status status = number(Numbered::kFact, record.id, &fresh); !status.ok() || !fresh) return status;
  const std::string& said = text(fact.text);
  bytes_ += said.size();
  return kept(sink.fact(key, {.id = record.id,
                              .subject = subject,
                              .stack = known(stacks_, fact.stack),
                              .kind = fact.kind,
                              .detail = fact.detail,
                              .text = said}));
}

std::uint32_t Definitions::known_subject(const lanes::FactDefinition& fact) const {
  using enum lanes::FactKind;
  switch (fact.kind) {
    case kStaleHit:
    case kLostGrad:
    case kScriptIgnoresDisable:
    case kTraceDropsDisable:
      return known(Numbered::kSite, fact.subject);
    case kError:
    case kScriptStopsAtPython:
      return known(Numbered::kOperatorUse, fact.subject);
    case kBackward:
    case kRegionLeaked:
    case kRegionNeverLeft:
    case kExportDropsRegion:
      return known(regions_, fact.subject);
    case kUnknown:
    case kUnscale:
    case kUpdate:
    case kOptimizerStep:
    case kScale:
    case kClip:
    case kScriptRefused:
    case kScriptIgnoresDtype:
    case kTraceDropsRegion:
    case kCompiled:
    case kRecompiled:
    case kCompileCastsBackward:
    case kCompileStateUnguarded:
    case kCompileBypassesCache:
    case kCompileSkipsRounding:
    case kScriptDropsDecorator:
    case kArgumentArrived:
    case kScriptLeavesArgument:
      break;
  }
  return 0;
}

}  // namespace castscope::ingest
