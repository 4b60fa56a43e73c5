#include "server/store/write/step_times.h"

#include <cstdint>
#include <vector>

namespace castscope::store {
namespace {

struct Times {
  std::int64_t process = 0, steps_ns = 0, sites_ns = 0;
};

// Of the processes all of whose casts are in their steps.
absl::Status read_times(const Database& database, std::vector<Times>& all) {
  return each(
      database,
      "SELECT s.process, s.ns, c.ns FROM "
      "(SELECT process, sum(casts) AS casts, sum(cpu_ns) AS ns FROM step_runs GROUP BY process) s JOIN "
      "(SELECT process, sum(casts) AS casts, sum(cpu_ns) AS ns FROM counters WHERE site > 0 GROUP BY process) c "
      "ON c.process = s.process WHERE s.casts = c.casts AND s.ns > 0 AND s.ns <> c.ns",
      [&](const Statement& row) {
        Times& times = all.emplace_back();
        row.read(times.process, times.steps_ns, times.sites_ns);
      });
}

}  // namespace

absl::Status settle_step_times(const Database& database) {
  std::vector<Times> all;
  if (absl::Status status = read_times(database, all); !status.ok() || all.empty()) return status;
  // Rounding leaves a few ns: the costliest steps have them.
  auto scale = Statement::prepare(database,
                                  "UPDATE step_runs SET cpu_ns = CAST(cpu_ns * (?2 * 1.0 / ?3) AS INTEGER) "
                                  "WHERE process = ?1");
  auto rest = Statement::prepare(
      database,
      "UPDATE step_runs SET cpu_ns = cpu_ns + ?2 - (SELECT sum(cpu_ns) FROM step_runs WHERE process = ?1) "
      "WHERE id = (SELECT id FROM step_runs WHERE process = ?1 ORDER BY cpu_ns DESC, id LIMIT 1)");
  if (!scale.ok()) return scale.status();
  if (!rest.ok()) return rest.status();
  for (const Times& times : all) {
    if (absl::Status status = scale->run(times.process, times.sites_ns, times.steps_ns); !status.ok()) return status;
    if (absl::Status status = rest->run(times.process, times.sites_ns); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace castscope::store
