#include "agent/torchscript/graph_regions.h"

#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>
#include <torch/csrc/jit/frontend/source_range.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/autocast.h>

#include <map>
#include <optional>

#include "agent/torchscript/ranges.h"

namespace castscope::script {

bool is_autocast_class(const c10::ClassType& type) {
  if (!type.name().has_value()) return false;
  const std::string& name = type.name()->qualifiedName();
  return name == "__torch__.torch.cuda.amp.autocast_mode.autocast" ||
         name == "__torch__.torch.cpu.amp.autocast_mode.autocast" ||
         name == "__torch__.torch.amp.autocast_mode.autocast" || name == "__torch__.torch.autocast_mode.autocast";
}

namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;
namespace attr = c10::attr;
namespace prim = c10::prim;

bool is_autocast(const Value* value) {
  const auto type = value->type()->cast<c10::ClassType>();
  return type != nullptr && is_autocast_class(*type);
}

// The value that an attribute of the object is set to; nullptr when it is not set here.
const Value* set_to(const Value* object, const char* name) {
  for (const torch::jit::Use& use : object->uses())
    if (use.user->kind() == prim::SetAttr && use.user->s(attr::name) == name) return use.user->input(1);
  return nullptr;
}

std::string device_of(const Value* object) {
  const Value* device = set_to(object, "device");
  const auto text = device == nullptr ? std::nullopt : torch::jit::toIValue(device);
  return text.has_value() && text->isString() ? text->toStringRef() : "";
}

bool has_constant(const Value* value) { return value != nullptr && torch::jit::toIValue(value).has_value(); }

RegionPointer region_of(const Value* object, const RegionPointer& around = nullptr) {
  const auto type = is_autocast(object) ? object->node()->kind() : c10::Symbol();
  if (type != prim::CreateObject) return nullptr;
  Region region;
  region.place = frames_of(chain_of(*object->node()));
  const bool cuda = device_of(object) == "cuda";
  region.device = static_cast<std::uint8_t>(cuda ? c10::DeviceType::CUDA : c10::DeviceType::CPU);
  region.dtype = static_cast<std::uint8_t>(cuda ? c10::ScalarType::Half : c10::ScalarType::BFloat16);
  const Value* enabled = set_to(object, "_enabled");
  if (const auto value = enabled == nullptr ? std::nullopt : torch::jit::toIValue(enabled); value && value->isBool())
    region.enabled = value->toBool();
  const Value* dtype = set_to(object, "fast_dtype");
  if (const auto value = dtype == nullptr ? std::nullopt : torch::jit::toIValue(dtype); value && value->isInt())
    region.dtype = static_cast<std::uint8_t>(value->toInt());
  region.planned = torch::jit::autocastEnabled();
  region.around = around;
  return std::make_shared<const Region>(std::move(region));
}

using Visit = std::function<void(Node&, const RegionPointer&)>;

void walk(Block& block, const RegionPointer& around, std::map<const Value*, RegionPointer>& objects,
          const Visit& visit) {
  std::vector<RegionPointer> open;
  for (Node* node : block.nodes()) {
    const RegionPointer& innermost = open.empty() ? around : open.back();
    visit(*node, innermost);
    for (Block* inner : node->blocks()) walk(*inner, innermost, objects, visit);
    if (node->kind() == prim::Enter && node->inputs().size() == 1 && is_autocast(node->input())) {
      RegionPointer& region = objects[node->input()];
      if (region == nullptr) region = region_of(node->input(), innermost);
      open.push_back(region);
    } else if (node->kind() == prim::Exit && is_autocast(node->input(0)) && !open.empty()) {
      open.pop_back();
    }
  }
}

// Whether the pass refuses this object.
bool is_refused(const Node& enter) {
  const Value* object = enter.input();
  if (object->node()->kind() != prim::CreateObject || enter.hasUses()) return true;
  const std::string device = device_of(object);
  return !has_constant(set_to(object, "_enabled")) || (device != "cuda" && device != "cpu");
}

// Whether the value is the default that the constructor reads where no dtype is given, not one of the user's.
bool is_default_dtype(const Value* value) {
  return value->node()->kind() == c10::Symbol::fromQualString("aten::get_autocast_dtype");
}

}  // namespace

void each_node(Block& graph, const Visit& visit) {
  std::map<const Value*, RegionPointer> objects;
  walk(graph, nullptr, objects, visit);
}

std::vector<CodeLine> refused_place(Block& graph) {
  static const auto kBanned = c10::Symbol::fromQualString("aten::binary_cross_entropy");
  bool refused = false;
  std::vector<CodeLine> place;
  each_node(graph, [&](Node& node, const RegionPointer&) {
    if (!place.empty()) return;
    const bool enters = node.kind() == prim::Enter && is_autocast(node.input()) && is_refused(node);
    // A region that is handed in was not made anywhere in the graph: its place is that of the code it is entered for.
    if (refused || node.kind() == kBanned) place = frames_of(chain_of(node));
    if (enters && !refused) place = frames_of(chain_of(*node.input()->node()));
    refused |= enters;
  });
  return place;
}

namespace {

// A constant that the constructor looks at in the graph: "the default, if it is None, else this".
std::optional<torch::jit::IValue> constant_behind(const Value* value) {
  const Node* node = value->node();
  if (node->kind() != prim::If) return std::nullopt;
  for (const Block* block : node->blocks()) {
    const Value* out = block->outputs().at(value->offset());
    if (out->node()->kind() == prim::unchecked_cast) out = out->node()->input();
    if (auto constant = torch::jit::toIValue(out); constant.has_value() && constant->isInt()) return constant;
  }
  return std::nullopt;
}

}  // namespace

std::vector<IgnoredDtype> ignored_dtypes(Block& graph) {
  std::vector<IgnoredDtype> found;
  each_node(graph, [&](Node& node, const RegionPointer&) {
    if (node.kind() != prim::Enter || !is_autocast(node.input())) return;
    const Value* dtype = set_to(node.input(), "fast_dtype");
    if (dtype == nullptr || has_constant(dtype) || is_default_dtype(dtype)) return;
    const RegionPointer region = region_of(node.input());
    if (region == nullptr || !region->enabled) return;
    const auto constant = constant_behind(dtype);
    if (!constant.has_value() || constant->toInt() != region->dtype)
      found.push_back({region->place, region->dtype, constant.has_value()});
  });
  return found;
}

}  // namespace castscope::script
