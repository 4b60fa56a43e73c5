// Questions that rules ask about operator uses, and about where their results went (deep steps).
//
// A value is followed from the use that made it to those that take it; views, copies and conversions that change
// nothing are no uses, so what lies between two of them is the same value.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/store/run_data.h"

namespace castscope::rules {

// c10::ScalarType
inline constexpr std::uint8_t kHalf = 5, kFloat = 6, kDouble = 7, kBrain = 15, kNoDtype = 0xff;
inline bool is_low(std::uint8_t dtype) { return dtype == kHalf || dtype == kBrain; }
inline bool is_floating(std::uint8_t dtype) { return is_low(dtype) || dtype == kFloat || dtype == kDouble; }

// Takes part in deciding the dtype of the result: 0-dim tensors and Python numbers do not, beside one with dimensions.
inline bool has_dimensions(const lanes::Operand& o) {
  return (o.flags & (lanes::kOperandScalar | lanes::kOperandNumber)) == 0;
}
inline bool is_forward(const store::OperatorUse& use) { return use.phase == lanes::Phase::kForward; }

// "aten::add.Tensor" → "aten::add" → "add".
std::string_view base_name(std::string_view op);
std::string_view short_name(std::string_view op);
bool is_one_of(std::string_view name, std::span<const std::string_view> names);

// The innermost open region of its device, nullptr when there is none. (Use::region is the innermost of any device.)
const store::Region* region_of_device(const store::RunData&, const store::OperatorUse&);
// That, when it is an enabled one; else nullptr.
const store::Region* enabled_region(const store::RunData&, const store::OperatorUse&);
// Autocast lets it compute in the widest dtype that it is given, as any operator does without autocast.
bool promotes_to_widest(const store::OperatorUse&);
// Autocast brings it to float32, on its device or another: norms, softmax, losses, powers.
bool is_held_in_float32(const store::OperatorUse&);
// The first operand at this position of the schema with this dtype; nullptr: there is none.
const lanes::Operand* operand_at(const store::OperatorUse&, std::uint8_t argument, std::uint8_t dtype);
// The largest number that counts upwards without a gap: 256 in bfloat16, 2048 in float16.
double largest_exact_integer(std::uint8_t low_dtype);

// Where something stands: findings are one for each of these.
struct Line {
  std::string file;
  std::int64_t number = 0;
  auto operator<=>(const Line&) const = default;
  std::string text() const { return file + ":" + std::to_string(number); }
};
Line line_of(const store::RunData&, std::uint32_t stack);
// Whether the innermost frame is one of PyTorch's own library.
bool is_inside_torch(const store::RunData&, std::uint32_t stack);

// Uses and flows as a graph, with what was counted of them in all processes together.
class UseGraph {
 public:
  explicit UseGraph(const store::RunData&);
  struct Edge {
    const store::Flow* flow = nullptr;
    std::uint64_t times = 0;
  };
  struct Total {
    std::uint64_t times = 0, bytes = 0, ns = 0;
    double ns_each() const { return times == 0 ? 0 : static_cast<double>(ns) / static_cast<double>(times); }
  };
  const store::OperatorUse& use(std::uint32_t id) const { return data_.operator_use(id); }
  const Total& total(std::uint32_t use) const { return totals_[use]; }
  std::span<const Edge> out_of(std::uint32_t use) const { return out_[use]; }
  std::span<const Edge> into(std::uint32_t use) const { return into_[use]; }

 private:
  const store::RunData& data_;
  std::vector<Total> totals_;            // by use
  std::vector<std::vector<Edge>> out_;   // by use
  std::vector<std::vector<Edge>> into_;  // by use
};

// What `ns` over the whole run is in one step, and of one; nothing when no step was told.
std::optional<store::Savings> saved_per_step(const store::RunData&, double ns);
// Deep steps of all processes that had any.
std::uint64_t deep_steps(const store::RunData&);

}  // namespace castscope::rules
