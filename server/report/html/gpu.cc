// The section of the page about what GPUs did in timed steps.
#include <algorithm>
#include <ranges>

#include "absl/strings/str_join.h"
#include "server/report/html/page_text.h"
#include "server/report/html/parts.h"
#include "server/report/html/table.h"
#include "server/report/model/gpu.h"
#include "server/report/text/kernel_names.h"
#include "server/report/text/words.h"
#include "server/rules/evidence/counts/device_time.h"
#include "server/rules/evidence/operators/products.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

std::string share(const Model& model, const DeviceWork& work) { return percent(model.gpu.share_of_all(work.ns)); }

// "1.2 ms"; "" for none.
std::string time_text(const DeviceWork& work) { return work.launches == 0 ? "" : duration(work.ns); }

// Autograd's threads run no line of Python: their place is the node.
std::string where(const store::RunData& run, const store::OperatorUse& use) {
  const auto at = run.user_location(use.stack);
  return at || use.node.empty() ? place(run, at) : use.node;
}

void write_operators(Html& html, const Model& model) {
  const std::vector<GpuOperator> rows = gpu_operators(model);
  if (rows.empty()) return;
  html.leaf("h3", "Operators on the GPU");
  Table table("The longest time first.", {{"where"},
                                          {"module"},
                                          {"operator"},
                                          {"products in"},
                                          {"launches", true},
                                          {"time", true, true},
                                          {"of all", true},
                                          {"casts within", true}});
  for (const GpuOperator& row : rows | std::views::take(Table::kMost)) {
    const store::OperatorUse use = row.use == 0 ? store::OperatorUse() : model.run.operator_uses[row.use];
    table.add(
        {.cells = {row.use == 0 ? "" : where(model.run, use), use.module == 0 ? "" : model.run.modules[use.module].path,
                   !row.op.empty()      ? row.op
                   : row.origin.empty() ? "outside any"
                                        : "compiled " + row.origin,
                   absl::StrJoin(row.products, "; "), grouped(row.work.launches), duration(row.work.ns),
                   share(model, row.work), time_text(row.casts)},
         .telling = telling_of_stack(model.run, use.stack)});
  }
  table.write(html, rows.size(), "JSON");
}

// "A, B": the matrices that are misaligned for Tensor Cores.
std::string misaligned_text(const store::MatmulCall& call) {
  return absl::StrJoin(rules::misaligned(call), ", ", [](std::string* text, const rules::Misaligned& one) {
    text->append(1, one.matrix).append(one.by_size() ? " by its size" : " by its place");
  });
}

std::string types_text(const store::MatmulCall& call) {
  return std::string(store::dtype_name(call.a)) + " · " + std::string(store::dtype_name(call.b)) + " → " +
         std::string(store::dtype_name(call.c));
}

// Lists the most frequent products first: cuBLAS does not say how long one took.
void write_products(Html& html, const Model& model) {
  const auto times = rules::times_of_matmuls(model.run);
  std::vector<const store::Matmul*> rows;
  for (const store::Matmul& matmul : model.run.matmuls)
    if (times[matmul.id] > 0) rows.push_back(&matmul);
  if (rows.empty()) return;
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const store::Matmul* a, const store::Matmul* b) { return times[a->id] > times[b->id]; });
  html.leaf("h3", "Matrix products in deep steps");
  Table table("The most frequent first: how long one took is not known.", {{"where"},
                                                                           {"module"},
                                                                           {"operator"},
                                                                           {"m × n × k"},
                                                                           {"types"},
                                                                           {"computed in"},
                                                                           {"not aligned for Tensor Cores"},
                                                                           {"calls", true, true}});
  for (const store::Matmul* const row : rows | std::views::take(Table::kMost)) {
    const store::Matmul& matmul = *row;
    const store::OperatorUse use = matmul.use == 0 ? store::OperatorUse() : model.run.operator_uses[matmul.use];
    table.add(
        {.cells = {matmul.use == 0 ? "" : where(model.run, use),
                   use.module == 0 ? "" : model.run.modules[use.module].path,
                   matmul.op.empty() ? "outside any" : matmul.op, rules::sizes_of(matmul.call), types_text(matmul.call),
                   rules::computed_in(matmul.call), misaligned_text(matmul.call), grouped(times[matmul.id])},
         .telling = telling_of_stack(model.run, use.stack)});
  }
  table.write(html, rows.size(), "JSON");
}

// All instances of one template share a row.
void write_kernels(Html& html, const Model& model) {
  std::vector<GpuName> rows;
  for (GpuName& row : gpu_kernel_names(model)) {
    row.name = short_kernel_name(row.name);
    const auto known = std::find_if(rows.begin(), rows.end(), [&](const GpuName& one) { return one.name == row.name; });
    if (known == rows.end()) {
      rows.push_back(std::move(row));
    } else {
      known->work += row.work;
      known->casts += row.casts;
    }
  }
  if (rows.empty()) return;
  std::stable_sort(rows.begin(), rows.end(), [](const GpuName& a, const GpuName& b) { return a.work.ns > b.work.ns; });
  html.leaf("h3", "Kernels");
  Table table("The longest time first.",
              {{"kernel"}, {"launches", true}, {"time", true, true}, {"of all", true}, {"of it casts", true}});
  for (const GpuName& row : rows | std::views::take(Table::kMost))
    table.add({.cells = {row.name, grouped(row.work.launches), duration(row.work.ns), share(model, row.work),
                         time_text(row.casts)}});
  table.write(html, rows.size(), "JSON");
}

}  // namespace

void write_gpu(Page& page, const Model& model) {
  const std::vector<std::string> lines = gpu_lines(model);
  if (lines.empty()) return;
  const Section section(page, "gpu", "GPU");
  Html& html = page.html;
  for (const std::string& device : gpu_attributes(model.run, "gpu_device"))
    html.leaf("p", "GPU " + device, {{"class", "soft"}});
  for (const std::string& line : lines) html.leaf("p", line + ".", {{"class", "soft"}});
  write_operators(html, model);
  write_products(html, model);
  write_kernels(html, model);
}

}  // namespace castscope::report
