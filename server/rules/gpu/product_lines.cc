#include "server/rules/gpu/product_lines.h"

#include <map>

#include "server/rules/evidence/places/places.h"

namespace castscope::rules {

std::vector<ProductLine> product_lines(const store::RunData& data, const DeviceTime& time, double share,
                                       const std::function<bool(const store::Matmul&)>& asked) {
  const auto times = times_of_matmuls(data);
  std::map<store::OperatorUseId, ProductLine> uses;
  for (const store::Matmul& matmul : data.matmuls) {
    if (matmul.use == 0 || times[matmul.id] == 0 || !asked(matmul)) continue;
    ProductLine& use = uses[matmul.use];
    if (use.matmul == nullptr) use.matmul = &matmul;
    use.times += times[matmul.id];
  }
  std::map<Line, ProductLine> lines;
  std::map<Line, std::uint64_t> costliest;
  for (const auto& [use, product] : uses) {
    const std::uint64_t ns = time.own_ns(use);
    const Line line = line_of(data, data.operator_uses[use].stack);
    ProductLine& at = lines[line];
    at.ns += ns;
    at.times += product.times;
    if (at.matmul != nullptr && ns <= costliest[line]) continue;
    at.matmul = product.matmul;
    costliest[line] = ns;
  }
  std::vector<ProductLine> found;
  for (const auto& [line, product] : lines)
    if (product.ns > 0 && time.share_of_all(product.ns) >= share) found.push_back(product);
  return found;
}

Numbers product_numbers(const DeviceTime& time, std::uint64_t ns, std::uint64_t times) {
  return {{"gpu_ns", ns},
          {"share_of_gpu_percent", whole_percent(time.share_of_all(ns))},
          {"calls", times},
          {"gpu_steps", time.steps}};
}

std::string part_of_time(const DeviceTime& time, std::uint64_t ns) {
  const std::int64_t percent = whole_percent(time.share_of_all(ns));
  return (percent == 0 ? "<1" : std::to_string(percent)) + " % of the GPU's time";
}

}  // namespace castscope::rules
