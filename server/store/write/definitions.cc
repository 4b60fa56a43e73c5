#include "server/store/write/definitions.h"

#include <algorithm>

#include "server/store/write/content.h"

namespace castscope::store {
namespace {

std::string content_of(const std::vector<CodeLocation>& frames, bool truncated) {
  std::string bytes = content(truncated);
  for (const CodeLocation& frame : frames) bytes += content(frame.file, frame.function, frame.line);
  return bytes;
}
std::string content_of(const CallSite& c) { return content(c.op, c.argument, c.argument_name, c.code_address); }
std::string content_of(const Module& m) { return content(m.path, m.type, m.root_type, m.root_number); }
std::string content_of(const Region& r) {
  return content(r.stack, r.parent, r.nesting, r.device, r.dtype, r.enabled, r.cache_enabled, r.kind, r.flags);
}
std::string content_of(const Site& s) {
  // The operator of an autocast site is its call site's, which may become known later.
  return content(s.stack, s.module, s.call_site, s.region, s.call_site ? std::string_view() : std::string_view(s.op),
                 s.role, s.cause, s.why, s.phase, s.from, s.to, s.device, s.flags);
}

// Is nothing in `known` contradicted by `more`?
bool agrees(const CallSite& known, const CallSite& more) {
  return (known.op.empty() || known.op == more.op) &&
         (known.argument == lanes::kUnknownArgument || known.argument == more.argument) &&
         (known.argument_name.empty() || known.argument_name == more.argument_name) &&
         (known.code_address.empty() || known.code_address == more.code_address);
}

std::size_t user_depth(const StackInfo& stack, const std::vector<std::string>& torch_folders) {
  for (std::size_t depth = 0; depth < stack.frames.size(); ++depth) {
    if (is_users_own(stack.frames[depth], torch_folders)) return depth;
  }
  return 0;
}

}  // namespace

absl::StatusOr<Definitions> Definitions::on(const Database& database) {
  Definitions d;
  const struct {
    Statement* statement;
    const char* sql;
  } all[] = {
      {&d.add_code_, "INSERT INTO code VALUES (?,?,?)"},
      {&d.add_stack_, "INSERT INTO stacks VALUES (?,?,?)"},
      {&d.add_frame_, "INSERT INTO frames VALUES (?,?,?,?)"},
      {&d.add_module_, "INSERT INTO modules VALUES (?,?,?,?,?)"},
      {&d.add_call_site_, "INSERT INTO call_sites VALUES (?,?,?,?,?)"},
      {&d.change_call_site_,
       "UPDATE call_sites SET operator = ?2, argument = ?3, argument_name = ?4, code_address = ?5 WHERE id = ?1"},
      {&d.change_site_operator_, "UPDATE sites SET operator = ?2 WHERE call_site = ?1"},
      {&d.add_region_, "INSERT INTO regions VALUES (?,?,?,?,?,?,?,?,?,?)"},
      {&d.add_site_, "INSERT INTO sites VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)"},
  };
  for (const auto& [statement, sql] : all) {
    auto prepared = Statement::prepare(database, sql);
    if (!prepared.ok()) return prepared.status();
    *statement = *std::move(prepared);
  }
  return d;
}

absl::Status Definitions::adopt(const Database& database, const RunData& data) {
  torch_folders_ = data.torch_folders;
  for (std::size_t i = 0; i < data.stacks.size(); ++i) {
    stack_numbers_.emplace(content_of(data.stacks[i].frames, data.stacks[i].truncated), i + 1);
  }
  for (std::size_t i = 0; i < data.modules.size(); ++i) module_numbers_.emplace(content_of(data.modules[i]), i + 1);
  call_sites_ = data.call_sites;
  for (std::size_t i = 0; i < call_sites_.size(); ++i) call_site_numbers_.emplace(content_of(call_sites_[i]), i + 1);
  regions_ = data.regions;
  for (std::size_t i = 0; i < regions_.size(); ++i) region_numbers_.emplace(content_of(regions_[i]), i + 1);
  sites_ = data.sites;
  for (std::size_t i = 0; i < sites_.size(); ++i) site_numbers_.emplace(content_of(sites_[i]), i + 1);
  auto codes = Statement::prepare(database, "SELECT id, file, function FROM code");
  if (!codes.ok()) return codes.status();
  for (;;) {
    const auto more = codes->next();
    if (!more.ok() || !*more) return more.status();
    code_numbers_.emplace(content(codes->text(1), codes->text(2)), codes->number(0));
  }
}

absl::StatusOr<std::uint32_t> Definitions::code(const CodeLocation& location) {
  const auto [it, is_new] = code_numbers_.try_emplace(content(location.file, location.function));
  if (is_new) {
    it->second = code_numbers_.size();
    CASTSCOPE_RETURN_IF_ERROR(add_code_.run(it->second, location.file, location.function));
  }
  return it->second;
}

void Definitions::torch_folder(const std::string& folder) {
  if (std::ranges::find(torch_folders_, folder) == torch_folders_.end()) torch_folders_.push_back(folder);
}

absl::StatusOr<std::uint32_t> Definitions::stack(const StackInfo& stack) {
  const auto [it, is_new] = stack_numbers_.try_emplace(content_of(stack.frames, stack.truncated));
  if (!is_new) return it->second;
  const std::uint32_t id = it->second = stack_numbers_.size();
  CASTSCOPE_RETURN_IF_ERROR(add_stack_.run(id, stack.truncated, user_depth(stack, torch_folders_)));
  for (std::size_t depth = 0; depth < stack.frames.size(); ++depth) {
    const auto of_frame = code(stack.frames[depth]);
    if (!of_frame.ok()) return of_frame.status();
    CASTSCOPE_RETURN_IF_ERROR(add_frame_.run(id, depth, *of_frame, stack.frames[depth].line));
  }
  return id;
}

absl::StatusOr<std::uint32_t> Definitions::module(const Module& module) {
  const auto [it, is_new] = module_numbers_.try_emplace(content_of(module));
  if (is_new) {
    it->second = module_numbers_.size();
    CASTSCOPE_RETURN_IF_ERROR(
        add_module_.run(it->second, module.path, module.type, module.root_type, module.root_number));
  }
  return it->second;
}

absl::StatusOr<std::uint32_t> Definitions::add_call_site(const CallSite& c, std::string key) {
  call_sites_.push_back(c);
  const std::uint32_t id = call_sites_.size();
  call_site_numbers_[std::move(key)] = id;
  CASTSCOPE_RETURN_IF_ERROR(add_call_site_.run(id, c.op, c.argument, c.argument_name, c.code_address));
  return id;
}

absl::StatusOr<std::uint32_t> Definitions::call_site(const CallSite& c) {
  std::string key = content_of(c);
  if (const auto it = call_site_numbers_.find(key); it != call_site_numbers_.end()) return it->second;
  return add_call_site(c, std::move(key));
}

absl::StatusOr<std::uint32_t> Definitions::refine(std::uint32_t id, const CallSite& more) {
  CallSite& known = call_sites_[id - 1];
  std::string key = content_of(more);
  if (agrees(more, known)) return id;  // nothing new
  if (!agrees(known, more)) return call_site(more);
  const bool names_operator = known.op != more.op;
  known = more;
  call_site_numbers_.try_emplace(std::move(key), id);  // what was known before still leads here too
  CASTSCOPE_RETURN_IF_ERROR(change_call_site_.run(id, more.op, more.argument, more.argument_name, more.code_address));
  if (names_operator) CASTSCOPE_RETURN_IF_ERROR(change_site_operator_.run(id, more.op));
  return id;
}

absl::StatusOr<std::uint32_t> Definitions::region(const Region& r) {
  const auto [it, is_new] = region_numbers_.try_emplace(content_of(r));
  if (!is_new) return it->second;
  regions_.push_back(r);
  const std::uint32_t id = regions_.back().id = it->second = regions_.size();
  CASTSCOPE_RETURN_IF_ERROR(add_region_.run(id, r.stack, r.parent, r.nesting, r.device, r.dtype, r.enabled,
                                            r.cache_enabled, r.kind, r.flags));
  return id;
}

absl::StatusOr<std::uint32_t> Definitions::site(Site s) {
  const auto [it, is_new] = site_numbers_.try_emplace(content_of(s));
  if (!is_new) return it->second;
  if (s.call_site) s.op = call_sites_[s.call_site - 1].op;
  s.id = it->second = sites_.size() + 1;
  sites_.push_back(s);
  CASTSCOPE_RETURN_IF_ERROR(add_site_.run(s.id, s.stack, s.module, s.call_site, s.region, s.op, s.role, s.cause, s.why,
                                          s.phase, s.from, s.to, s.device, s.flags));
  return s.id;
}

std::uint32_t Definitions::outermost(std::uint32_t region) const {
  while (region != 0 && regions_[region - 1].parent != 0) region = regions_[region - 1].parent;
  return region;
}

}  // namespace castscope::store
