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
std::string content_of(const Stack& s) { return content_of(s.frames, s.truncated); }
std::string content_of(const CallSite& c) { return content(c.op, c.argument, c.argument_name, c.code_address); }
std::string content_of(const Module& m) { return content(m.path, m.type, m.root_type, m.root_number); }
std::string content_of(const Region& r) {
  return content(r.stack, r.parent, r.nesting, r.device, r.dtype, r.enabled, r.cache_enabled, r.kind, r.flags);
}
std::string content_of(const Site& s) {
  // The operator of an autocast site is its call site's, which may become known later.
  return content(s.stack, s.module, s.call_site, s.region, s.forward_site,
                 s.call_site ? std::string_view() : std::string_view(s.op), s.role, s.cause, s.why, s.phase, s.from,
                 s.to, s.device, s.flags);
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
      {&d.add_code_, "INSERT INTO code_objects VALUES (?,?,?)"},
      {&d.add_stack_, "INSERT INTO stacks VALUES (?,?,?)"},
      {&d.add_frame_, "INSERT INTO frames VALUES (?,?,?,?)"},
      {&d.add_module_, "INSERT INTO modules VALUES (?,?,?,?,?)"},
      {&d.add_call_site_, "INSERT INTO call_sites VALUES (?,?,?,?,?)"},
      {&d.change_call_site_,
       "UPDATE call_sites SET operator = ?2, argument_position = ?3, argument_name = ?4, code_address = ?5 WHERE id = "
       "?1"},
      {&d.change_site_operator_, "UPDATE sites SET operator = ?2 WHERE call_site = ?1"},
      {&d.add_region_, "INSERT INTO regions VALUES (?,?,?,?,?,?,?,?,?,?)"},
      {&d.add_site_, "INSERT INTO sites VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,NULL)"},
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
  const auto adopt_all = [](const auto& table, auto& ids) {
    for (const auto id : table.ids()) ids.emplace(content_of(table[id]), id);
  };
  adopt_all(data.stacks, stack_ids_);
  adopt_all(data.modules, module_ids_);
  adopt_all(call_sites_ = data.call_sites, call_site_ids_);
  adopt_all(regions_ = data.regions, region_ids_);
  adopt_all(sites_ = data.sites, site_ids_);
  auto codes = Statement::prepare(database, "SELECT id, file, function FROM code_objects");
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

absl::StatusOr<StackId> Definitions::stack(const StackInfo& stack) {
  const auto [it, is_new] = stack_ids_.try_emplace(content_of(stack.frames, stack.truncated));
  if (!is_new) return it->second;
  const StackId id = it->second = StackId(stack_ids_.size());
  CASTSCOPE_RETURN_IF_ERROR(add_stack_.run(id, stack.truncated, user_depth(stack, torch_folders_)));
  for (std::size_t depth = 0; depth < stack.frames.size(); ++depth) {
    const auto of_frame = code(stack.frames[depth]);
    if (!of_frame.ok()) return of_frame.status();
    CASTSCOPE_RETURN_IF_ERROR(add_frame_.run(id, depth, *of_frame, stack.frames[depth].line));
  }
  return id;
}

absl::StatusOr<ModuleId> Definitions::module(const Module& module) {
  const auto [it, is_new] = module_ids_.try_emplace(content_of(module));
  if (is_new) {
    it->second = ModuleId(module_ids_.size());
    CASTSCOPE_RETURN_IF_ERROR(
        add_module_.run(it->second, module.path, module.type, module.root_type, module.root_number));
  }
  return it->second;
}

absl::StatusOr<CallSiteId> Definitions::add_call_site(const CallSite& c, std::string key) {
  const CallSiteId id = call_sites_.push_back(c);
  call_site_ids_[std::move(key)] = id;
  CASTSCOPE_RETURN_IF_ERROR(add_call_site_.run(id, c.op, c.argument, c.argument_name, c.code_address));
  return id;
}

absl::StatusOr<CallSiteId> Definitions::call_site(const CallSite& c) {
  std::string key = content_of(c);
  if (const auto it = call_site_ids_.find(key); it != call_site_ids_.end()) return it->second;
  return add_call_site(c, std::move(key));
}

absl::StatusOr<CallSiteId> Definitions::refine(CallSiteId id, const CallSite& more) {
  CallSite& known = call_sites_[id];
  std::string key = content_of(more);
  if (agrees(more, known)) return id;  // nothing new
  if (!agrees(known, more)) return call_site(more);
  const bool names_operator = known.op != more.op;
  known = more;
  call_site_ids_.try_emplace(std::move(key), id);  // what was known before still leads here too
  CASTSCOPE_RETURN_IF_ERROR(change_call_site_.run(id, more.op, more.argument, more.argument_name, more.code_address));
  if (names_operator) CASTSCOPE_RETURN_IF_ERROR(change_site_operator_.run(id, more.op));
  return id;
}

absl::StatusOr<RegionId> Definitions::region(const Region& r) {
  const auto [it, is_new] = region_ids_.try_emplace(content_of(r));
  if (!is_new) return it->second;
  const RegionId id = it->second = regions_.push_back(r);
  regions_[id].id = id;
  CASTSCOPE_RETURN_IF_ERROR(add_region_.run(id, r.stack, r.parent, r.nesting, r.device, r.dtype, r.enabled,
                                            r.cache_enabled, r.kind, r.flags));
  return id;
}

absl::StatusOr<SiteId> Definitions::site(Site s) {
  const auto [it, is_new] = site_ids_.try_emplace(content_of(s));
  if (!is_new) return it->second;
  if (s.call_site) s.op = call_sites_[s.call_site].op;
  const SiteId id = it->second = sites_.push_back(s);
  sites_[id].id = s.id = id;
  CASTSCOPE_RETURN_IF_ERROR(add_site_.run(s.id, s.stack, s.module, s.call_site, s.region, s.forward_site, s.op, s.role,
                                          s.cause, s.why, s.phase, s.from, s.to, s.device, s.flags));
  return s.id;
}

RegionId Definitions::outermost(RegionId region) const {
  while (region != 0 && regions_[region].parent != 0) region = regions_[region].parent;
  return region;
}

}  // namespace castscope::store
