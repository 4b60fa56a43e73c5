#include "server/store/file/schema.h"

#include "agent/lanes/gauges.h"

namespace castscope::store {

#define CASTSCOPE_COLUMN_OF_GAUGE(name, ...) ", " #name " INTEGER DEFAULT 0"

const char* const kTables = R"sql(
-- What the run is: command, cwd, host, start_epoch_ns, end_epoch_ns, exit_code, signal, complete, …
CREATE TABLE run (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE notices (id INTEGER PRIMARY KEY, sentence TEXT NOT NULL);
-- What was not taken, so that the run is not complete: process_key = of the process that it came from, also of one
-- that was never introduced. What follows from other tables (a process that was killed) stands there, not here.
CREATE TABLE missing (incomplete_reason INTEGER, process_key TEXT, sentence TEXT NOT NULL);
-- How far the messages of each relay are in this file, and what its goodbye said. A collector that is started again
-- goes on there.
CREATE TABLE relays (relay TEXT PRIMARY KEY, acknowledged INTEGER, said_goodbye INTEGER, exit_code INTEGER,
  signal INTEGER, still_running INTEGER, expected_ranks INTEGER, seen_ranks INTEGER) WITHOUT ROWID;
-- The words for numbers: list = dtype, device, cause, role, phase, why_not_cached, region_kind, end_kind,
-- fact_kind, staleness, gpu_work, matmul_compute, incomplete_reason.
CREATE TABLE names (list TEXT, number INTEGER, word TEXT, PRIMARY KEY (list, number)) WITHOUT ROWID;

CREATE TABLE processes (
  id INTEGER PRIMARY KEY, process_key TEXT NOT NULL UNIQUE, host TEXT, pid INTEGER, parent_pid INTEGER,
  start_ticks INTEGER, start_epoch_ns INTEGER, ended INTEGER DEFAULT 0, end_kind INTEGER DEFAULT 0,
  exit_status INTEGER DEFAULT -1)sql" CASTSCOPE_GAUGES(CASTSCOPE_COLUMN_OF_GAUGE) R"sql();
CREATE TABLE attributes (process INTEGER, attribute TEXT, value TEXT);
CREATE TABLE threads (process INTEGER, local_id INTEGER, lane INTEGER, tid INTEGER, thread_name TEXT,
  PRIMARY KEY (process, local_id)) WITHOUT ROWID;
CREATE TABLE lanes (process INTEGER, lane INTEGER, tid INTEGER, events_published INTEGER,
  events_dropped INTEGER, events_received INTEGER, next_event INTEGER, PRIMARY KEY (process, lane)) WITHOUT ROWID;

-- Definitions: each content once in the run, whichever process it came from.
CREATE TABLE code_objects (id INTEGER PRIMARY KEY, file TEXT, function TEXT);
CREATE TABLE stacks (id INTEGER PRIMARY KEY, stack_truncated INTEGER, user_depth INTEGER);
CREATE TABLE frames (stack INTEGER, frame_depth INTEGER, code_object INTEGER, line INTEGER,
  PRIMARY KEY (stack, frame_depth)) WITHOUT ROWID;
CREATE TABLE modules (id INTEGER PRIMARY KEY, module TEXT, module_type TEXT, root_module_type TEXT,
  root_module_number INTEGER);
CREATE TABLE call_sites (id INTEGER PRIMARY KEY, operator TEXT, argument_position INTEGER, argument_name TEXT,
  code_address TEXT);
CREATE TABLE regions (id INTEGER PRIMARY KEY, stack INTEGER, parent INTEGER, nesting INTEGER,
  region_device INTEGER, region_dtype INTEGER, enabled INTEGER, cache_enabled INTEGER, region_kind INTEGER,
  region_flags INTEGER);
-- forward_site: of a cast in backward, the site of the cast whose gradient it converts, where that is known.
CREATE TABLE sites (id INTEGER PRIMARY KEY, stack INTEGER, module_id INTEGER, call_site INTEGER, region INTEGER,
  forward_site INTEGER, operator TEXT, role INTEGER, cause INTEGER, why_not_cached INTEGER, phase INTEGER, from_dtype INTEGER,
  to_dtype INTEGER, device INTEGER, site_flags INTEGER, fingerprint TEXT);

-- The numbers that processes gave: packed events and resent definitions speak in them.
CREATE TABLE local_sites (process INTEGER, local_id INTEGER, site INTEGER,
  PRIMARY KEY (process, local_id)) WITHOUT ROWID;
CREATE TABLE local_call_sites (process INTEGER, local_id INTEGER, call_site INTEGER,
  PRIMARY KEY (process, local_id)) WITHOUT ROWID;
CREATE TABLE local_regions (process INTEGER, local_id INTEGER, region INTEGER,
  PRIMARY KEY (process, local_id)) WITHOUT ROWID;

-- Exact counts, absolute. site 0: calls whose site had no counter (lane 0: whose thread had no lane).
-- id = process << 48 | lane << 32 | number of the site in the process.
CREATE TABLE counters (id INTEGER PRIMARY KEY, process INTEGER, lane INTEGER, site INTEGER, casts INTEGER,
  cache_hits INTEGER, pass_throughs INTEGER, traced INTEGER, bytes INTEGER, cpu_ns INTEGER, kept INTEGER);

-- From events: what happened within one stay in an outermost region. Lower bounds where events were dropped.
-- id = process << 32 | site, or region.
CREATE TABLE site_evidence (id INTEGER PRIMARY KEY, process INTEGER, site INTEGER, repeated_casts_of_site INTEGER,
  repeated_casts_of_tensor INTEGER, most_casts_in_stay INTEGER, most_kept_in_stay INTEGER,
  most_kept_bytes_in_stay INTEGER, cache_hits_after_growth INTEGER, returning_entries INTEGER, first_cpu_ns INTEGER,
  recast_in_pass INTEGER, recast_passes INTEGER, cast_passes INTEGER);
CREATE TABLE region_use (id INTEGER PRIMARY KEY, process INTEGER, region INTEGER, entered INTEGER, exited INTEGER,
  most_entries_in_stay INTEGER, most_bytes_in_stay INTEGER, raw_kept INTEGER, raw_kept_bytes INTEGER,
  raw_own_clears INTEGER, raw_first_kept_step INTEGER, most_optimizer_steps_in_stay INTEGER, cleared_midway INTEGER,
  cache_clears_within INTEGER, old_cache_hits INTEGER);
-- Consecutive steps that did the same are one row. behaviour 0: several kinds of steps put together. training_steps: how
-- many of them were no evaluations.
CREATE TABLE step_runs (id INTEGER PRIMARY KEY, process INTEGER, first_step INTEGER, last_step INTEGER,
  training_steps INTEGER, behaviour INTEGER,
  incomplete INTEGER, begin_in_process_ns INTEGER, end_in_process_ns INTEGER, median_step_ns INTEGER, casts INTEGER, cache_hits INTEGER,
  regions_entered INTEGER, cache_clears INTEGER, bytes INTEGER, cpu_ns INTEGER, most_cleared_bytes INTEGER);
CREATE TABLE behaviours (id INTEGER PRIMARY KEY, behaviour_hash INTEGER);
CREATE TABLE behaviour_sites (behaviour INTEGER, site INTEGER, casts INTEGER, cache_hits INTEGER,
  PRIMARY KEY (behaviour, site)) WITHOUT ROWID;

-- Packed events of the kept window; `castscope convert` prints them. kept_window: 1 = the first ones, 2 = the
-- newest. block_number: of the block in its process; where one is missing, blocks are not kept.
CREATE TABLE event_blocks (id INTEGER PRIMARY KEY, process INTEGER, lane INTEGER, block_number INTEGER,
  kept_window INTEGER, first_in_process_ns INTEGER, last_in_process_ns INTEGER, first_step INTEGER, last_step INTEGER,
  event_count INTEGER, packed_events BLOB);

CREATE TABLE findings (id INTEGER PRIMARY KEY, rule TEXT, severity TEXT, title TEXT, file TEXT, line INTEGER,
  function TEXT, evidence TEXT, fix TEXT, related TEXT, deep_only INTEGER, savings TEXT, fingerprint TEXT);

-- The source text of what findings and sites name, as it was at the run's end. source_state: 0 kept, 1 changed since
-- the run began, 2 gone, 3 unreadable, 4 no text, 5 too large.
CREATE TABLE source_files (id INTEGER PRIMARY KEY, file TEXT NOT NULL UNIQUE, source_state INTEGER);
CREATE TABLE source_lines (source_file INTEGER, line INTEGER, source_text TEXT,
  PRIMARY KEY (source_file, line)) WITHOUT ROWID;
)sql";

// A site's text columns are looked up in subqueries on `names`, so that a view shows words where tables hold numbers.
const char* const kViews = R"sql(
CREATE VIEW v_run AS SELECT key, value FROM run;

CREATE VIEW v_locations AS
SELECT s.id AS stack, c.file AS file, f.line AS line, c.function AS function
FROM stacks s JOIN frames f ON f.stack = s.id AND f.frame_depth = s.user_depth
  JOIN code_objects c ON c.id = f.code_object;

CREATE VIEW v_stacks AS
SELECT f.stack AS stack, f.frame_depth AS frame_depth, c.file AS file, f.line AS line, c.function AS function
FROM frames f JOIN code_objects c ON c.id = f.code_object ORDER BY f.stack, f.frame_depth;

CREATE VIEW v_site_names AS
SELECT s.id AS site, s.stack AS stack, s.region AS region,
  l.file AS file, l.line AS line, l.function AS function,
  m.module AS module, m.module_type AS module_type,
  m.root_module_type || CASE WHEN m.root_module_number > 1 THEN '#' || m.root_module_number ELSE '' END AS model,
  s.operator AS operator,
  CASE WHEN c.argument_name <> '' THEN c.argument_name 
    WHEN c.argument_position < 4294967295 THEN c.argument_position END AS argument,
  (SELECT word FROM names WHERE list = 'role' AND number = s.role) AS role,
  (SELECT word FROM names WHERE list = 'dtype' AND number = s.from_dtype) AS from_dtype,
  (SELECT word FROM names WHERE list = 'dtype' AND number = s.to_dtype) AS to_dtype,
  (SELECT word FROM names WHERE list = 'cause' AND number = s.cause) AS cause,
  (SELECT word FROM names WHERE list = 'phase' AND number = s.phase) AS phase,
  (SELECT word FROM names WHERE list = 'why_not_cached' AND number = s.why_not_cached AND number > 0)
    AS why_not_cached,
  (SELECT word FROM names WHERE list = 'device' AND number = s.device) AS device, s.site_flags AS site_flags,
  nullif(s.forward_site, 0) AS forward_site, s.fingerprint AS fingerprint
FROM sites s LEFT JOIN v_locations l ON l.stack = s.stack LEFT JOIN modules m ON m.id = s.module_id
  LEFT JOIN call_sites c ON c.id = s.call_site;

-- Processes in the order in which reports tell of them: by rank, host and start (run/process_order.h). Two hosts may
-- have processes of the same pid; `process` tells all of a run apart.
CREATE VIEW v_process_order AS
SELECT id AS process, host, pid, rank,
  row_number() OVER (ORDER BY rank IS NULL, rank, host, start_epoch_ns, id) AS process_place
FROM (SELECT p.*, (SELECT CAST(value AS INTEGER) FROM attributes a WHERE a.process = p.id AND a.attribute = 'rank' AND
  value GLOB '[0-9]*' AND NOT value GLOB '*[^0-9]*' ORDER BY rowid DESC LIMIT 1) AS rank FROM processes p);

-- Casts, costliest first. One row a site, all processes together.
CREATE VIEW v_sites AS
SELECT n.site, n.file, n.line, n.function, n.module, n.module_type, n.model, n.operator, n.argument, n.role, n.from_dtype,
  n.to_dtype, n.cause, n.phase, n.why_not_cached, n.device, n.region, n.forward_site, n.stack, n.fingerprint,
  sum(c.casts) AS casts, sum(c.cache_hits) AS cache_hits, sum(c.bytes) AS bytes, sum(c.cpu_ns) AS cpu_ns,
  sum(c.kept) AS kept
FROM v_site_names n JOIN counters c ON c.site = n.site
WHERE n.site_flags & 3 = 0 GROUP BY n.site ORDER BY sum(c.cpu_ns) DESC, n.site;

-- The same, process by process.
CREATE VIEW v_sites_by_process AS
SELECT p.process, p.host, p.pid, p.rank, n.site, n.file, n.line, n.model, n.module, n.operator, n.argument, n.cause,
  sum(c.casts) AS casts, sum(c.cache_hits) AS cache_hits, sum(c.bytes) AS bytes, sum(c.cpu_ns) AS cpu_ns
FROM v_site_names n JOIN counters c ON c.site = n.site JOIN v_process_order p ON p.process = c.process
WHERE n.site_flags & 3 = 0 GROUP BY c.process, n.site ORDER BY p.process_place, sum(c.cpu_ns) DESC, n.site;

CREATE VIEW v_pass_through_places AS
SELECT n.operator, n.argument, n.region, sum(c.pass_throughs) AS pass_throughs
FROM v_site_names n JOIN counters c ON c.site = n.site
WHERE n.site_flags & 1 GROUP BY n.operator, n.argument, n.region ORDER BY sum(c.pass_throughs) DESC;

-- What autocast cast, TorchScript, and the package castscope in its place: causes 1, 7 and 12 (run/causes.h), or none
-- where the site had no counter.
CREATE VIEW v_totals AS
SELECT coalesce(sum(c.casts), 0) AS casts, coalesce(sum(c.cache_hits), 0) AS cache_hits,
  coalesce(sum(c.pass_throughs), 0) AS pass_throughs, coalesce(sum(c.traced), 0) AS traced,
  coalesce(sum(c.bytes), 0) AS bytes, coalesce(sum(c.cpu_ns), 0) AS cpu_ns
FROM counters c LEFT JOIN sites s ON s.id = c.site WHERE c.site = 0 OR s.cause IN (1, 7, 12);

CREATE VIEW v_by_cause AS
SELECT (SELECT word FROM names WHERE list = 'cause' AND number = s.cause) AS cause, sum(c.casts) AS casts,
  sum(c.bytes) AS bytes, sum(c.cpu_ns) AS cpu_ns
FROM counters c JOIN sites s ON s.id = c.site GROUP BY s.cause;

CREATE VIEW v_regions AS
SELECT r.id AS region, l.file, l.line, l.function,
  (SELECT word FROM names WHERE list = 'device' AND number = r.region_device) AS region_device,
  (SELECT word FROM names WHERE list = 'dtype' AND number = r.region_dtype) AS region_dtype,
  r.enabled, (r.enabled OR r.region_flags & 1) AS asked_enabled, (r.region_flags & 8 <> 0) AS dtype_by_default,
  r.cache_enabled, (SELECT word FROM names WHERE list = 'region_kind' AND number = r.region_kind) AS region_kind,
  r.nesting, nullif(r.parent, 0) AS parent,
  (SELECT sum(entered) FROM region_use u WHERE u.region = r.id) AS entered,
  (SELECT max(most_optimizer_steps_in_stay) FROM region_use u WHERE u.region = r.id) AS most_optimizer_steps_in_stay,
  (SELECT sum(c.casts) FROM counters c JOIN sites s ON s.id = c.site WHERE s.region = r.id AND s.cause IN (1, 7, 12)) AS casts,
  (SELECT sum(c.cache_hits) FROM counters c JOIN sites s ON s.id = c.site WHERE s.region = r.id AND s.cause IN (1, 7, 12))
    AS cache_hits,
  (SELECT sum(c.pass_throughs) FROM counters c JOIN sites s ON s.id = c.site WHERE s.region = r.id AND s.cause IN (1, 7, 12))
    AS pass_throughs
FROM regions r LEFT JOIN v_locations l ON l.stack = r.stack;

-- Steps and evaluations, numbered apart: server/store/run/step_numbers.cc does the same.
CREATE VIEW v_step_numbers AS
SELECT id, CASE evaluations WHEN 0 THEN 'training' WHEN steps THEN 'evaluation' ELSE 'mixed' END AS step_kind,
  CASE evaluations WHEN steps THEN evaluations_before ELSE first_step - min(evaluations_before, first_step) END
    AS first_number
FROM (SELECT id, first_step, steps, evaluations,
    sum(evaluations) OVER (PARTITION BY process ORDER BY first_step, id) - evaluations AS evaluations_before
  FROM (SELECT id, process, first_step, last_step - first_step + 1 AS steps,
      CASE max(training_steps) OVER (PARTITION BY process) WHEN 0 THEN 0
        ELSE last_step - first_step + 1 - training_steps END AS evaluations
    FROM step_runs));

CREATE VIEW v_step_runs AS
SELECT p.process, p.host, p.pid, p.rank, n.step_kind, n.first_number, t.first_step AS first_step,
  t.last_step AS last_step,
  t.last_step - t.first_step + 1 AS steps_in_row, nullif(t.behaviour, 0) AS behaviour, t.incomplete, t.casts,
  t.cache_hits AS cache_hits,
  t.regions_entered, t.cache_clears, t.bytes, t.cpu_ns, t.most_cleared_bytes,
  t.end_in_process_ns - t.begin_in_process_ns AS duration_ns, t.median_step_ns
FROM step_runs t JOIN v_step_numbers n ON n.id = t.id JOIN v_process_order p ON p.process = t.process
ORDER BY p.process_place, t.first_step;

-- What one step of a behaviour does, site by site.
CREATE VIEW v_behaviours AS
SELECT b.behaviour, n.site, n.file, n.line, n.model, n.module, n.operator, n.argument, n.cause, b.casts,
  b.cache_hits AS cache_hits
FROM behaviour_sites b JOIN v_site_names n ON n.site = b.site ORDER BY b.behaviour, n.site;

CREATE VIEW v_processes AS
SELECT o.process, o.host, o.pid, p.parent_pid, o.rank,
  CASE WHEN p.ended THEN (SELECT word FROM names WHERE list = 'end_kind' AND number = p.end_kind) END AS end_kind,
  nullif(p.exit_status, -1) AS exit_status, p.present_step, p.deep_steps, p.deep_operators,
  p.deep_ns, p.gpu_steps, p.gpu_records, p.gpu_lost, p.gpu_unplaced,
  p.gpu_event_steps, p.gpu_casts_untimed, p.cache_peak_bytes, p.cache_peak_entries, p.cache_clears,
  (SELECT sum(events_dropped) FROM lanes l WHERE l.process = p.id) AS events_dropped
FROM v_process_order o JOIN processes p ON p.id = o.process ORDER BY o.process_place;

CREATE VIEW v_missing AS
SELECT (SELECT word FROM names WHERE list = 'incomplete_reason' AND number = m.incomplete_reason) AS incomplete_reason,
  m.process_key, m.sentence
FROM missing m ORDER BY rowid;

CREATE VIEW v_findings AS
SELECT severity, rule, title, file, line, function, evidence, fix, related, deep_only, savings, fingerprint
FROM findings ORDER BY id;

CREATE VIEW v_source_lines AS
SELECT f.file, l.line, l.source_text FROM source_files f JOIN source_lines l ON l.source_file = f.id
ORDER BY f.file, l.line;
)sql";

}  // namespace castscope::store
