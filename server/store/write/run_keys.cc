#include "server/store/write/run_keys.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "server/store/file/schema.h"

namespace castscope::store {

absl::Status RunKeys::prepare(Database& database) {
  auto put = Statement::prepare(database, "INSERT OR REPLACE INTO run VALUES (?,?)");
  if (!put.ok()) return put.status();
  put_ = *std::move(put);
  auto erase = Statement::prepare(database, "DELETE FROM run WHERE key IN " CASTSCOPE_END_KEYS);
  if (!erase.ok()) return erase.status();
  erase_end_ = *std::move(erase);
  return absl::OkStatus();
}

absl::Status RunKeys::start(const RunStart& start, bool keep_all) {
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  CASTSCOPE_RETURN_IF_ERROR(set("command", nlohmann::json(start.command).dump(-1, ' ', false, kReplace)));
  CASTSCOPE_RETURN_IF_ERROR(set("cwd", start.cwd));
  for (const auto& [key, text] :
       {std::pair("run_id", &start.run_id), std::pair("checkout", &start.checkout), std::pair("owner", &start.owner),
        std::pair("git_commit", &start.git.commit), std::pair("git_branch", &start.git.branch),
        std::pair("git_origin", &start.git.origin), std::pair("compiled_policy", &start.policy),
        std::pair("deep", &start.deep), std::pair("gpu", &start.gpu),
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

void RunKeys::let_go() { put_ = Statement(), erase_end_ = Statement(); }

}  // namespace castscope::store
