// The route that runs SQL on a run's file, as somebody wrote it. It only reads, on a connection of its own, so that
// whoever writes the file does not wait for it.
#include "server/store/read/query.h"

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "server/web/api/routes.h"

namespace castscope::web {
namespace {

// Queries run one after the other: each may take a core and much memory, on a machine that a job may be using.
class Turns {
 public:
  // Waits a moment: a query that was cancelled ends soon after. Returns false if another one still runs.
  bool take() {
    std::unique_lock lock(mutex_);
    if (!free_.wait_for(lock, std::chrono::seconds(1), [this] { return !taken_; })) return false;
    return taken_ = true;
  }
  void give() {
    {
      const std::lock_guard lock(mutex_);
      taken_ = false;
    }
    free_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable free_;
  bool taken_ = false;
};

class Turn {
 public:
  explicit Turn(Turns& turns) : turns_(turns), mine_(turns.take()) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (mine_) turns_.give();
  }
  bool mine() const { return mine_; }

 private:
  Turns& turns_;
  const bool mine_;
};

// JSON has neither infinities nor whole numbers beyond 2^53 that every language reads: those are told as text.
struct ToJson {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(std::int64_t number) const {
    if (number > kLatestTime || number < -kLatestTime) return absl::StrCat(number);
    return number;
  }
  Json operator()(double number) const {
    if (std::isinf(number)) return number > 0 ? "Inf" : "-Inf";
    return number;
  }
  Json operator()(const std::string& text) const { return text; }
};

Json result_json(const store::QueryResult& result) {
  Json rows = Json::array();
  for (const std::vector<store::Cell>& row : result.rows) {
    Json cells = Json::array();
    for (const store::Cell& cell : row) cells.push_back(std::visit(ToJson(), cell));
    rows.push_back(std::move(cells));
  }
  return {{"result_columns", result.columns},
          {"result_rows", std::move(rows)},
          {"rows_left_out", result.left_out},
          {"cells_cut", result.cut_cells},
          {"query_stopped", result.stopped.empty() ? Json() : Json(result.stopped)}};
}

Answer query(Call& call, Turns& turns) {
  const std::string sql = call.parameters.text("sql");
  if (sql.empty()) return wrong_parameter("sql", "sql is missing: a SELECT on the tables and views of the run file");
  store::QueryLimits limits;
  limits.time =
      std::chrono::milliseconds(call.parameters.number("time_limit_ms", 1, limits.time.count(), limits.time.count()));
  if (absl::Status wrong = call.parameters.error(); !wrong.ok()) return wrong;
  if (call.run->state() == RunState::kGone)
    return absl::NotFoundError(absl::StrCat(call.run->file(), " was moved or deleted: SQL cannot be run on it"));
  const Turn turn(turns);
  if (!turn.mine())
    return absl::AbortedError(
        "another query runs here, and one runs at a time: cancel it, or try again when it is over");
  const auto result = store::query(
      call.run->file(), sql, limits, call.hung_up ? call.hung_up : [] { return false; });
  if (absl::IsInvalidArgument(result.status())) return wrong_parameter("sql", std::string(result.status().message()));
  if (!result.ok()) return result.status();
  return json_answer(result_json(*result));
}

}  // namespace

void add_query_routes(std::vector<Route>& routes) {
  routes.push_back({"runs/{run}/query", {"sql", "time_limit_ms"}, [turns = std::make_shared<Turns>()](Call& call) {
                      return query(call, *turns);
                    }});
}

}  // namespace castscope::web
