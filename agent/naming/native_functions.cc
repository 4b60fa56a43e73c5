#include "agent/naming/native_functions.h"

#include <dlfcn.h>
#include <unwind.h>

#include <cstring>
#include <string_view>
#include <utility>

#include "agent/imports/loaded_objects.h"

namespace castscope::agent {
namespace {

struct Symbol {
  std::string_view library;  // file name
  std::string_view name;     // mangled; "" when the function is not exported
};

Symbol symbol_of(const void* return_address) {
  void* start = _Unwind_FindEnclosingFunction(const_cast<void*>(return_address));
  Dl_info info{};
  if (dladdr(start != nullptr ? start : return_address, &info) == 0 || info.dli_fname == nullptr) return {};
  const char* slash = std::strrchr(info.dli_fname, '/');
  // dladdr names the nearest symbol below: that is right only if the symbol is at the function's first byte.
  const bool exact = start != nullptr && info.dli_saddr == start && info.dli_sname != nullptr;
  return {slash == nullptr ? info.dli_fname : slash + 1, exact ? info.dli_sname : ""};
}

// at::_ops::NAME::call → NAME ("_ZN2at4_ops10add_Tensor4callE…").
std::string_view operator_symbol(std::string_view mangled) {
  constexpr std::string_view prefix = "_ZN2at4_ops";
  if (!mangled.starts_with(prefix)) return {};
  mangled.remove_prefix(prefix.size());
  std::size_t length = 0, digits = 0;
  for (; digits < mangled.size() && mangled[digits] >= '0' && mangled[digits] <= '9'; ++digits)
    length = length * 10 + static_cast<std::size_t>(mangled[digits] - '0');
  if (length == 0 || digits + length > mangled.size()) return {};
  const std::string_view rest = mangled.substr(digits + length);
  if (!rest.starts_with("4call") && !rest.starts_with("10redispatch")) return {};
  return mangled.substr(digits, length);
}

bool converts(std::string_view op) {
  return op == "to_dtype" || op == "to_dtype_layout" || op == "to_device" || op == "to_other" || op == "type_as" ||
         op == "_to_copy";
}

// Names the function at this address, or returns false: the address is in no library, but in code that was generated.
bool describe(const void* return_address, NativeFunction* function) {
  const Symbol symbol = symbol_of(return_address);
  const auto names = [&](std::string_view part) { return symbol.name.find(part) != std::string_view::npos; };
  function->in_torch_python = symbol.library.starts_with("libtorch_python");
  function->is_conversion_itself =
      symbol.name.starts_with("_ZN2at6native2toE") || symbol.name.starts_with("_ZN2at6native7type_asE");
  function->implements = symbol.name.starts_with("_ZN2at6native") || symbol.name.starts_with("_ZN5torch8autograd");
  function->is_tensor_iterator = names("TensorIteratorBase");
  function->is_scripts_autocast = names("_autocast_to_");
  function->to_full_precision = names("full_precision");
  const std::string_view op = operator_symbol(symbol.name);
  if (!converts(op)) function->op = op;
  return !symbol.library.empty();
}

}  // namespace

void NativeFunctions::begin_walk() {
  const unsigned long long unloads = imports::load_counts().unloads;
  const std::lock_guard lock(mutex_);
  if (std::exchange(unloads_, unloads) != unloads) known_.clear();
}

NativeFunction NativeFunctions::at(const void* return_address) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = known_.find(return_address); it != known_.end()) return it->second;
  }
  NativeFunction function;
  // A library may come to lie where generated code was, and nothing would tell of it: that is not remembered.
  if (!describe(return_address, &function)) return function;
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kMost) known_.clear();
  known_.emplace(return_address, function);
  return function;
}

}  // namespace castscope::agent
