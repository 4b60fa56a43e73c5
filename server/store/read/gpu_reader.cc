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
                row.get(0, k.id), row.get(1, k.site), row.get(2, k.use), k.op = row.text(3), row.get(4, k.name);
                k.origin = row.text(5), row.get(6, k.device), row.get(7, k.work), row.get(8, k.flags);
              });
}

absl::Status read_matmuls(const Database& database, RunData& data) {
  return each(database,
              "SELECT id, operator_use, operator, function, m, n, k, batch, lda, ldb, ldc, a, b, c, compute, align_a, "
              "align_b, align_c, flags FROM matmuls ORDER BY id",
              [&](const Statement& row) {
                Matmul& matmul = data.matmuls.emplace_back();
                MatmulCall& c = matmul.call;
                row.get(0, matmul.id), row.get(1, matmul.use), matmul.op = row.text(2), matmul.function = row.text(3);
                row.get(4, c.m), row.get(5, c.n), row.get(6, c.k), row.get(7, c.batch);
                row.get(8, c.lda), row.get(9, c.ldb), row.get(10, c.ldc);
                row.get(11, c.a), row.get(12, c.b), row.get(13, c.c), row.get(14, c.compute);
                row.get(15, c.align_a), row.get(16, c.align_b), row.get(17, c.align_c), row.get(18, c.flags);
              });
}

absl::Status read_counts(const Database& database, RunData& data) {
  CASTSCOPE_RETURN_IF_ERROR(each(database,
                                 "SELECT process, kernel, sum(launches), sum(bytes), sum(ns) FROM kernel_counts "
                                 "GROUP BY process, kernel ORDER BY process, kernel",
                                 [&](const Statement& row) {
                                   KernelCount& c = data.kernel_counts.emplace_back();
                                   row.get(0, c.process), row.get(1, c.kernel), row.get(2, c.launches);
                                   row.get(3, c.bytes), row.get(4, c.ns);
                                 }));
  return each(database,
              "SELECT process, matmul, sum(times) FROM matmul_counts GROUP BY process, matmul "
              "ORDER BY process, matmul",
              [&](const Statement& row) {
                MatmulCount& c = data.matmul_counts.emplace_back();
                row.get(0, c.process), row.get(1, c.matmul), row.get(2, c.times);
              });
}

}  // namespace

absl::Status read_gpu(const Database& database, RunData& data) {
  CASTSCOPE_RETURN_IF_ERROR(read_kernels(database, data));
  CASTSCOPE_RETURN_IF_ERROR(read_matmuls(database, data));
  return read_counts(database, data);
}

}  // namespace castscope::store
