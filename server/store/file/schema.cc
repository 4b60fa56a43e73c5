#include "server/store/file/schema.h"

#include "agent/lanes/gauges.h"

namespace castscope::store {

#define CASTSCOPE_COLUMN_OF_GAUGE(name, ...) ", " #name " INTEGER DEFAULT 0"

const char* const kTables = R"sql(
-- What the run is: command, cwd, host, start_ns, end_ns, exit_status, signal, complete, …
CREATE TABLE run (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE notices (id INTEGER PRIMARY KEY, sentence TEXT NOT NULL);
-- What was not taken, so that the run is not complete: process = key of the process that it came from, also of one that
-- was never introduced. What follows from other tables (a process that was killed) stands there, not here.
CREATE TABLE incomplete (reason INTEGER, process TEXT, sentence TEXT NOT NULL);
-- The words for numbers: list = dtype, device, cause, role, phase, why_not_cached, region_kind, process_end,
-- fact_kind, staleness, gpu_work, matmul_compute, incomplete.
CREATE TABLE names (list TEXT, number INTEGER, name TEXT, PRIMARY KEY (list, number)) WITHOUT ROWID;

CREATE TABLE processes (
  id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, host TEXT, pid INTEGER, parent_pid INTEGER, start_ticks INTEGER,
  begin_ns INTEGER, ended INTEGER DEFAULT 0, end INTEGER DEFAULT 0, exit_status INTEGER DEFAULT -1)sql" CASTSCOPE_GAUGES(
    CASTSCOPE_COLUMN_OF_GAUGE) R"sql();
CREATE TABLE attributes (process INTEGER, name TEXT, value TEXT);
CREATE TABLE threads (process INTEGER, local INTEGER, lane INTEGER, tid INTEGER, name TEXT,
  PRIMARY KEY (process, local)) WITHOUT ROWID;
CREATE TABLE lanes (process INTEGER, lane INTEGER, tid INTEGER, written INTEGER, dropped INTEGER, received INTEGER,
  next INTEGER, PRIMARY KEY (process, lane)) WITHOUT ROWID;

-- Definitions: each content once in the run, whichever process it came from.
CREATE TABLE code (id INTEGER PRIMARY KEY, file TEXT, function TEXT);
CREATE TABLE stacks (id INTEGER PRIMARY KEY, truncated INTEGER, user_depth INTEGER);
CREATE TABLE frames (stack INTEGER, depth INTEGER, code INTEGER, line INTEGER,
  PRIMARY KEY (stack, depth)) WITHOUT ROWID;
CREATE TABLE modules (id INTEGER PRIMARY KEY, path TEXT, type TEXT, root_type TEXT, root_number INTEGER);
CREATE TABLE call_sites (id INTEGER PRIMARY KEY, operator TEXT, argument INTEGER, argument_name TEXT,
  code_address TEXT);
CREATE TABLE regions (id INTEGER PRIMARY KEY, stack INTEGER, parent INTEGER, nesting INTEGER, device INTEGER,
  dtype INTEGER, enabled INTEGER, cache_enabled INTEGER, kind INTEGER, flags INTEGER);
CREATE TABLE sites (id INTEGER PRIMARY KEY, stack INTEGER, module INTEGER, call_site INTEGER, region INTEGER,
  operator TEXT, role INTEGER, cause INTEGER, why INTEGER, phase INTEGER, from_dtype INTEGER, to_dtype INTEGER,
  device INTEGER, flags INTEGER);

-- The numbers that processes gave: packed events and resent definitions speak in them.
CREATE TABLE local_sites (process INTEGER, local INTEGER, site INTEGER, PRIMARY KEY (process, local)) WITHOUT ROWID;
CREATE TABLE local_call_sites (process INTEGER, local INTEGER, call_site INTEGER,
  PRIMARY KEY (process, local)) WITHOUT ROWID;
CREATE TABLE local_regions (process INTEGER, local INTEGER, region INTEGER,
  PRIMARY KEY (process, local)) WITHOUT ROWID;

-- Exact counts, absolute. site 0: calls whose site had no counter (lane 0: whose thread had no lane).
-- id = process << 48 | lane << 32 | number of the site in the process.
CREATE TABLE counters (id INTEGER PRIMARY KEY, process INTEGER, lane INTEGER, site INTEGER, casts INTEGER,
  hits INTEGER, passes INTEGER, traced INTEGER, bytes INTEGER, cpu_ns INTEGER, kept INTEGER);

-- From events: what happened within one stay in an outermost region. Lower bounds where events were dropped.
-- id = process << 32 | site, or region.
CREATE TABLE site_evidence (id INTEGER PRIMARY KEY, process INTEGER, site INTEGER, repeats INTEGER,
  same_source INTEGER, most_in_region INTEGER, most_kept INTEGER, most_kept_bytes INTEGER,
  hits_after_growth INTEGER, returned INTEGER, first_ns INTEGER);
CREATE TABLE region_use (id INTEGER PRIMARY KEY, process INTEGER, region INTEGER, entered INTEGER, exited INTEGER,
  most_entries INTEGER, most_bytes INTEGER, kept INTEGER, kept_bytes INTEGER, own_clears INTEGER,
  first_kept_step INTEGER, most_optimizer_steps INTEGER, cleared_midway INTEGER,
  clears_within INTEGER, old_hits INTEGER);
-- Consecutive steps that did the same are one row. behaviour 0: several kinds of steps put together.
CREATE TABLE step_runs (id INTEGER PRIMARY KEY, process INTEGER, first INTEGER, last INTEGER, behaviour INTEGER,
  incomplete INTEGER, begin_ns INTEGER, end_ns INTEGER, casts INTEGER, hits INTEGER, regions INTEGER,
  clears INTEGER, bytes INTEGER, cpu_ns INTEGER, cache_bytes INTEGER);
CREATE TABLE behaviours (id INTEGER PRIMARY KEY, fingerprint INTEGER);
CREATE TABLE behaviour_sites (behaviour INTEGER, site INTEGER, casts INTEGER, hits INTEGER,
  PRIMARY KEY (behaviour, site)) WITHOUT ROWID;

-- Packed events of the kept window; `castscope convert` prints them. kept: 1 = the first ones, 2 = the newest.
-- number: of the block in its process; where one is missing, blocks are not kept.
CREATE TABLE event_blocks (id INTEGER PRIMARY KEY, process INTEGER, lane INTEGER, number INTEGER, kept INTEGER, first_ns INTEGER,
  last_ns INTEGER, first_step INTEGER, last_step INTEGER, events INTEGER, data BLOB);

CREATE TABLE findings (id INTEGER PRIMARY KEY, rule TEXT, severity TEXT, title TEXT, file TEXT, line INTEGER,
  function TEXT, evidence TEXT, fix TEXT, related TEXT, deep_only INTEGER, savings TEXT);

-- The source text of what findings and sites name, as it was at the run's end. state: 0 kept, 1 changed since the run
-- began, 2 gone, 3 unreadable, 4 no text, 5 too large.
CREATE TABLE source_files (id INTEGER PRIMARY KEY, file TEXT NOT NULL UNIQUE, state INTEGER);
CREATE TABLE source_lines (file INTEGER, line INTEGER, text TEXT, PRIMARY KEY (file, line)) WITHOUT ROWID;
)sql";

// A site's text columns are looked up in subqueries on `names`, so that a view shows words where tables hold numbers.
const char* const kViews = R"sql(
CREATE VIEW v_run AS SELECT name, value FROM run;

CREATE VIEW v_locations AS
SELECT s.id AS stack, c.file AS file, f.line AS line, c.function AS function
FROM stacks s JOIN frames f ON f.stack = s.id AND f.depth = s.user_depth JOIN code c ON c.id = f.code;

CREATE VIEW v_stacks AS
SELECT f.stack AS stack, f.depth AS depth, c.file AS file, f.line AS line, c.function AS function
FROM frames f JOIN code c ON c.id = f.code ORDER BY f.stack, f.depth;

CREATE VIEW v_site_names AS
SELECT s.id AS site, s.stack AS stack, s.region AS region,
  l.file AS file, l.line AS line, l.function AS function,
  m.path AS module, m.type AS module_type,
  m.root_type || CASE WHEN m.root_number > 1 THEN '#' || m.root_number ELSE '' END AS model, s.operator AS operator,
  CASE WHEN c.argument_name <> '' THEN c.argument_name WHEN c.argument < 4294967295 THEN c.argument END AS argument,
  (SELECT name FROM names WHERE list = 'role' AND number = s.role) AS role,
  (SELECT name FROM names WHERE list = 'dtype' AND number = s.from_dtype) AS from_dtype,
  (SELECT name FROM names WHERE list = 'dtype' AND number = s.to_dtype) AS to_dtype,
  (SELECT name FROM names WHERE list = 'cause' AND number = s.cause) AS cause,
  (SELECT name FROM names WHERE list = 'phase' AND number = s.phase) AS phase,
  (SELECT name FROM names WHERE list = 'why_not_cached' AND number = s.why AND number > 0) AS why_not_cached,
  (SELECT name FROM names WHERE list = 'device' AND number = s.device) AS device, s.flags AS flags
FROM sites s LEFT JOIN v_locations l ON l.stack = s.stack LEFT JOIN modules m ON m.id = s.module
  LEFT JOIN call_sites c ON c.id = s.call_site;

-- Processes in the order in which reports tell of them: by rank, host and start (run/process_order.h). Two hosts may
-- have processes of the same pid; `process` tells all of a run apart.
CREATE VIEW v_process_order AS
SELECT id AS process, host, pid, rank, row_number() OVER (ORDER BY rank IS NULL, rank, host, begin_ns, id) AS place
FROM (SELECT p.*, (SELECT CAST(value AS INTEGER) FROM attributes a WHERE a.process = p.id AND a.name = 'rank' AND
  value GLOB '[0-9]*' AND NOT value GLOB '*[^0-9]*' ORDER BY rowid DESC LIMIT 1) AS rank FROM processes p);

-- Casts, costliest first. One row a site, all processes together.
CREATE VIEW v_sites AS
SELECT n.site, n.file, n.line, n.function, n.module, n.module_type, n.model, n.operator, n.argument, n.role, n.from_dtype,
  n.to_dtype, n.cause, n.phase, n.why_not_cached, n.device, n.region, n.stack,
  sum(c.casts) AS casts, sum(c.hits) AS cache_hits, sum(c.bytes) AS bytes, sum(c.cpu_ns) AS cpu_ns
FROM v_site_names n JOIN counters c ON c.site = n.site
WHERE n.flags & 3 = 0 GROUP BY n.site ORDER BY sum(c.cpu_ns) DESC, n.site;

-- The same, process by process.
CREATE VIEW v_sites_by_process AS
SELECT p.process, p.host, p.pid, p.rank, n.site, n.file, n.line, n.model, n.module, n.operator, n.argument, n.cause,
  sum(c.casts) AS casts, sum(c.hits) AS cache_hits, sum(c.bytes) AS bytes, sum(c.cpu_ns) AS cpu_ns
FROM v_site_names n JOIN counters c ON c.site = n.site JOIN v_process_order p ON p.process = c.process
WHERE n.flags & 3 = 0 GROUP BY c.process, n.site ORDER BY p.place, sum(c.cpu_ns) DESC, n.site;

CREATE VIEW v_pass_through AS
SELECT n.operator, n.argument, n.region, sum(c.passes) AS passes
FROM v_site_names n JOIN counters c ON c.site = n.site
WHERE n.flags & 1 GROUP BY n.operator, n.argument, n.region ORDER BY sum(c.passes) DESC;

-- What autocast cast, TorchScript, and the package castscope in its place: causes 1, 7 and 12 (run/causes.h), or none
-- where the site had no counter.
CREATE VIEW v_totals AS
SELECT coalesce(sum(c.casts), 0) AS casts, coalesce(sum(c.hits), 0) AS cache_hits,
  coalesce(sum(c.passes), 0) AS pass_through, coalesce(sum(c.traced), 0) AS traced,
  coalesce(sum(c.bytes), 0) AS bytes, coalesce(sum(c.cpu_ns), 0) AS cpu_ns
FROM counters c LEFT JOIN sites s ON s.id = c.site WHERE c.site = 0 OR s.cause IN (1, 7, 12);

CREATE VIEW v_by_cause AS
SELECT (SELECT name FROM names WHERE list = 'cause' AND number = s.cause) AS cause, sum(c.casts) AS casts,
  sum(c.bytes) AS bytes, sum(c.cpu_ns) AS cpu_ns
FROM counters c JOIN sites s ON s.id = c.site GROUP BY s.cause;

CREATE VIEW v_regions AS
SELECT r.id AS region, l.file, l.line, l.function,
  (SELECT name FROM names WHERE list = 'device' AND number = r.device) AS device,
  (SELECT name FROM names WHERE list = 'dtype' AND number = r.dtype) AS dtype,
  r.enabled, (r.enabled OR r.flags & 1) AS asked_enabled, (r.flags & 8 <> 0) AS default_dtype, r.cache_enabled, (SELECT name FROM names WHERE list = 'region_kind' AND number = r.kind) AS kind,
  r.nesting, nullif(r.parent, 0) AS parent,
  (SELECT sum(entered) FROM region_use u WHERE u.region = r.id) AS entered,
  (SELECT max(most_optimizer_steps) FROM region_use u WHERE u.region = r.id) AS most_optimizer_steps,
  (SELECT sum(c.casts) FROM counters c JOIN sites s ON s.id = c.site WHERE s.region = r.id AND s.cause IN (1, 7, 12)) AS casts,
  (SELECT sum(c.hits) FROM counters c JOIN sites s ON s.id = c.site WHERE s.region = r.id AND s.cause IN (1, 7, 12))
    AS cache_hits,
  (SELECT sum(c.passes) FROM counters c JOIN sites s ON s.id = c.site WHERE s.region = r.id AND s.cause IN (1, 7, 12))
    AS pass_through
FROM regions r LEFT JOIN v_locations l ON l.stack = r.stack;

CREATE VIEW v_steps AS
SELECT p.process, p.host, p.pid, p.rank, t.first AS first_step, t.last AS last_step, t.last - t.first + 1 AS steps, t.behaviour,
  t.incomplete, t.casts, t.hits AS cache_hits, t.regions, t.clears, t.bytes, t.cpu_ns, t.cache_bytes,
  round((t.end_ns - t.begin_ns) / 1e6, 3) AS milliseconds
FROM step_runs t JOIN v_process_order p ON p.process = t.process ORDER BY p.place, t.first;

-- What one step of a behaviour does, site by site.
CREATE VIEW v_behaviours AS
SELECT b.behaviour, n.site, n.file, n.line, n.model, n.module, n.operator, n.argument, n.cause, b.casts,
  b.hits AS cache_hits
FROM behaviour_sites b JOIN v_site_names n ON n.site = b.site ORDER BY b.behaviour, n.site;

CREATE VIEW v_processes AS
SELECT o.process, o.host, o.pid, p.parent_pid, o.rank,
  CASE WHEN p.ended THEN (SELECT name FROM names WHERE list = 'process_end' AND number = p.end) END AS end,
  nullif(p.exit_status, -1) AS exit_status, p.steps AS step, p.deep_steps, p.deep_operators,
  round(p.deep_ns / 1e6, 3) AS deep_milliseconds, p.gpu_steps, p.gpu_records, p.gpu_lost, p.gpu_unplaced,
  p.gpu_event_steps, p.gpu_casts_untimed, p.cache_peak_bytes, p.cache_peak_entries, p.cache_clears,
  (SELECT sum(dropped) FROM lanes l WHERE l.process = p.id) AS dropped_events
FROM v_process_order o JOIN processes p ON p.id = o.process ORDER BY o.place;

CREATE VIEW v_incomplete AS
SELECT (SELECT name FROM names WHERE list = 'incomplete' AND number = i.reason) AS reason, i.process, i.sentence
FROM incomplete i ORDER BY rowid;

CREATE VIEW v_findings AS
SELECT severity, rule, title, file, line, function, evidence, fix, related, deep_only, savings
FROM findings ORDER BY id;

CREATE VIEW v_source AS
SELECT f.file, l.line, l.text FROM source_files f JOIN source_lines l ON l.file = f.id ORDER BY f.file, l.line;
)sql";

}  // namespace castscope::store
