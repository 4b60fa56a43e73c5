#include "server/store/write/run_keys.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "server/store/file/schema.h"

namespace castscope::store {

absl::Status RunKeys::prepare(Database& database) {
  const std::pair<Statement*, const char*> all[] = {
      {&put_, "INSERT OR REPLACE INTO run VALUES (?,?)"},
      {&erase_end_, "DELETE FROM run WHERE key IN " CASTSCOPE_END_KEYS},
      {&add_notice_, "INSERT INTO notices (sentence) SELECT ?1 WHERE ?1 NOT IN (SELECT sentence FROM notices)"},
      {&add_incomplete_, "INSERT INTO missing SELECT ?1, nullif(?2, ''), ?3 EXCEPT SELECT * FROM missing"},
  };
  return prepare_all(database, all);
}

absl::Status RunKeys::start(const RunStart& start, bool keep_all) {
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  CASTSCOPE_RETURN_IF_ERROR(set("command", nlohmann::json(start.command).dump(-1, ' ', false, kReplace)));
  CASTSCOPE_RETURN_IF_ERROR(set("cwd", start.cwd));
  for (const auto& [key, text] :
       {std::pair("run_id", &start.run_id), std::pair("checkout", &start.checkout), std::pair("owner", &start.owner),
        std::pair("sender", &start.sender), std::pair("git_commit", &start.git.commit),
        std::pair("git_branch", &start.git.branch), std::pair("git_origin", &start.git.origin),
        std::pair("compiled_policy", &start.policy), std::pair("deep", &start.deep), std::pair("gpu", &start.gpu),
        std::pair("source_withheld", &start.source_withheld)})
    if (!text->empty()) CASTSCOPE_RETURN_IF_ERROR(set(key, *text));
  if (start.collected) CASTSCOPE_RETURN_IF_ERROR(set("collected", true));
  CASTSCOPE_RETURN_IF_ERROR(set("keep", keep_all ? "all" : "window"));
  CASTSCOPE_RETURN_IF_ERROR(set("host", start.host));
  CASTSCOPE_RETURN_IF_ERROR(set("castscope_version", start.castscope_version));
  return set("start_epoch_ns", start.start_ns);
}

absl::Status RunKeys::end(const RunEnd& end) {
  CASTSCOPE_RETURN_IF_ERROR(set("end_epoch_ns", end.end_ns));
  if (end.exit_status) CASTSCOPE_RETURN_IF_ERROR(set("exit_code", *end.exit_status));
  if (end.signal) CASTSCOPE_RETURN_IF_ERROR(set("signal", *end.signal));
  if (!end.unseen.empty()) CASTSCOPE_RETURN_IF_ERROR(set("end_unseen", end.unseen));
  return set("end_seen", end.complete);
}

absl::Status RunKeys::take_end_back() { return erase_end_.run(); }

absl::Status RunKeys::notice(const std::string& sentence) {
  const auto kept = notices_.take("", sentence);
  return kept ? add_notice_.run(kept->text) : absl::OkStatus();
}

absl::Status RunKeys::incomplete(IncompleteReason reason, const std::string& process, const std::string& sentence) {
  const auto kept = missing_.take(process, sentence);
  return kept ? add_incomplete_.run(reason, kept->whose, kept->text) : absl::OkStatus();
}

void RunKeys::let_go() {
  for (Statement* statement : {&put_, &erase_end_, &add_notice_, &add_incomplete_}) *statement = Statement();
}

}  // namespace castscope::store
