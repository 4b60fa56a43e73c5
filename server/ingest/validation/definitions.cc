#include "server/ingest/validation/definitions.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "server/ingest/validation/attribute_names.h"
#include "server/ingest/validation/record.h"
#include "server/utf8/utf8.h"

namespace castscope::ingest {
namespace {

using lanes::DefinitionKind;

// Frames share their texts in the segment, but not here: a small record could otherwise demand gigabytes.
constexpr std::size_t kMostStackText = 4u << 20;

}  // namespace

bool Definitions::insert(Set& set, std::uint32_t id) {
  if (contains(set, id)) return false;
  if (id >= set.size()) set.resize(id + 1);
  set[id] = true;
  return true;
}

void Definitions::Shown::set(std::uint32_t id, std::uint64_t bytes) {
  if (id >= bytes_.size()) bytes_.resize(id + 1);
  bytes_[id] = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, std::numeric_limits<std::uint32_t>::max()));
}

const std::string& Definitions::text(std::uint32_t id) const {
  static const std::string& none = *new std::string;
  const auto it = strings_.find(id);
  return it == strings_.end() ? none : it->second;
}

const std::string& Definitions::operator_name(std::uint32_t id) const {
  const auto it = operators_.find(id);
  return text(it == operators_.end() ? 0 : it->second);
}

absl::Status Definitions::number(DefinitionKind kind, std::uint32_t id, bool* fresh) {
  *fresh = what(id) == DefinitionKind();
  if (!*fresh && what(id) != kind) return invalid(absl::StrCat("two different definitions with the number ", id));
  if (id >= numbers_.size()) numbers_.resize(id + 1);
  numbers_[id] = kind;
  return absl::OkStatus();
}

void Definitions::forget_all_but_kinds() {
  std::vector<DefinitionKind> numbers = std::move(numbers_);
  *this = Definitions();
  numbers_ = std::move(numbers);
}

absl::Status Definitions::kept(absl::Status status) {
  if (!status.ok()) sink_error_ = status;
  return status;
}

absl::Status Definitions::apply(const std::string& key, std::string_view records, std::uint64_t most_bytes,
                                store::RunSink& sink, absl::Status* sink_error) {
  while (!records.empty() && bytes() <= most_bytes) {
    lanes::DefinitionHeader header{};
    if (records.size() >= sizeof header) std::memcpy(&header, records.data(), sizeof header);
    if (header.size < sizeof header || header.size % 8 != 0 || header.size > records.size()) {
      pass_over({}, invalid("a definition with an impossible length"));
      return absl::OkStatus();  // nobody knows where the next one begins
    }
    const std::string_view room = records.substr(sizeof header, header.size - sizeof header);
    const Record record{header.kind, header.id, room.substr(0, header.payload)};
    records.remove_prefix(header.size);
    const absl::Status status =
        header.payload > room.size() ? invalid("a definition with an impossible length") : apply_one(key, record, sink);
    if (*sink_error = sink_error_; !sink_error_.ok()) return status;
    if (!status.ok()) pass_over(record, status);
    if (bytes_ > kMostDefinitionBytes) return invalid("more definitions than a segment can hold");
  }
  return absl::OkStatus();
}

void Definitions::pass_over(const Record& record, const absl::Status& why) {
  if (damage_.empty()) damage_ = std::string(why.message());
  if (lanes::is_counted_beside_sites(record.kind) && record.id <= kLargestDefinitionId) insert(lost_uses_, record.id);
}

absl::Status Definitions::apply_one(const std::string& key, const Record& record, store::RunSink& sink) {
  if (record.id > kLargestDefinitionId) return invalid(absl::StrCat("a definition with the number ", record.id));
  if (record.id == 0 && record.kind != DefinitionKind::kAttribute) return invalid("a definition without a number");
  switch (record.kind) {
#define CASTSCOPE_TAKE(kind, number, Type) \
  case DefinitionKind::kind:               \
    return take<lanes::Type>(key, record, sink);
    CASTSCOPE_DEFINITION_KINDS(CASTSCOPE_TAKE)
#undef CASTSCOPE_TAKE
  }
  return invalid(absl::StrCat("a definition of the unknown kind ", static_cast<unsigned>(record.kind)));
}

template <>
absl::Status Definitions::take<lanes::StringDefinition>(const std::string& /*key*/, const Record& record,
                                                        store::RunSink& /*sink*/) {
  const auto [it, fresh] = strings_.try_emplace(record.id);
  if (fresh) it->second = utf8::repaired(record.payload);
  bytes_ += fresh ? record.payload.size() : 0;
  return absl::OkStatus();
}

template <>
absl::Status Definitions::take<lanes::CodeDefinition>(const std::string& /*key*/, const Record& record,
                                                      store::RunSink& /*sink*/) {
  lanes::CodeDefinition code{};
  if (absl::Status status = read(record.payload, "code", &code); !status.ok()) return status;
  if (codes_.try_emplace(record.id, Code{code.file, code.function}).second)
    written_ += text(code.file).size() + text(code.function).size();
  return absl::OkStatus();
}

template <>
absl::Status Definitions::take<lanes::ModuleDefinition>(const std::string& key, const Record& record,
                                                        store::RunSink& sink) {
  lanes::ModuleDefinition module{};
  if (absl::Status status = read(record.payload, "module", &module); !status.ok()) return status;
  if (!insert(modules_, record.id)) return absl::OkStatus();
  const store::ModuleInfo info{.id = record.id,
                               .path = text(module.path),
                               .type = text(module.type),
                               .root_type = text(module.root_type),
                               .root_number = module.root_number};
  const std::uint64_t bytes = info.path.size() + info.type.size() + info.root_type.size();
  shown_of_module_.set(record.id, bytes);
  written_ += bytes;
  return kept(sink.define(key, info));
}

template <>
absl::Status Definitions::take<lanes::OperatorDefinition>(const std::string& /*key*/, const Record& record,
                                                          store::RunSink& /*sink*/) {
  lanes::OperatorDefinition op{};
  if (absl::Status status = read(record.payload, "operator", &op); !status.ok()) return status;
  operators_.try_emplace(record.id, op.name);
  return absl::OkStatus();
}

template <>
absl::Status Definitions::take<lanes::CallSiteDefinition>(const std::string& key, const Record& record,
                                                          store::RunSink& sink) {
  lanes::CallSiteDefinition site{};
  if (absl::Status status = read(record.payload, "call site", &site); !status.ok()) return status;
  insert(call_sites_, record.id);
  const store::CallSiteInfo info{.id = record.id,
                                 .op = operator_name(site.op),
                                 .argument = site.argument,
                                 .argument_name = text(site.argument_name),
                                 .code_address = text(site.code_address)};
  const std::uint64_t bytes = info.op.size() + info.argument_name.size() + info.code_address.size();
  shown_of_call_site_.set(record.id, bytes);
  // What is said of a call site may be said again, and become more.
  const auto content = absl::HashOf(record.id, site.op, site.argument, site.argument_name, site.code_address);
  if (said_of_call_sites_.insert(content).second) written_ += bytes;
  return kept(sink.define(key, info));
}

template <>
absl::Status Definitions::take<lanes::ThreadDefinition>(const std::string& key, const Record& record,
                                                        store::RunSink& sink) {
  lanes::ThreadDefinition thread{};
  if (absl::Status status = read(record.payload, "thread", &thread); !status.ok()) return status;
  if (!insert(threads_, record.id)) return absl::OkStatus();
  written_ += text(thread.name).size();
  return kept(sink.define(
      key, store::ThreadInfo{.id = record.id, .lane = thread.lane, .tid = thread.tid, .name = text(thread.name)}));
}

template <>
absl::Status Definitions::take<lanes::StackDefinition>(const std::string& key, const Record& record,
                                                       store::RunSink& sink) {
  lanes::StackDefinition head{};
  if (record.payload.size() < sizeof head) return invalid("a stack definition that is cut short");
  std::memcpy(&head, record.payload.data(), sizeof head);
  if ((record.payload.size() - sizeof head) / sizeof(lanes::Frame) != head.count)
    return invalid(absl::StrCat("a stack of ", head.count, " frames in ", record.payload.size(), " bytes"));
  if (!insert(stacks_, record.id)) return absl::OkStatus();
  bytes_ += record.payload.size();
  store::StackInfo stack{.id = record.id, .frames = {}, .truncated = head.truncated != 0};
  stack.frames.reserve(head.count);
  std::size_t resolved = 0;
  for (std::uint32_t i = 0; i < head.count; ++i) {
    lanes::Frame frame{};
    std::memcpy(&frame, record.payload.data() + sizeof head + i * sizeof frame, sizeof frame);
    const auto code = codes_.find(frame.code);
    store::CodeLocation& location = stack.frames.emplace_back();
    location.line = frame.line;
    if (code == codes_.end()) continue;
    location.file = text(code->second.file);
    location.function = text(code->second.function);
    resolved += location.file.size() + location.function.size();
    if (resolved <= kMostStackText) continue;
    stacks_[record.id] = false;
    return invalid(absl::StrCat("stack ", record.id, " with megabytes of text"));
  }
  shown_of_stack_.set(record.id, resolved);
  shown_ += resolved;
  return kept(sink.define(key, stack));
}

template <>
absl::Status Definitions::take<lanes::RegionDefinition>(const std::string& key, const Record& record,
                                                        store::RunSink& sink) {
  lanes::RegionDefinition region{};
  if (absl::Status status = read(record.payload, "region", &region); !status.ok()) return status;
  if (!lanes::is_listed(region.kind)) return invalid("a region of an unknown kind");
  if (contains(regions_, record.id)) return absl::OkStatus();
  if (region.parent == record.id) return invalid(absl::StrCat("region ", record.id, " that is its own parent"));
  insert(regions_, record.id);
  shown_of_region_.set(record.id, shown_of_stack_.of(region.stack));
  shown_ += shown_of_region_.of(record.id);
  return kept(sink.define(key, store::RegionInfo{.id = record.id,
                                                 .stack = known(stacks_, region.stack),
                                                 .parent = known(regions_, region.parent),
                                                 .nesting = region.nesting,
                                                 .device = region.device,
                                                 .dtype = region.dtype,
                                                 .enabled = region.enabled != 0,
                                                 .cache_enabled = region.cache_enabled != 0,
                                                 .kind = region.kind,
                                                 .flags = region.flags}));
}

template <>
absl::Status Definitions::take<lanes::SiteDefinition>(const std::string& key, const Record& record,
                                                      store::RunSink& sink) {
  lanes::SiteDefinition site{};
  if (absl::Status status = read(record.payload, "site", &site); !status.ok()) return status;
  if (!lanes::is_listed(site.role) || !lanes::is_listed(site.cause) || !lanes::is_listed(site.why) ||
      !lanes::is_listed(site.phase))
    return invalid(absl::StrCat("site ", record.id, " with a role, cause, phase or reason that is on no list"));
  const std::uint32_t forward_site = known(DefinitionKind::kSite, site.forward_site);  // defined before this one
  bool fresh = false;
  if (absl::Status status = number(DefinitionKind::kSite, record.id, &fresh); !status.ok() || !fresh) return status;
  written_ += operator_name(site.op).size();
  shown_of_number_.set(record.id, shown_of(site.stack, site.module, site.region) +
                                      shown_of_call_site_.of(site.call_site) + operator_name(site.op).size());
  shown_ += shown_of_number_.of(record.id) + shown_of_number_.of(forward_site);
  return kept(sink.define(key, store::SiteInfo{.id = record.id,
                                               .stack = known(stacks_, site.stack),
                                               .module = known(modules_, site.module),
                                               .call_site = known(call_sites_, site.call_site),
                                               .region = known(regions_, site.region),
                                               .forward_site = forward_site,
                                               .op = operator_name(site.op),
                                               .role = site.role,
                                               .cause = site.cause,
                                               .why = site.why,
                                               .phase = site.phase,
                                               .from = site.from,
                                               .to = site.to,
                                               .device = site.device,
                                               .flags = site.flags}));
}

template <>
absl::Status Definitions::take<lanes::AttributeDefinition>(const std::string& key, const Record& record,
                                                           store::RunSink& sink) {
  lanes::AttributeDefinition attribute{};
  if (absl::Status status = read(record.payload, "attribute", &attribute); !status.ok()) return status;
  const std::string& value = text(attribute.value);
  const auto [it, fresh] = attributes_.emplace(present_name(text(attribute.key), value), value);
  if (!fresh) return absl::OkStatus();
  bytes_ += it->first.size() + it->second.size();
  return kept(sink.define(key, store::AttributeInfo{.name = it->first, .value = it->second}));
}

}  // namespace castscope::ingest
