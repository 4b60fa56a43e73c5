#include "server/store/read/gpu_reader.h"

namespace castscope::store {
namespace {

absl::Status read_kernels(const Database& database, RunData& data) {
  CASTSCOPE_RETURN_IF_ERROR(each(database, "SELECT mangled_name FROM kernel_names ORDER BY id",
                                 [&](const Statement& row) { data.kernel_names.push_back(row.text(0)); }));
  return each(database,
              "SELECT id, site, operator_use, operator, kernel_name_id, origin, gpu_index, gpu_work, kernel_flags FROM "
              "kernels ORDER BY id",
              [&](const Statement& row) {
                Kernel& k = data.kernels.emplace_back();
                row.read(k.id, k.site, k.use, k.op, k.name, k.origin, k.device, k.work, k.flags);
              });
}

absl::Status read_gpu_counts(const Database& database, RunData& data) {
  return each(database,
              "SELECT process, kernel, sum(launches), sum(moved_bytes), sum(gpu_ns) FROM kernel_counts "
              "GROUP BY process, kernel ORDER BY process, kernel",
              [&](const Statement& row) {
                KernelCount& c = data.kernel_counts.emplace_back();
                row.read(c.process, c.kernel, c.launches, c.bytes, c.ns);
              });
}

}  // namespace

absl::Status read_gpu(const Database& database, RunData& data) {
  CASTSCOPE_RETURN_IF_ERROR(read_kernels(database, data));
  return read_gpu_counts(database, data);
}

}  // namespace castscope::store
