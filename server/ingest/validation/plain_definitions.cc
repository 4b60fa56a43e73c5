#include "server/ingest/validation/plain_definitions.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "agent/lanes/format.h"
#include "server/ingest/validation/record.h"
#include "server/store/run/names.h"
#include "server/utf8/utf8.h"

namespace castscope::ingest {
namespace {

using lanes::DefinitionKind;

void append(std::string* to, DefinitionKind kind, std::uint32_t id, std::string_view payload) {
  const lanes::DefinitionHeader header{static_cast<std::uint32_t>((sizeof header + payload.size() + 7) & ~7ull),
                                       static_cast<std::uint32_t>(payload.size()), kind, 0, id};
  const std::size_t end = to->size() + header.size;
  to->append(reinterpret_cast<const char*>(&header), sizeof header);
  to->append(payload);
  to->resize(end);
}

template <typename Record>
void append(std::string* to, std::uint32_t id, const Record& record) {
  append(to, kind_of(record), id, {reinterpret_cast<const char*>(&record), sizeof record});
}

// The number of a word in its list. "" is the first of a list that begins with what is not known.
template <typename Number>
absl::Status find(const std::string& word, const char* list, std::span<const std::string_view> words, Number* number) {
  const auto it = std::ranges::find(words, std::string_view(word));
  if (it == words.end() && !word.empty())
    return invalid(absl::StrCat("the ", list, " ", utf8::quoted(word), ", which is on no list"));
  *number = static_cast<Number>(it == words.end() ? 0 : it - words.begin());
  return absl::OkStatus();
}

// Of these lists the first word is as good as any other: it must be said.
absl::Status find_type(const std::string& word, const char* list, std::span<const std::string_view> words,
                       std::uint8_t* number) {
  if (word.empty()) return invalid(absl::StrCat("a definition without its ", list));
  return find(word, list, words, number);
}

}  // namespace

absl::Status PlainDefinitions::pack(const google::protobuf::RepeatedPtrField<v1::Definition>& definitions,
                                    std::string* records) {
  used_ = used_ || !definitions.empty();
  for (const v1::Definition& definition : definitions)
    if (absl::Status status = pack_one(definition, records); !status.ok()) return status;
  return absl::OkStatus();
}

absl::Status PlainDefinitions::pack_one(const v1::Definition& definition, std::string* records) {
  const std::uint32_t id = definition.local_id();
  switch (definition.what_case()) {
    case v1::Definition::kDefineStack:
      pack(id, definition.define_stack(), records);
      return absl::OkStatus();
    case v1::Definition::kDefineModule: {
      const v1::Module& module = definition.define_module();
      append(records, id,
             lanes::ModuleDefinition{.path = text(module.module(), records),
                                     .type = text(module.module_type(), records),
                                     .root_type = text(module.root_module_type(), records),
                                     .root_number = module.root_module_number()});
      return absl::OkStatus();
    }
    case v1::Definition::kDefineCallSite: {
      const v1::CallSite& site = definition.define_call_site();
      append(records, id,
             lanes::CallSiteDefinition{
                 .op = operator_of(site.operator_(), records),
                 .argument = site.has_argument_position() ? site.argument_position() : lanes::kUnknownArgument,
                 .argument_name = text(site.argument_name(), records),
                 .code_address = 0});
      return absl::OkStatus();
    }
    case v1::Definition::kDefineRegion:
      return pack(id, definition.define_region(), records);
    case v1::Definition::kDefineSite:
      return pack(id, definition.define_site(), records);
    case v1::Definition::kDefineThread: {
      const v1::Thread& thread = definition.define_thread();
      append(records, id,
             lanes::ThreadDefinition{
                 .lane = thread.lane(), .tid = thread.tid(), .name = text(thread.thread_name(), records)});
      return absl::OkStatus();
    }
    case v1::Definition::kDefineAttribute: {
      const v1::Attribute& attribute = definition.define_attribute();
      append(records, 0,
             lanes::AttributeDefinition{.key = text(attribute.attribute(), records),
                                        .value = text(attribute.value(), records)});
      return absl::OkStatus();
    }
    case v1::Definition::WHAT_NOT_SET:
      break;
  }
  return invalid(absl::StrCat("a plain definition of an unknown kind, number ", id));
}

void PlainDefinitions::pack(std::uint32_t id, const v1::Stack& stack, std::string* records) {
  const lanes::StackDefinition head{.count = static_cast<std::uint32_t>(stack.frames_size()),
                                    .truncated = stack.stack_truncated() ? 1u : 0u};
  std::string payload(reinterpret_cast<const char*>(&head), sizeof head);
  for (const v1::Frame& one : stack.frames()) {
    const lanes::Frame frame{.code = code(one, records), .line = one.line()};
    payload.append(reinterpret_cast<const char*>(&frame), sizeof frame);
  }
  append(records, DefinitionKind::kStack, id, payload);
}

absl::Status PlainDefinitions::pack(std::uint32_t id, const v1::Region& region, std::string* records) {
  lanes::RegionDefinition record{.stack = region.stack(),
                                 .parent = region.parent(),
                                 .nesting = region.nesting(),
                                 .device = 0,
                                 .dtype = 0,
                                 .enabled = region.enabled(),
                                 .cache_enabled = region.cache_enabled(),
                                 .kind = {},
                                 .flags = 0,
                                 .reserved = {}};
  absl::Status status = find_type(region.region_device(), "device", store::device_names(), &record.device);
  status.Update(find_type(region.region_dtype(), "dtype", store::dtype_names(), &record.dtype));
  status.Update(find(region.region_kind(), "kind of region", store::region_kind_names(), &record.kind));
  if (status.ok()) append(records, id, record);
  return status;
}

absl::Status PlainDefinitions::pack(std::uint32_t id, const v1::Site& site, std::string* records) {
  lanes::SiteDefinition record{.stack = site.stack(),
                               .module = site.module_id(),
                               .call_site = site.call_site(),
                               .op = operator_of(site.operator_(), records),
                               .region = site.region(),
                               .forward_site = site.forward_site(),
                               .role = {},
                               .cause = {},
                               .why = {},
                               .phase = {},
                               .from = 0,
                               .to = 0,
                               .device = 0,
                               .flags = site.counts_pass_throughs() ? lanes::kSitePassThrough : std::uint8_t{0}};
  absl::Status status = find(site.role(), "role", store::role_names(), &record.role);
  status.Update(find(site.cause(), "cause", store::cause_names(), &record.cause));
  status.Update(find(site.why_not_cached(), "why_not_cached", store::why_not_cached_names(), &record.why));
  status.Update(find(site.phase(), "phase", store::phase_names(), &record.phase));
  status.Update(find_type(site.from_dtype(), "dtype", store::dtype_names(), &record.from));
  status.Update(find_type(site.to_dtype(), "dtype", store::dtype_names(), &record.to));
  status.Update(find_type(site.device(), "device", store::device_names(), &record.device));
  if (status.ok()) append(records, id, record);
  return status;
}

std::uint32_t PlainDefinitions::text(const std::string& text, std::string* records) {
  if (text.empty()) return 0;
  const auto [it, fresh] = texts_.try_emplace(text, static_cast<std::uint32_t>(texts_.size() + 1));
  if (fresh) append(records, DefinitionKind::kString, it->second, text);
  return it->second;
}

std::uint32_t PlainDefinitions::code(const v1::Frame& frame, std::string* records) {
  const std::uint32_t file = text(frame.file(), records), function = text(frame.function(), records);
  const auto [it, fresh] = codes_.try_emplace({file, function}, static_cast<std::uint32_t>(codes_.size() + 1));
  if (fresh) append(records, it->second, lanes::CodeDefinition{.file = file, .function = function, .first_line = 0});
  return it->second;
}

std::uint32_t PlainDefinitions::operator_of(const std::string& name, std::string* records) {
  if (name.empty()) return 0;
  const auto [it, fresh] =
      operators_.try_emplace(text(name, records), static_cast<std::uint32_t>(operators_.size() + 1));
  if (fresh) append(records, it->second, lanes::OperatorDefinition{.name = it->first});
  return it->second;
}

}  // namespace castscope::ingest
