#include "agent/naming/definitions.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "agent/cpython/qualified_name.h"
#include "agent/memory/own_memory.h"
#include "agent/naming/notebook_cells.h"
#include "agent/torch/torch_python.h"
#include "agent/torchscript/misplaced.h"

namespace castscope::agent {

using lanes::DefinitionKind;

std::string text_attribute(const HeldGil& gil, const PythonApi& api, PyObject* object, const char* name) {
  PyObject* value = api.get_attribute(object, name);
  if (value == nullptr) {
    api.clear_error();
    return {};
  }
  std::string result = text_of(gil, api, value);
  api.dec_ref(value);
  return result;
}

namespace {

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// The folder of the package torch, as it begins the file names of torch's code: behind a link this is another path than
// that of its libraries.
std::string torch_folder(const HeldGil& gil, const PythonApi& api) {
  PyObject* torch = api.dict_item(api.import_modules(), "torch");
  const std::string file = torch == nullptr ? "" : text_attribute(gil, api, torch, "__file__");
  const auto slash = file.rfind('/');
  return slash == std::string::npos ? "" : file.substr(0, slash);
}

template <typename Definition>
std::string_view bytes(const Definition& definition) {
  return {reinterpret_cast<const char*>(&definition), sizeof definition};
}

struct PinnedCode {
  const void* code;
  Definitions::Place place;
};

}  // namespace

std::uint32_t Definitions::string_locked(std::string_view text) {
  if (text.empty()) return 0;
  if (const auto found = strings_.find(text); found != strings_.end()) return found->second;
  const auto id = static_cast<std::uint32_t>(strings_.size() + 1);
  strings_.emplace(text, id);
  segment_.define(DefinitionKind::kString, id, text.data(), static_cast<std::uint32_t>(text.size()));
  return id;
}

std::uint32_t Definitions::string(std::string_view text) {
  std::lock_guard lock(mutex_);
  return string_locked(text);
}

template <typename Definition>
std::uint32_t Definitions::intern(memory::OwnTextMap<std::uint32_t>& map, DefinitionKind kind,
                                  const Definition& definition, std::uint32_t limit) {
  const std::string_view key = bytes(definition);
  auto found = map.find(key);
  if (found != map.end()) return found->second;
  if (map.size() >= limit) return 0;
  const auto id = static_cast<std::uint32_t>(map.size() + 1);
  if (!segment_.define(kind, id, &definition, sizeof definition)) return 0;
  map.emplace(key, id);
  return id;
}

// Takes a reference to every code object of the stack that is new, and defines it.
void Definitions::pin(const MayWait& may_wait, const RawStack& raw) {
  memory::OwnVector<const RawFrame*> unknown;
  {
    std::lock_guard lock(mutex_);
    const auto look = [&](const RawFrame& frame) {
      if (!codes_.contains(frame.code)) unknown.push_back(&frame);
    };
    std::for_each_n(raw.frames, raw.depth, look);
    std::for_each(raw.beyond.begin(), raw.beyond.end(), look);
    std::ranges::sort(unknown, {}, &RawFrame::code);
    const auto again = std::ranges::unique(unknown, {}, &RawFrame::code);
    unknown.erase(again.begin(), again.end());
    if (codes_defined_ + unknown.size() > kMaxCodes) return;
  }
  if (unknown.empty()) return;
  std::vector<PinnedCode> pinned;
  std::string folder;
  {
    Gil gil(may_wait, api_);
    if (!gil.held()) return;
    KeepError keep(gil, api_);
    if (!torch_folder_told_.load(std::memory_order_relaxed)) folder = torch_folder(gil, api_);
    for (const RawFrame* frame : unknown) {
      PyObject* object = object_at(frame->code);
      if (type_of(object) != api_.code_type) continue;
      api_.inc_ref(object);
      pinned.push_back({object, {text_attribute(gil, api_, object, "co_filename"), qualified_name(gil, api_, *frame)}});
      if (std::string& file = pinned.back().place.file; is_cell(file)) file = name_of_cell(gil, api_, file);
    }
  }
  // The store judges stacks by this folder, so it must be written before the first stack.
  const bool tell = !folder.empty() && !torch_folder_told_.exchange(true);
  if (tell) attribute("torch_folder", folder);
  std::lock_guard lock(mutex_);
  if (tell) torch_folder_ = folder + "/";
  for (PinnedCode& p : pinned) {
    auto [at, fresh] = codes_.try_emplace(p.code);
    if (!fresh) continue;  // another thread was quicker: the second reference does no harm
    if (p.place.function == "Module._wrapped_call_impl" && ends_with(p.place.file, "torch/nn/modules/module.py"))
      PythonStack::module_call_code.store(p.code, std::memory_order_relaxed);
    const lanes::CodeDefinition definition{string_locked(p.place.file), string_locked(p.place.function), 0};
    at->second.id = ++codes_defined_;
    at->second.generated = is_generated_code(p.place.file);
    at->second.place = std::move(p.place);
    segment_.define(DefinitionKind::kCode, at->second.id, &definition, sizeof definition);
  }
}

Definitions::Generated Definitions::generated(const MayWait& may_wait, const RawStack& raw) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> lines;  // frame, line
  {
    std::lock_guard lock(mutex_);
    for (std::uint32_t i = 0; i < raw.depth; ++i) {
      const auto found = codes_.find(raw.frames[i].code);
      if (found != codes_.end() && found->second.generated) lines.emplace_back(i, line_of(raw.frames[i]));
    }
  }
  Generated generated;
  if (lines.empty()) return generated;
  Gil gil(may_wait, api_);
  if (!gil.held()) return generated;
  for (const auto& [i, line] : lines) {
    GeneratedLine found = line_of_graph(gil, api_, PythonStack::self_of(api_, raw.frames[i].frame), line);
    if (!found.graph.empty()) generated.emplace(i, std::move(found));
  }
  return generated;
}

std::uint32_t Definitions::stack(const std::vector<CodeLine>& lines) {
  RawStack raw;
  raw.script = lines;
  raw.hash = PythonStack::kNoFrames;
  for (const CodeLine& frame : lines) raw.hash = mix(raw.hash, std::hash<std::string>{}(frame.file), frame.line);
  return stack_as_known(raw);
}

bool Definitions::pinned(const RawStack& raw) {
  std::lock_guard lock(mutex_);
  for (std::uint32_t i = 0; i < raw.depth; ++i)
    if (!codes_.contains(raw.frames[i].code)) return false;
  return true;
}

// The definition of code that is not a Python object; 0 where there is too much code.
std::uint32_t Definitions::script_code_locked(const CodeLine& frame) {
  const std::uint32_t file = string_locked(script::file_of(frame)), function = string_locked(frame.function);
  const auto key = std::uint64_t{file} << 32 | function;
  if (const auto found = script_codes_.find(key); found != script_codes_.end()) return found->second;
  if (codes_defined_ >= kMaxCodes) return 0;
  const lanes::CodeDefinition definition{file, function, 0};
  const std::uint32_t id = ++codes_defined_;
  segment_.define(DefinitionKind::kCode, id, &definition, sizeof definition);
  return script_codes_.emplace(key, id).first->second;
}

std::uint32_t Definitions::line_of(const RawFrame& frame) const {
  const auto* bytes = reinterpret_cast<const char*>(frame.code) + api_.code_bytes;
  const auto offset = static_cast<int>(static_cast<const char*>(frame.instruction) - bytes);
  const int line = api_.code_line(static_cast<PyObject*>(const_cast<void*>(frame.code)), offset);
  return line < 0 ? 0u : static_cast<std::uint32_t>(line);
}

std::uint32_t Definitions::stack(const MayWait& may_wait, const RawStack& raw) {
  if (const auto known = known_stack(raw)) return *known;
  pin(may_wait, raw);
  return define_stack(raw, generated(may_wait, raw));
}

std::uint32_t Definitions::stack_as_known(const RawStack& raw) {
  const auto known = known_stack(raw);
  return known ? *known : define_stack(raw, {});
}

std::optional<std::uint32_t> Definitions::known_stack(const RawStack& raw) {
  if (raw.depth == 0 && raw.script.empty()) return 0;
  std::lock_guard lock(mutex_);
  if (const auto found = stacks_.find(raw.hash); found != stacks_.end()) return found->second;
  return stacks_.size() >= kMaxStacks ? std::optional(0u) : std::nullopt;
}

std::uint32_t Definitions::define_stack(const RawStack& raw, const Generated& generated) {
  memory::OwnVector<lanes::Frame> frames;
  frames.reserve(raw.depth);
  std::lock_guard lock(mutex_);
  const auto keep = [&](const RawFrame& raw_frame, bool of_torch) {
    auto found = codes_.find(raw_frame.code);
    if (found == codes_.end()) return;  // it could not be pinned: leave it out rather than name it wrongly
    if (!of_torch && !torch_folder_.empty() && found->second.place.file.starts_with(torch_folder_)) return;
    frames.push_back({found->second.id, line_of(raw_frame)});
  };
  const auto keep_lines = [&](const std::vector<CodeLine>& lines) {
    for (const CodeLine& frame : lines)
      if (const std::uint32_t code = script_code_locked(frame)) frames.push_back({code, frame.line});
  };
  // Lines of a graph within a graph reach outwards to those of the outermost graph.
  bool lines_told = false;
  const auto keep_generated = [&](const GeneratedLine& line) {
    if (!std::exchange(lines_told, lines_told || !line.lines.empty())) keep_lines(line.lines);
    keep_lines({{std::string(line.graph), "forward", 0}});
  };
  for (std::uint32_t i = 0; i < raw.depth; ++i) {
    if (i == raw.script_at) keep_lines(raw.script);
    const auto line = generated.find(i);
    line == generated.end() ? keep(raw.frames[i], true) : keep_generated(line->second);
  }
  if (raw.script_at >= raw.depth) keep_lines(raw.script);
  const std::size_t most = frames.size() + kMostUserFramesBeyond;
  for (auto frame = raw.beyond.begin(); frame != raw.beyond.end() && frames.size() < most; ++frame) keep(*frame, false);
  auto [at, fresh] = stacks_.try_emplace(raw.hash, static_cast<std::uint32_t>(stacks_.size() + 1));
  if (!fresh) return at->second;
  const lanes::StackDefinition head{static_cast<std::uint32_t>(frames.size()), raw.truncated ? 1u : 0u};
  if (!segment_.define(DefinitionKind::kStack, at->second, &head, sizeof head, frames.data(),
                       static_cast<std::uint32_t>(frames.size() * sizeof(lanes::Frame)))) {
    stacks_.erase(at);
    return 0;
  }
  return at->second;
}

Definitions::Place Definitions::innermost(const RawStack& raw) {
  if (raw.script_at == 0 && !raw.script.empty())
    return {script::file_of(raw.script.front()), raw.script.front().function};
  return raw.depth == 0 ? Place{} : place(raw.frames[0].code);
}

Definitions::Place Definitions::asker(const RawStack& raw) {
  if (raw.script_at == 0 && !raw.script.empty()) return innermost(raw);
  for (std::uint32_t i = 0; i < raw.depth; ++i) {
    Place at = place(raw.frames[i].code);
    if (!passes_calls_on(at.file)) return at;
  }
  return {};
}

Definitions::Place Definitions::place(const void* code) {
  std::lock_guard lock(mutex_);
  auto found = codes_.find(code);
  return found == codes_.end() ? Place{} : found->second.place;
}

bool Definitions::passes_through(const RawStack& raw, bool (*is)(const Place&)) {
  std::lock_guard lock(mutex_);
  for (std::uint32_t i = 0; i < raw.depth; ++i) {
    const auto found = codes_.find(raw.frames[i].code);
    if (found != codes_.end() && is(found->second.place)) return true;
  }
  return false;
}

CodeLine Definitions::user_line(const RawFrame* frames, std::size_t n) {
  std::lock_guard lock(mutex_);
  for (const RawFrame* frame = frames; frame != frames + n; ++frame) {
    const auto found = codes_.find(frame->code);
    if (found == codes_.end()) continue;
    const Place& place = found->second.place;
    if (!torch_folder_.empty() && place.file.starts_with(torch_folder_)) continue;
    if (ends_with(place.file, "/contextlib.py")) continue;  // an ExitStack entered the region
    return {place.file, place.function, line_of(*frame)};
  }
  return {};
}

bool Definitions::is_in_torch(std::string_view file) {
  std::lock_guard lock(mutex_);
  return !torch_folder_.empty() && file.starts_with(torch_folder_);
}

std::uint32_t Definitions::module(std::string_view path, std::string_view type, std::string_view root_type,
                                  std::uint32_t root_number) {
  std::lock_guard lock(mutex_);
  const lanes::ModuleDefinition definition{string_locked(path), string_locked(type), string_locked(root_type),
                                           root_number};
  const std::uint32_t id = intern(modules_, DefinitionKind::kModule, definition, kMaxSites);
  if (id >= named_modules_.size())
    named_modules_.push_back({memory::OwnString(path), memory::OwnString(root_type), root_number});
  return id;
}

std::uint32_t Definitions::module_below(std::uint32_t outer, std::string_view path, std::string_view type) {
  std::unique_lock lock(mutex_);
  if (outer == 0 || outer >= named_modules_.size()) return 0;
  NamedModule in = named_modules_[outer];
  lock.unlock();
  if (!in.path.empty() && !path.empty()) in.path += '.';
  return module(in.path += path, type, in.root_type, in.root_number);
}

std::uint32_t Definitions::op(std::string_view name) {
  if (name.empty()) return 0;
  std::lock_guard lock(mutex_);
  return intern(operators_, DefinitionKind::kOperator, lanes::OperatorDefinition{string_locked(name)}, kMaxSites);
}

std::uint32_t Definitions::new_call_site(const lanes::CallSiteDefinition& definition) {
  std::lock_guard lock(mutex_);
  const std::uint32_t id = ++call_sites_;
  segment_.define(DefinitionKind::kCallSite, id, &definition, sizeof definition);
  return id;
}

std::uint32_t Definitions::planned_call_site(std::string_view op, std::uint32_t argument, std::string_view name) {
  const std::uint32_t op_id = this->op(op);
  std::lock_guard lock(mutex_);
  const lanes::CallSiteDefinition definition{op_id, argument, string_locked(name), 0};
  auto [at, fresh] = planned_.try_emplace(memory::OwnString(bytes(definition)), 0);
  if (fresh) {
    at->second = ++call_sites_;
    segment_.define(DefinitionKind::kCallSite, at->second, &definition, sizeof definition);
  }
  return at->second;
}

void Definitions::update_call_site(std::uint32_t id, const lanes::CallSiteDefinition& definition) {
  std::lock_guard lock(mutex_);
  segment_.define(DefinitionKind::kCallSite, id, &definition, sizeof definition);
}

std::uint32_t Definitions::region(const lanes::RegionDefinition& definition) {
  std::lock_guard lock(mutex_);
  return intern(regions_, DefinitionKind::kRegion, definition, kMaxSites);
}

std::uint32_t Definitions::site(const lanes::SiteDefinition& definition) {
  return counted(sites_, DefinitionKind::kSite, bytes(definition), {}, kMaxSites);
}

std::uint32_t Definitions::operator_use(const lanes::OperatorUseDefinition& definition,
                                        const lanes::Operand* operands) {
  return counted(seen_, DefinitionKind::kOperatorUse, bytes(definition),
                 {reinterpret_cast<const char*>(operands), definition.operands * sizeof *operands}, kMaxSeen);
}

std::uint32_t Definitions::seen(DefinitionKind kind, std::string_view record) {
  return counted(seen_, kind, record, {}, kMaxSeen);
}

std::size_t Definitions::places() {
  std::lock_guard lock(mutex_);
  return sites_.size() + regions_.size();
}

// The series of numbers that counters use.
std::uint32_t Definitions::counted(memory::OwnTextMap<std::uint32_t>& map, DefinitionKind kind, std::string_view head,
                                   std::string_view more, std::uint32_t limit) {
  memory::OwnString key(head);
  key.append(more);
  key.push_back(static_cast<char>(kind));  // several kinds share a map
  std::lock_guard lock(mutex_);
  auto found = map.find(key);
  if (found != map.end()) return found->second;
  if (map.size() >= limit) {
    segment_.header().lost_definitions.fetch_add(1, std::memory_order_relaxed);
    return 0;
  }
  if (!segment_.define(kind, counted_ + 1, head.data(), static_cast<std::uint32_t>(head.size()), more.data(),
                       static_cast<std::uint32_t>(more.size())))
    return 0;
  map.emplace(std::move(key), ++counted_);
  return counted_;
}

std::uint32_t Definitions::thread(std::uint32_t lane, std::uint32_t tid, std::string_view name) {
  std::lock_guard lock(mutex_);
  const lanes::ThreadDefinition definition{lane, tid, string_locked(name)};
  const std::uint32_t id = ++threads_;
  segment_.define(DefinitionKind::kThread, id, &definition, sizeof definition);
  return id;
}

void Definitions::attribute(std::string_view key, std::string_view value) {
  std::lock_guard lock(mutex_);
  const lanes::AttributeDefinition definition{string_locked(key), string_locked(value)};
  segment_.define(DefinitionKind::kAttribute, ++attributes_, &definition, sizeof definition);
}

}  // namespace castscope::agent
