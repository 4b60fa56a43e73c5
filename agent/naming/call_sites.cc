#include "agent/naming/call_sites.h"

#include <dlfcn.h>
#include <unwind.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>

#include "agent/machine/return_address.h"
#include "agent/memory/own_memory.h"
#include "agent/torch/torch_seam.h"
#include "agent/wiring/features.h"

namespace castscope::agent {
namespace {

std::uintptr_t function_start(std::uintptr_t return_address) {
  // A call may be the last instruction of its function: ask for the byte before.
  return reinterpret_cast<std::uintptr_t>(_Unwind_FindEnclosingFunction(reinterpret_cast<void*>(return_address)));
}

struct StackWalk {
  const memory::OwnMap<std::uintptr_t, memory::OwnString>* kernels;
  std::uint64_t address;  // the return address to begin at
  bool begun = false;
  int levels = 0;
  std::int64_t offset = 0;
  const char* cfa;  // of the hook
  std::string op;
};

_Unwind_Reason_Code visit(_Unwind_Context* context, void* data) {
  auto& w = *static_cast<StackWalk*>(data);
  const auto ip = static_cast<std::uint64_t>(_Unwind_GetIP(context));
  if (!w.begun && ip != w.address) return _URC_NO_REASON;
  w.begun = true;
  auto found = w.kernels->find(function_start(ip));
  if (found != w.kernels->end()) {
    w.op = found->second;
    // During a backtrace the context's CFA is that of the frame below, which the ip returns from.
    const char* const place =
        machine::place_of_return_address(ip, w.cfa, reinterpret_cast<const char*>(_Unwind_GetCFA(context)));
    if (w.levels > 0 && place != nullptr) w.offset = place - w.cfa;
    return _URC_END_OF_STACK;
  }
  return ++w.levels > 24 ? _URC_END_OF_STACK : _URC_NO_REASON;
}

}  // namespace

std::string address_text(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  const char* slash = std::strrchr(info.dli_fname, '/');
  char offset[32];
  std::snprintf(offset, sizeof offset, "+0x%zx",
                static_cast<std::size_t>(static_cast<const char*>(address) - static_cast<const char*>(info.dli_fbase)));
  return std::string(slash == nullptr ? info.dli_fname : slash + 1) + offset;
}

void CallSites::read_dispatcher_locked() {
  kernels_.clear();
  for (AutocastKernel& kernel : autocast_kernels()) kernels_.emplace(kernel.function, std::move(kernel.op));
}

std::string CallSites::operator_on_stack(std::uint64_t address, const void* cfa, std::int64_t& outer_offset) {
  StackWalk walk{.kernels = &kernels_, .address = address, .cfa = static_cast<const char*>(cfa), .op = {}};
  _Unwind_Backtrace(visit, &walk);
  outer_offset = walk.offset;
  return walk.op;
}

ReturnAddressEntry CallSites::look(std::uint64_t address, const void* cfa) try {
  std::lock_guard lock(mutex_);
  auto found = addresses_.find(address);
  if (found == addresses_.end()) {
    Address a;
    a.op = operator_on_stack(address, cfa, a.outer_offset);
    if (a.op.empty()) {  // the operator may have been registered since: look again, once per address
      read_dispatcher_locked();
      a.op = operator_on_stack(address, cfa, a.outer_offset);
    }
    found = addresses_.emplace(address, std::move(a)).first;
  }
  const auto* plan = g_features.plan_of_call(reinterpret_cast<const void*>(address));
  return {address, found->second.outer_offset, plan};
} catch (const std::exception&) {  // out of memory: the operator is not known, but the call is counted
  return {address, 0, nullptr};
}

// A kernel of castscope's knows which argument it casts.
std::optional<CallSite> CallSites::find_argument_of_ours(std::uint64_t key) {
  const std::optional<KernelArgument> known = g_features.kernel_argument(key);
  if (!known) return std::nullopt;
  std::lock_guard lock(mutex_);
  auto [at, fresh] = sites_.try_emplace(key);
  if (!fresh) return at->second;
  CallSite& site = at->second;
  const std::vector<std::string> names = argument_names(known->op);
  site.op = known->op;
  if (known->position < names.size()) site.argument = names[known->position];
  site.position = known->position;
  site.learned = true;
  site.id =
      definitions_.new_call_site({definitions_.op(site.op), known->position, definitions_.string(site.argument), 0});
  return site;
}

CallSite CallSites::find(std::uint64_t key, const void* return_address, const void* tensor) {
  if (const auto ours = find_argument_of_ours(key)) return *ours;
  const auto address = reinterpret_cast<std::uint64_t>(return_address);
  CallSite site;
  {
    std::lock_guard lock(mutex_);
    auto found = sites_.find(key);
    if (found != sites_.end()) return found->second;
    auto known = addresses_.find(address);
    if (known != addresses_.end() && known->second.outer_offset == 0) {
      site.op = known->second.op;
    } else {
      std::int64_t unused = 0;
      site.op = operator_on_stack(address, nullptr, unused);
    }
  }
  if (site.op.empty()) site.op = enclosing_operator(tensor).op;
  watch_operators();

  site.code_address = definitions_.string(address_text(return_address));
  lanes::CallSiteDefinition definition{definitions_.op(site.op), lanes::kUnknownArgument, 0, site.code_address};
  std::lock_guard lock(mutex_);
  auto [at, fresh] = sites_.try_emplace(key, site);
  if (fresh) {
    at->second.id = definitions_.new_call_site(definition);
    learn_locked(at->second, tensor);
  }
  return at->second;
}

void CallSites::expect_calls() {
  if (!expected_.load(std::memory_order_relaxed) && !expected_.exchange(true)) watch_operators();
}

void CallSites::learn(std::uint64_t key, const void* tensor) {
  std::lock_guard lock(mutex_);
  auto found = sites_.find(key);
  if (found != sites_.end() && !found->second.learned) learn_locked(found->second, tensor);
}

bool CallSites::learn_locked(CallSite& site, const void* tensor) {
  const EnclosingOperator enclosing = enclosing_operator(tensor);
  if (enclosing.op.empty()) return false;
  if (site.op.empty()) site.op = enclosing.op;  // outside the dispatcher's tables: the event names the operator
  if (enclosing.op != site.op) return false;
  const auto found = arguments_.try_emplace(memory::OwnString(site.op));
  auto& names = found.first->second;
  if (found.second) names = argument_names(site.op);
  // The same tensor may stand in several places (mm(x, x)): places that other call sites already have are ruled out.
  std::vector<std::uint32_t> open = enclosing.positions;
  if (open.size() > 1)
    for (const auto& entry : sites_) {
      const auto& other = entry.second;
      if (other.learned && other.op == site.op)
        std::erase_if(open, [&](std::uint32_t p) { return p < names.size() && names[p] == other.argument; });
    }
  if (open.empty() || open.back() >= names.size()) return false;
  site.learned = open.size() == 1;
  // Until a call tells them apart: compilers pass arguments right to left, so the first call site to come gets the last
  // free place.
  std::sort(open.begin(), open.end());
  if (!site.learned) {
    if (!site.argument.empty()) return false;
    for (const auto& entry : sites_) {
      const auto& other = entry.second;
      if (other.op == site.op && open.size() > 1)
        std::erase_if(open, [&](std::uint32_t p) { return names[p] == other.argument; });
    }
    open = {open.back()};
  }
  site.argument = names[open[0]];
  site.position = open[0];
  definitions_.update_call_site(
      site.id, {definitions_.op(site.op), open[0], definitions_.string(site.argument), site.code_address});
  return true;
}

}  // namespace castscope::agent
