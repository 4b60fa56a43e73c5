#include "server/store/file/schema.h"

namespace castscope::store {

const char* const kDeepTables = R"sql(
-- How lines of code, and backward nodes, called operators; each content once in the run. computed, result: 255 = none.
CREATE TABLE operator_uses (id INTEGER PRIMARY KEY, stack INTEGER, module INTEGER, region INTEGER, operator TEXT,
  node TEXT, phase INTEGER, device INTEGER, computed INTEGER, result INTEGER, flags INTEGER);
-- Its tensors and numbers as given, in the order of the schema. argument, name: position and name there. entered: the
-- dtype in which its autocast kernel handed it on; 255 = no such kernel ran.
CREATE TABLE operands (operator_use INTEGER, position INTEGER, argument INTEGER, dtype INTEGER, role INTEGER,
  flags INTEGER, entered INTEGER, name TEXT, PRIMARY KEY (operator_use, position)) WITHOUT ROWID;

-- The numbers that processes gave: packed events speak in them.
CREATE TABLE local_uses (process INTEGER, local INTEGER, operator_use INTEGER,
  PRIMARY KEY (process, local)) WITHOUT ROWID;
CREATE TABLE local_facts (process INTEGER, local INTEGER, fact INTEGER, PRIMARY KEY (process, local)) WITHOUT ROWID;

-- Exact counts, absolute: of uses in deep steps. No part of `counters`.
-- id = process << 48 | lane << 32 | number in the process.
CREATE TABLE use_counts (id INTEGER PRIMARY KEY, process INTEGER, lane INTEGER, operator_use INTEGER, times INTEGER,
  bytes INTEGER, ns INTEGER);

-- From events: samples of what a site cast, or of what a use gave back (the other number is 0), all together. beyond:
-- finite, and larger than the dtype cast to can hold. integer_tensors: all of whose samples were integers.
-- not_finite_tensors: with one that is not finite; first_not_finite: the time of the first of them, 0 = none.
-- integers_differ: tensors of integers held more than one size of number.
CREATE TABLE value_ranges (process INTEGER, site INTEGER, operator_use INTEGER, tensors INTEGER, elements INTEGER,
  not_finite INTEGER, zeros INTEGER, integers INTEGER, beyond INTEGER, integer_tensors INTEGER,
  not_finite_tensors INTEGER, most REAL, most_integer REAL, integers_differ INTEGER,
  first_not_finite INTEGER, PRIMARY KEY (process, site, operator_use)) WITHOUT ROWID;
-- From events: how the process scaled gradients. The last four are facts; but for last_update they stand in a wrong
-- place. scales: in deep steps.
CREATE TABLE scaler_use (process INTEGER PRIMARY KEY, updates INTEGER, unscales INTEGER, not_finite INTEGER, scales INTEGER,
  longest_skips INTEGER, first_scale REAL, last_scale REAL, least_scale REAL, last_update INTEGER,
  update_between_backwards INTEGER, step_past_scaler INTEGER, clip_before_unscale INTEGER);
)sql";

const char* const kDeepViews = R"sql(
CREATE VIEW v_use_names AS
SELECT u.id AS operator_use, u.stack AS stack, u.region AS region, l.file AS file, l.line AS line,
  l.function AS function, m.path AS module, m.type AS module_type,
  m.root_type || CASE WHEN m.root_number > 1 THEN '#' || m.root_number ELSE '' END AS model, u.operator AS operator,
  nullif(u.node, '') AS node, (SELECT name FROM names WHERE list = 'phase' AND number = u.phase) AS phase,
  (SELECT group_concat(word, ', ') FROM
    (SELECT CASE WHEN o.flags & 4 THEN 'number'
      ELSE coalesce((SELECT name FROM names WHERE list = 'dtype' AND number = o.dtype), 'unknown') || ' ' ||
        (SELECT name FROM names WHERE list = 'role' AND number = o.role) END AS word
     FROM operands o WHERE o.operator_use = u.id ORDER BY o.position)) AS inputs,
  (SELECT name FROM names WHERE list = 'dtype' AND number = u.computed) AS computed,
  (SELECT name FROM names WHERE list = 'dtype' AND number = u.result) AS result,
  (SELECT name FROM names WHERE list = 'device' AND number = u.device) AS device, u.flags AS flags
FROM operator_uses u LEFT JOIN v_locations l ON l.stack = u.stack LEFT JOIN modules m ON m.id = u.module;

-- Operators in deep steps, costliest first: milliseconds with all that they call. One row a use, all processes together.
CREATE VIEW v_operators AS
SELECT n.operator_use, n.file, n.line, n.function, n.model, n.module, n.module_type, n.operator, n.node, n.phase,
  n.inputs, n.computed, n.result, n.device, n.region, n.stack,
  sum(c.times) AS times, sum(c.bytes) AS bytes, round(sum(c.ns) / 1e6, 3) AS milliseconds
FROM v_use_names n JOIN use_counts c ON c.operator_use = n.operator_use
GROUP BY n.operator_use ORDER BY sum(c.ns) DESC, n.operator_use;

-- Their arguments one by one: as given, and as the autocast kernel handed them on.
CREATE VIEW v_arguments AS
SELECT n.operator_use, n.file, n.line, n.function, n.model, n.module, n.module_type, n.operator, n.node, n.phase,
  coalesce(nullif(o.name, ''), o.argument) AS argument,
  (SELECT name FROM names WHERE list = 'role' AND number = o.role) AS role,
  (SELECT name FROM names WHERE list = 'dtype' AND number = o.dtype) AS given,
  (SELECT name FROM names WHERE list = 'dtype' AND number = o.entered) AS entered, n.computed, n.result, n.region,
  (SELECT sum(times) FROM use_counts c WHERE c.operator_use = n.operator_use) AS times
FROM v_use_names n JOIN operands o ON o.operator_use = n.operator_use ORDER BY n.operator_use, o.position;

CREATE VIEW v_flows AS
SELECT f.id AS flow, a.file AS from_file, a.line AS from_line, a.operator AS from_operator, a.result AS dtype,
  b.file AS to_file, b.line AS to_line, b.operator AS to_operator, f.argument,
  (SELECT name FROM names WHERE list = 'dtype' AND number = f.cast_to) AS cast_to, sum(c.times) AS times
FROM flows f JOIN flow_counts c ON c.flow = f.id JOIN v_use_names a ON a.operator_use = f.from_use
  JOIN v_use_names b ON b.operator_use = f.to_use
GROUP BY f.id ORDER BY f.id;

CREATE VIEW v_facts AS
SELECT f.id AS fact, (SELECT name FROM names WHERE list = 'fact_kind' AND number = f.kind) AS kind, l.file, l.line,
  l.function, CASE f.kind WHEN 1 THEN (SELECT name FROM names WHERE list = 'staleness' AND number = f.detail)
    ELSE f.detail END AS detail, nullif(f.text, '') AS text, nullif(f.subject, 0) AS subject, sum(c.times) AS times
FROM facts f LEFT JOIN v_locations l ON l.stack = f.stack JOIN fact_counts c ON c.fact = f.id
GROUP BY f.id ORDER BY f.id;

-- What was sampled: of casts their source, of operators their result.
CREATE VIEW v_values AS
SELECT p.process, p.host, p.pid, p.rank, coalesce(s.file, u.file) AS file, coalesce(s.line, u.line) AS line,
  coalesce(s.operator, u.operator) AS operator, s.argument, coalesce(s.from_dtype, u.result) AS dtype, s.to_dtype,
  nullif(r.site, 0) AS site, nullif(r.operator_use, 0) AS operator_use, r.tensors, r.elements, r.not_finite, r.zeros,
  r.integers, r.beyond, r.integer_tensors, r.not_finite_tensors, r.most, r.most_integer, r.integers_differ,
  nullif(r.first_not_finite, 0) AS first_not_finite
FROM value_ranges r JOIN v_process_order p ON p.process = r.process LEFT JOIN v_site_names s ON s.site = r.site
  LEFT JOIN v_use_names u ON u.operator_use = r.operator_use
ORDER BY p.place, r.site, r.operator_use;

CREATE VIEW v_scaler AS
SELECT p.process, p.host, p.pid, p.rank, s.updates, s.unscales, s.not_finite, s.scales, s.longest_skips, nullif(s.first_scale, 0) AS first_scale,
  nullif(s.last_scale, 0) AS last_scale, nullif(s.least_scale, 0) AS least_scale,
  (SELECT l.file || ':' || l.line FROM facts f JOIN v_locations l ON l.stack = f.stack WHERE f.id = s.last_update)
    AS last_update,
  (SELECT l.file || ':' || l.line FROM facts f JOIN v_locations l ON l.stack = f.stack
    WHERE f.id = s.update_between_backwards) AS update_between_backwards,
  (SELECT l.file || ':' || l.line FROM facts f JOIN v_locations l ON l.stack = f.stack
    WHERE f.id = s.step_past_scaler) AS step_past_scaler,
  (SELECT l.file || ':' || l.line FROM facts f JOIN v_locations l ON l.stack = f.stack
    WHERE f.id = s.clip_before_unscale) AS clip_before_unscale
FROM scaler_use s JOIN v_process_order p ON p.process = s.process ORDER BY p.place;
)sql";

}  // namespace castscope::store
