#include "server/store/read/gpu_reader.h"

namespace castscope::store {
namespace {

absl::Status read_kernels(const Database& database, RunData& data) {
  CASTSCOPE_RETURN_IF_ERROR(each(database, "SELECT name FROM kernel_names ORDER BY id",
                                 [&](const Statement& row) { data.kernel_names.push_back(row.text(0)); }));
  return each(database,
              "SELECT id, site, operator_use, operator, name, origin, device, work, flags FROM kernels ORDER BY id",
              [&](const Statement& row) {
                Kernel& k = data.kernels.emplace_back();
                row.read(k.id, k.site, k.use, k.op, k.name, k.origin, k.device, k.work, k.flags);
              });
}

absl::Status read_matmuls(const Database& database, RunData& data) {
  return each(database,
              "SELECT id, operator_use, operator, function, m, n, k, batch, lda, ldb, ldc, a, b, c, compute, align_a, "
              "align_b, align_c, flags FROM matmuls ORDER BY id",
              [&](const Statement& row) {
                Matmul& matmul = data.matmuls.emplace_back();
                MatmulCall& c = matmul.call;
                row.read(matmul.id, matmul.use, matmul.op, matmul.function, c.m, c.n, c.k, c.batch, c.lda, c.ldb, c.ldc,
                         c.a, c.b, c.c, c.compute, c.align_a, c.align_b, c.align_c, c.flags);
              });
}

absl::Status read_counts(const Database& database, RunData& data) {
  CASTSCOPE_RETURN_IF_ERROR(each(database,
                                 "SELECT process, kernel, sum(launches), sum(bytes), sum(ns) FROM kernel_counts "
                                 "GROUP BY process, kernel ORDER BY process, kernel",
                                 [&](const Statement& row) {
                                   KernelCount& c = data.kernel_counts.emplace_back();
                                   row.read(c.process, c.kernel, c.launches, c.bytes, c.ns);
                                 }));
  return each(database,
              "SELECT process, matmul, sum(times) FROM matmul_counts GROUP BY process, matmul "
              "ORDER BY process, matmul",
              [&](const Statement& row) {
                MatmulCount& c = data.matmul_counts.emplace_back();
                row.read(c.process, c.matmul, c.times);
              });
}

}  // namespace

absl::Status read_gpu(const Database& database, RunData& data) {
  CASTSCOPE_RETURN_IF_ERROR(read_kernels(database, data));
  CASTSCOPE_RETURN_IF_ERROR(read_matmuls(database, data));
  return read_counts(database, data);
}

}  // namespace castscope::store
