#include "agent/operators/operator_info.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "agent/lanes/definition_records.h"
#include "agent/memory/own_memory.h"

namespace castscope::operators {
namespace {

using Keys = memory::OwnTextMap<c10::DispatchKeySet>;

struct Known {
  std::mutex mutex;
  memory::OwnMap<const c10::FunctionSchema*, std::unique_ptr<OperatorInfo>> infos;
  Keys autocast_by_base;  // all overloads together; filled once: PyTorch registers no operators of its own later
};
Known* g_known = new Known;

c10::DispatchKeySet autocast_keys(const c10::OperatorHandle& handle) {
  c10::DispatchKeySet keys;
  for (const c10::DispatchKey key : c10::autocast_dispatch_keyset)
    if (handle.hasKernelForDispatchKey(key)) keys = keys.add(key);
  return keys;
}

Keys read_autocast_keys() {
  Keys keys;
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames())
    if (const auto handle = dispatcher.findOp(name))
      if (const c10::DispatchKeySet found = autocast_keys(*handle); !found.empty()) {
        c10::DispatchKeySet& all = keys[memory::OwnString(name.name)];
        all = all | found;
      }
  return keys;
}

bool is_tensor(const c10::Type& type) {
  if (type.kind() == c10::TypeKind::TensorType) return true;
  if (type.kind() != c10::TypeKind::ListType && type.kind() != c10::TypeKind::OptionalType) return false;
  return std::any_of(type.containedTypes().begin(), type.containedTypes().end(),
                     [](const auto& inside) { return is_tensor(*inside); });
}

template <std::size_t N>
bool is_one_of(std::string_view name, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

constexpr std::string_view kConversions[] = {"aten::to",
                                             "aten::_to_copy",
                                             "aten::type_as",
                                             "aten::_autocast_to_reduced_precision",
                                             "aten::_autocast_to_full_precision",
                                             "prims::convert_element_type"};
// These copy without an alias in their schema. (pin_memory, cpu, …: to another place, the same values.)
constexpr std::string_view kCopies[] = {"aten::clone",        "aten::lift",           "aten::lift_fresh",
                                        "aten::_unsafe_view", "aten::_reshape_alias", "aten::pin_memory",
                                        "aten::alias_copy",   "aten::_reshape_copy",  "aten::detach_copy"};
constexpr std::string_view kBookkeeping[] = {"aten::empty",          "aten::empty_like",   "aten::empty_strided",
                                             "aten::empty_permuted", "aten::new_empty",    "aten::new_empty_strided",
                                             "aten::resize_",        "aten::resize_as_",   "aten::set_",
                                             "aten::set_data",       "aten::detach_",      "aten::requires_grad_",
                                             "aten::retain_grad",    "aten::record_stream"};

// Names that detection code uses for places in an image, in pixels: they are worth nothing when rounded.
constexpr std::string_view kBoxes[] = {"boxes", "bboxes", "rois", "proposals", "dets", "anchors"};

OperatorInfo::Kind kind_of(const std::string& base, bool view, bool writes, bool tensors_back) {
  using Kind = OperatorInfo::Kind;
  if (is_one_of(base, kBookkeeping) || (!tensors_back && !writes)) return Kind::kIgnored;
  if (is_one_of(base, kConversions)) return Kind::kConversion;
  return view || is_one_of(base, kCopies) ? Kind::kSame : Kind::kUse;
}

std::unique_ptr<OperatorInfo> make(const c10::FunctionSchema& schema, const Keys& by_base) {
  auto info = std::make_unique<OperatorInfo>();
  const std::string& overload = schema.overload_name();
  info->base = schema.name();
  info->name = overload.empty() ? info->base : info->base + "." + overload;
  info->own = info->base.starts_with("aten::");
  info->returns = schema.returns().size();
  bool writes = false, view = false, out = false, tensors_back = false;
  for (const c10::Argument& argument : schema.arguments()) {
    if (argument.name() == "dtype") info->dtype_argument = static_cast<int>(info->arguments.size());
    if (is_one_of(argument.name(), kBoxes) && info->arguments.size() < 64)
      info->boxes |= std::uint64_t{1} << info->arguments.size();
    info->arguments.push_back(argument.name());
    const c10::AliasInfo* alias = argument.alias_info();
    writes |= alias != nullptr && alias->isWrite();
    out |= argument.is_out();
  }
  for (const c10::Argument& result : schema.returns()) {
    tensors_back |= is_tensor(*result.type());
    const c10::AliasInfo* alias = result.alias_info();
    view |= alias != nullptr && !alias->isWrite();
  }
  info->kind = kind_of(info->base, view, writes, tensors_back);
  if (const auto handle = c10::Dispatcher::singleton().findOp(schema.operator_name()))
    info->autocast = autocast_keys(*handle);
  const std::string functional = out ? info->base : functional_name(info->base);
  if (const auto found = by_base.find(functional); info->autocast.empty() && found != by_base.end())
    info->sibling = found->second;
  if (view && info->kind == OperatorInfo::Kind::kUse) info->flags |= lanes::kUseView;
  if (writes) info->flags |= lanes::kUseWrites;
  if (info->kind == OperatorInfo::Kind::kConversion) info->flags |= lanes::kUseConverts;
  return info;
}

}  // namespace

std::string functional_name(std::string_view base) {
  if (base.size() < 2 || base.back() != '_' || base[base.size() - 2] == '_') return {};
  return std::string(base.substr(0, base.size() - 1));
}

const OperatorInfo& operator_info(const c10::FunctionSchema& schema) {
  std::lock_guard lock(g_known->mutex);
  if (g_known->autocast_by_base.empty()) g_known->autocast_by_base = read_autocast_keys();
  std::unique_ptr<OperatorInfo>& info = g_known->infos[&schema];
  if (info == nullptr) info = make(schema, g_known->autocast_by_base);
  return *info;
}

void operator_info_after_fork() { g_known = new Known; }

}  // namespace castscope::operators
