// The part of Definitions that parses what GPUs did.
#include <algorithm>

#include "server/ingest/validation/definitions.h"
#include "server/ingest/validation/record.h"

namespace castscope::ingest {
namespace {

using lanes::DefinitionKind;

constexpr std::uint8_t kMostAlignment = 8;  // 256 bytes; no kernel benefits from more

}  // namespace

template <>
absl::Status Definitions::take<lanes::KernelDefinition>(const std::string& key, const Record& record,
                                                        store::RunSink& sink) {
  lanes::KernelDefinition kernel{};
  if (absl::Status status = read(record.payload, "kernel", &kernel); !status.ok()) return status;
  if (!lanes::is_listed(kernel.work)) return invalid(absl::StrCat("kernel ", record.id, " whose work is on no list"));
  store::KernelInfo info{.id = record.id,
                         .site = known(DefinitionKind::kSite, kernel.site),
                         .use = known(DefinitionKind::kOperatorUse, kernel.use),
                         .op = operator_name(kernel.op),
                         .name = text(kernel.name),
                         .origin = text(kernel.origin),
                         .device = kernel.device,
                         .work = kernel.work,
                         .flags = kernel.flags};
  bool fresh = false;
  if (absl::Status status = number(DefinitionKind::kKernel, record.id, &fresh); !status.ok() || !fresh) return status;
  // The kernel's name is not counted again: a run keeps each name once, as the segment does.
  bytes_ += info.op.size() + info.origin.size();
  shown_ += info.name.size() + shown_of_number_.of(info.site) + shown_of_number_.of(info.use);
  return kept(sink.define(key, info));
}

template <>
absl::Status Definitions::take<lanes::MatmulDefinition>(const std::string& key, const Record& record,
                                                        store::RunSink& sink) {
  lanes::MatmulDefinition m{};
  if (absl::Status status = read(record.payload, "matrix product", &m); !status.ok()) return status;
  if (!lanes::is_listed(m.compute))
    return invalid(absl::StrCat("matrix product ", record.id, " computes in what is on no list"));
  store::Matmul info{.id = store::MatmulId(record.id),
                     .use = store::OperatorUseId(known(DefinitionKind::kOperatorUse, m.use)),
                     .op = operator_name(m.op),
                     .function = text(m.function),
                     .call = {.m = m.m,
                              .n = m.n,
                              .k = m.k,
                              .batch = m.batch,
                              .lda = m.lda,
                              .ldb = m.ldb,
                              .ldc = m.ldc,
                              .a = m.a,
                              .b = m.b,
                              .c = m.c,
                              .compute = m.compute,
                              .align_a = std::min(m.align_a, kMostAlignment),
                              .align_b = std::min(m.align_b, kMostAlignment),
                              .align_c = std::min(m.align_c, kMostAlignment),
                              .flags = m.flags}};
  bool fresh = false;
  if (absl::Status status = number(DefinitionKind::kMatmul, record.id, &fresh); !status.ok() || !fresh) return status;
  bytes_ += info.op.size() + info.function.size();
  shown_ += info.op.size() + info.function.size() + shown_of_number_.of(m.use);
  return kept(sink.define(key, info));
}

}  // namespace castscope::ingest
