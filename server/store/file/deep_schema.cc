#include "server/store/file/schema.h"

namespace castscope::store {

const char* const kDeepTables = R"sql(
-- How lines of code, and backward nodes, called operators; each content once in the run. computed_in,
-- result_dtype: 255 = none.
CREATE TABLE operator_uses (id INTEGER PRIMARY KEY, stack INTEGER, module_id INTEGER, region INTEGER, operator TEXT,
  node TEXT, phase INTEGER, device INTEGER, computed_in INTEGER, result_dtype INTEGER, use_flags INTEGER);
-- Its tensors and numbers as given, in the order of the schema. argument_position, argument_name: place and name there.
-- passed_dtype: in which its autocast kernel handed it on; 255 = no such kernel ran.
CREATE TABLE operands (operator_use INTEGER, operand_position INTEGER, argument_position INTEGER,
  given_dtype INTEGER, role INTEGER, operand_flags INTEGER, passed_dtype INTEGER, argument_name TEXT,
  PRIMARY KEY (operator_use, operand_position)) WITHOUT ROWID;

-- The numbers that processes gave: packed events speak in them.
CREATE TABLE local_operator_uses (process INTEGER, local_id INTEGER, operator_use INTEGER,
  PRIMARY KEY (process, local_id)) WITHOUT ROWID;
CREATE TABLE local_facts (process INTEGER, local_id INTEGER, fact INTEGER,
  PRIMARY KEY (process, local_id)) WITHOUT ROWID;

-- Exact counts, absolute: of uses in deep steps. No part of `counters`.
-- id = process << 48 | lane << 32 | number in the process.
CREATE TABLE operator_use_counts (id INTEGER PRIMARY KEY, process INTEGER, lane INTEGER, operator_use INTEGER,
  calls INTEGER, result_bytes INTEGER, operator_ns INTEGER);

-- From events: samples of what a site cast, or of what a use gave back (the other number is 0), all together.
-- beyond_range: finite, and larger than the dtype cast to can hold. integer_tensors: all of whose samples were
-- integers; of a use, integer arguments that got the dtype of a half. not_finite_tensors: with one that is not finite; first_not_finite_in_process_ns: the time of the first of
-- them, 0 = none. integers_differ: tensors of integers held more than one size of number. integers_rounded:
-- they held numbers that the half which they were brought to does not.
CREATE TABLE value_ranges (process INTEGER, site INTEGER, operator_use INTEGER, sampled_tensors INTEGER,
  sampled_elements INTEGER, not_finite INTEGER, zeros INTEGER, integers INTEGER, beyond_range INTEGER,
  integer_tensors INTEGER, not_finite_tensors INTEGER, largest REAL, largest_integer REAL, integers_differ INTEGER,
  integers_rounded INTEGER,
  first_not_finite_in_process_ns INTEGER, PRIMARY KEY (process, site, operator_use)) WITHOUT ROWID;
-- From events: how the process scaled gradients. The last four are facts; but for last_update they stand in a wrong
-- place. scaled_losses: in deep steps.
CREATE TABLE scaler_use (process INTEGER PRIMARY KEY, updates INTEGER, unscales INTEGER, not_finite_unscales INTEGER,
  scaled_losses INTEGER, most_skips_in_a_row INTEGER, first_scale REAL, last_scale REAL, least_scale REAL,
  last_update INTEGER, update_between_backwards INTEGER, step_past_scaler INTEGER, clip_before_unscale INTEGER);
-- From events: numbers that the job told of its steps (from_scaler 0: castscope.metric), and the scale of gradients (1).
-- Values that are NaN are null. id = process << 32 | number in the process. kept_every: one of so many steps, from
-- first_step on, has its value in metric_values.
CREATE TABLE metrics (id INTEGER PRIMARY KEY, process INTEGER, metric_name TEXT, from_scaler INTEGER,
  value_count INTEGER, not_finite_values INTEGER, first_step INTEGER, first_not_finite_step INTEGER, first_value REAL,
  last_value REAL, least_value REAL, most_value REAL, kept_every INTEGER);
CREATE TABLE metric_values (metric INTEGER, step INTEGER, metric_value REAL,
  PRIMARY KEY (metric, step)) WITHOUT ROWID;
)sql";

const char* const kDeepViews = R"sql(
CREATE VIEW v_operator_use_names AS
SELECT u.id AS operator_use, u.stack AS stack, u.region AS region, l.file AS file, l.line AS line,
  l.function AS function, m.module AS module, m.module_type AS module_type,
  m.root_module_type || CASE WHEN m.root_module_number > 1 THEN '#' || m.root_module_number ELSE '' END AS model,
  u.operator AS operator, nullif(u.node, '') AS node,
  (SELECT word FROM names WHERE list = 'phase' AND number = u.phase) AS phase,
  (SELECT group_concat(word, ', ') FROM
    (SELECT CASE WHEN o.operand_flags & 4 THEN 'number'
      ELSE coalesce((SELECT word FROM names WHERE list = 'dtype' AND number = o.given_dtype), 'unknown') || ' ' ||
        (SELECT word FROM names WHERE list = 'role' AND number = o.role) END AS word
     FROM operands o WHERE o.operator_use = u.id ORDER BY o.operand_position)) AS argument_dtypes,
  (SELECT word FROM names WHERE list = 'dtype' AND number = u.computed_in) AS computed_in,
  (SELECT word FROM names WHERE list = 'dtype' AND number = u.result_dtype) AS result_dtype,
  (SELECT word FROM names WHERE list = 'device' AND number = u.device) AS device, u.use_flags AS use_flags
FROM operator_uses u LEFT JOIN v_locations l ON l.stack = u.stack LEFT JOIN modules m ON m.id = u.module_id;

-- Operators in deep steps, costliest first, by their time with all that they call. One row a use, all processes
-- together.
CREATE VIEW v_operators AS
SELECT n.operator_use, n.file, n.line, n.function, n.model, n.module, n.module_type, n.operator, n.node, n.phase,
  n.argument_dtypes, n.computed_in, n.result_dtype, n.device, n.region, n.stack,
  sum(c.calls) AS calls, sum(c.result_bytes) AS result_bytes, sum(c.operator_ns) AS operator_ns
FROM v_operator_use_names n JOIN operator_use_counts c ON c.operator_use = n.operator_use
GROUP BY n.operator_use ORDER BY sum(c.operator_ns) DESC, n.operator_use;

-- Their arguments one by one: as given, and as the autocast kernel handed them on.
CREATE VIEW v_arguments AS
SELECT n.operator_use, n.file, n.line, n.function, n.model, n.module, n.module_type, n.operator, n.node, n.phase,
  coalesce(nullif(o.argument_name, ''), o.argument_position) AS argument,
  (SELECT word FROM names WHERE list = 'role' AND number = o.role) AS role,
  (SELECT word FROM names WHERE list = 'dtype' AND number = o.given_dtype) AS given_dtype,
  (SELECT word FROM names WHERE list = 'dtype' AND number = o.passed_dtype) AS passed_dtype,
  n.computed_in, n.result_dtype, n.region,
  (SELECT sum(calls) FROM operator_use_counts c WHERE c.operator_use = n.operator_use) AS calls
FROM v_operator_use_names n JOIN operands o ON o.operator_use = n.operator_use
ORDER BY n.operator_use, o.operand_position;

CREATE VIEW v_flows AS
SELECT f.id AS flow, a.file AS from_file, a.line AS from_line, a.operator AS from_operator,
  a.result_dtype AS result_dtype, b.file AS to_file, b.line AS to_line, b.operator AS to_operator, f.argument_position,
  (SELECT word FROM names WHERE list = 'dtype' AND number = f.to_dtype) AS to_dtype, sum(c.times) AS times
FROM flows f JOIN flow_counts c ON c.flow = f.id JOIN v_operator_use_names a ON a.operator_use = f.from_operator_use
  JOIN v_operator_use_names b ON b.operator_use = f.to_operator_use
GROUP BY f.id ORDER BY f.id;

CREATE VIEW v_facts AS
SELECT f.id AS fact, (SELECT word FROM names WHERE list = 'fact_kind' AND number = f.fact_kind) AS fact_kind,
  l.file, l.line, l.function,
  CASE f.fact_kind WHEN 1 THEN (SELECT word FROM names WHERE list = 'staleness' AND number = f.fact_detail)
    ELSE f.fact_detail END AS fact_detail,
  nullif(f.fact_text, '') AS fact_text, nullif(f.subject, 0) AS subject, sum(c.times) AS times
FROM facts f LEFT JOIN v_locations l ON l.stack = f.stack JOIN fact_counts c ON c.fact = f.id
GROUP BY f.id ORDER BY f.id;

-- What was sampled: of casts their source, of operators their result.
CREATE VIEW v_value_ranges AS
SELECT p.process, p.host, p.pid, p.rank, coalesce(s.file, u.file) AS file, coalesce(s.line, u.line) AS line,
  coalesce(s.operator, u.operator) AS operator, s.argument,
  coalesce(s.from_dtype, u.result_dtype) AS sampled_dtype, s.to_dtype,
  nullif(r.site, 0) AS site, nullif(r.operator_use, 0) AS operator_use, r.sampled_tensors, r.sampled_elements,
  r.not_finite, r.zeros, r.integers, r.beyond_range, r.integer_tensors, r.not_finite_tensors, r.largest,
  r.largest_integer, r.integers_differ, r.integers_rounded,
  nullif(r.first_not_finite_in_process_ns, 0) AS first_not_finite_in_process_ns
FROM value_ranges r JOIN v_process_order p ON p.process = r.process LEFT JOIN v_site_names s ON s.site = r.site
  LEFT JOIN v_operator_use_names u ON u.operator_use = r.operator_use
ORDER BY p.process_place, r.site, r.operator_use;

CREATE VIEW v_scaler_use AS
SELECT p.process, p.host, p.pid, p.rank, s.updates, s.unscales, s.not_finite_unscales, s.scaled_losses,
  s.most_skips_in_a_row, nullif(s.first_scale, 0) AS first_scale,
  nullif(s.last_scale, 0) AS last_scale, nullif(s.least_scale, 0) AS least_scale,
  (SELECT l.file || ':' || l.line FROM facts f JOIN v_locations l ON l.stack = f.stack WHERE f.id = s.last_update)
    AS last_update_at,
  (SELECT l.file || ':' || l.line FROM facts f JOIN v_locations l ON l.stack = f.stack
    WHERE f.id = s.update_between_backwards) AS update_between_backwards_at,
  (SELECT l.file || ':' || l.line FROM facts f JOIN v_locations l ON l.stack = f.stack
    WHERE f.id = s.step_past_scaler) AS step_past_scaler_at,
  (SELECT l.file || ':' || l.line FROM facts f JOIN v_locations l ON l.stack = f.stack
    WHERE f.id = s.clip_before_unscale) AS clip_before_unscale_at
FROM scaler_use s JOIN v_process_order p ON p.process = s.process ORDER BY p.process_place;

CREATE VIEW v_metrics AS
SELECT p.process, p.host, p.pid, p.rank, m.metric_name,
  CASE WHEN m.from_scaler THEN 'GradScaler' ELSE 'castscope.metric' END AS metric_source, m.value_count,
  m.not_finite_values, m.first_step,
  CASE WHEN m.not_finite_values > 0 THEN m.first_not_finite_step END AS first_not_finite_step, m.first_value,
  m.last_value, m.least_value, m.most_value, m.kept_every, m.id AS metric
FROM metrics m JOIN v_process_order p ON p.process = m.process ORDER BY p.process_place, m.id;

CREATE VIEW v_metric_values AS
SELECT m.process, m.rank, m.metric_name, m.metric_source, v.step, v.metric_value
FROM metric_values v JOIN v_metrics m ON m.metric = v.metric ORDER BY v.metric, v.step;
)sql";

}  // namespace castscope::store
