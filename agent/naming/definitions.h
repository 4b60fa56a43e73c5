// Numbers for what is named again and again: strings, code objects, stacks, modules, operators, call sites, regions,
// sites. Each definition is written into the segment once, before its number is used.
//
// Thread-safety: all functions may be called by any thread. The GIL may be held when the mutex is taken, so nothing
// that runs under the mutex gets a MayWait.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/cpython/python_api.h"
#include "agent/cpython/python_stack.h"
#include "agent/lanes/segment_writer.h"
#include "agent/memory/own_memory.h"
#include "agent/naming/generated_code.h"

namespace castscope::agent {

// A process never runs out of ids before it runs out of memory; these bound the cost of a job that makes new code for
// ever.
inline constexpr std::uint32_t kMaxCodes = 200'000;
inline constexpr std::uint32_t kMaxStacks = 200'000;
inline constexpr std::uint32_t kMaxSites = 500'000;
// The most frames that are kept from the cut-off part of a stack (RawStack::beyond).
inline constexpr std::size_t kMostUserFramesBeyond = 64;
inline constexpr std::uint32_t kMaxSeen = 100'000;  // uses, flows, facts, …: with their counters 14 MB of the segment

// An attribute of a code object: "" when there is none, or it is not a string.
std::string text_attribute(const HeldGil& gil, const PythonApi& api, PyObject* object, const char* name);

class Definitions {
 public:
  Definitions(const PythonApi& api, lanes::SegmentWriter& segment) : api_(api), segment_(segment) {}

  std::uint32_t string(std::string_view text);
  // The number of this stack. Code objects met for the first time are pinned. 0 when there are no frames or too many
  // stacks.
  std::uint32_t stack(const MayWait& may_wait, const RawStack& raw);
  // The same where the GIL must not be waited for: code that is not pinned is left out, and frames of generated code
  // do not become the lines that they stand for.
  std::uint32_t stack_as_known(const RawStack& raw);
  // The number of a stack of lines that no Python interpreter runs at the moment; innermost first.
  std::uint32_t stack(const std::vector<CodeLine>& lines);
  // Pins the code objects of the stack, as stack() does.
  void pin(const MayWait& may_wait, const RawStack& raw);
  // Whether all code objects of the stack are pinned.
  bool pinned(const RawStack& raw);
  std::uint32_t module(std::string_view path, std::string_view type, std::string_view root_type,
                       std::uint32_t root_number);
  // The number of a module of TorchScript at this path below a module that has a number.
  std::uint32_t module_below(std::uint32_t outer, std::string_view path, std::string_view type);
  std::uint32_t op(std::string_view name);
  std::uint32_t new_call_site(const lanes::CallSiteDefinition& definition);
  void update_call_site(std::uint32_t id, const lanes::CallSiteDefinition& definition);
  // The call site of a cast in a graph, which has no call in native code: the same number for the same argument.
  std::uint32_t planned_call_site(std::string_view op, std::uint32_t argument, std::string_view argument_name);
  std::uint32_t region(const lanes::RegionDefinition& definition);
  // Everything that counters count has one series of numbers. 0 when there are too many.
  std::uint32_t site(const lanes::SiteDefinition& definition);
  std::uint32_t operator_use(const lanes::OperatorUseDefinition& definition, const lanes::Operand* operands);
  // Any other of one record: a flow, a fact, a kernel, a matrix product.
  template <typename Definition>
  std::uint32_t seen(const Definition& definition) {
    return seen(kind_of(definition), {reinterpret_cast<const char*>(&definition), sizeof definition});
  }
  // How many sites and regions there are: grows when something new is met.
  std::size_t places();
  std::uint32_t thread(std::uint32_t lane, std::uint32_t tid, std::string_view name);
  void attribute(std::string_view key, std::string_view value);

  // File and function of the innermost frame of a stack, for causes that depend on it. Empty when not known.
  struct Place {
    std::string file, function;
  };
  Place innermost(const RawStack& raw);
  // The same for the innermost frame that does more than pass calls on.
  Place asker(const RawStack& raw);
  // The innermost line that is neither PyTorch's nor contextlib's; without a file where there is none. The code of the
  // frames must be pinned.
  CodeLine user_line(const RawFrame* frames, std::size_t n);
  Place place(const void* code);  // empty when the code is not pinned
  // Whether `is` holds for a frame of the stack, as far as its code is pinned.
  bool passes_through(const RawStack& raw, bool (*is)(const Place&));
  // Whether this file is in the package torch; false while torch's folder is not known.
  bool is_in_torch(std::string_view file);

 private:
  struct Code {
    std::uint32_t id = 0;
    Place place;
    bool generated = false;  // is_generated_code
  };
  std::uint32_t seen(lanes::DefinitionKind kind, std::string_view record);
  std::uint32_t string_locked(std::string_view text);
  // The frames that run generated code, by their place in the stack, with the lines that they stand for.
  using Generated = std::map<std::uint32_t, GeneratedLine>;
  Generated generated(const MayWait& may_wait, const RawStack& raw);
  std::optional<std::uint32_t> known_stack(const RawStack& raw);
  std::uint32_t define_stack(const RawStack& raw, const Generated& generated);
  std::uint32_t line_of(const RawFrame& frame) const;  // the code must be pinned
  std::uint32_t script_code_locked(const CodeLine& frame);
  template <typename Definition>
  std::uint32_t intern(memory::OwnTextMap<std::uint32_t>& map, lanes::DefinitionKind kind, const Definition& definition,
                       std::uint32_t limit);
  std::uint32_t counted(memory::OwnTextMap<std::uint32_t>& map, lanes::DefinitionKind kind, std::string_view head,
                        std::string_view more, std::uint32_t limit);

  const PythonApi& api_;
  lanes::SegmentWriter& segment_;
  std::mutex mutex_;
  memory::OwnTextMap<std::uint32_t> strings_;
  memory::OwnMap<const void*, Code> codes_;
  memory::OwnMap<std::uint64_t, std::uint32_t> script_codes_;  // by the strings of file and function
  memory::OwnMap<std::uint64_t, std::uint32_t> stacks_;        // by RawStack::hash
  memory::OwnTextMap<std::uint32_t> modules_, operators_, regions_, sites_, seen_, planned_;
  struct NamedModule {
    memory::OwnString path, root_type;
    std::uint32_t root_number = 1;
  };
  memory::OwnVector<NamedModule> named_modules_ = memory::OwnVector<NamedModule>(1);  // by number, 0 = none
  std::uint32_t codes_defined_ = 0, call_sites_ = 0, threads_ = 0, attributes_ = 0, counted_ = 0;
  std::atomic<bool> torch_folder_told_{false};
  std::string torch_folder_;  // with a slash
};

}  // namespace castscope::agent
