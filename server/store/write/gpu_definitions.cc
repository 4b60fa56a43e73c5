#include "server/store/write/gpu_definitions.h"

#include "server/store/write/content.h"

namespace castscope::store {
namespace {

std::string content_of(const Kernel& k) {
  return content(k.site, k.use, k.name, k.op, k.origin, k.device, k.work, k.flags);
}

}  // namespace

absl::StatusOr<GpuDefinitions> GpuDefinitions::on(const Database& database) {
  GpuDefinitions d;
  const std::pair<Statement*, const char*> all[] = {
      {&d.add_name_, "INSERT INTO kernel_names VALUES (?,?)"},
      {&d.add_kernel_, "INSERT INTO kernels VALUES (?,?,?,?,?,?,?,?,?)"},
  };
  CASTSCOPE_RETURN_IF_ERROR(prepare_all(database, all));
  return d;
}

void GpuDefinitions::adopt(const RunData& data) {
  for (const std::string& name : data.kernel_names) names_.emplace(name, KernelNameId(names_.size() + 1));
  for (const Kernel& kernel : data.kernels) kernels_.emplace(content_of(kernel), kernel.id);
}

absl::StatusOr<KernelNameId> GpuDefinitions::kernel_name(const std::string& name) {
  if (name.empty()) return KernelNameId();
  const auto [it, is_new] = names_.try_emplace(name, KernelNameId(names_.size() + 1));
  if (is_new) CASTSCOPE_RETURN_IF_ERROR(add_name_.run(it->second, name));
  return it->second;
}

absl::StatusOr<KernelId> GpuDefinitions::kernel(const Kernel& k) {
  const auto [it, is_new] = kernels_.try_emplace(content_of(k), KernelId(kernels_.size() + 1));
  if (is_new) {
    CASTSCOPE_RETURN_IF_ERROR(
        add_kernel_.run(it->second, k.site, k.use, k.op, k.name, k.origin, k.device, k.work, k.flags));
  }
  return it->second;
}

}  // namespace castscope::store
