#include "server/store/file/schema.h"

namespace castscope::store {

const char* const kGpuTables = R"sql(
-- As the driver has them, mangled; "Memcpy DtoD".
CREATE TABLE kernel_names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
-- What a GPU did for a cast (site), within an operator (operator_use, or operator alone where it has none); each content
-- once in the run. origin: the graph that launched it. work 4: launches of a cast, timed by CUDA events. flags: 1 = a
-- CUDA graph's replay, 2 = its operator was not known any more.
CREATE TABLE kernels (id INTEGER PRIMARY KEY, site INTEGER, operator_use INTEGER, operator TEXT, name INTEGER,
  origin TEXT, device INTEGER, work INTEGER, flags INTEGER);

-- The numbers that processes gave: packed events speak in them.
CREATE TABLE local_kernels (process INTEGER, local INTEGER, kernel INTEGER,
  PRIMARY KEY (process, local)) WITHOUT ROWID;

-- Absolute: of kernels in steps whose kernels were timed (ns: on the device). No part of `counters`. id = process << 48 | lane << 32 | number in the process.
CREATE TABLE kernel_counts (id INTEGER PRIMARY KEY, process INTEGER, lane INTEGER, kernel INTEGER, launches INTEGER,
  bytes INTEGER, ns INTEGER);
)sql";

const char* const kGpuViews = R"sql(
-- What GPUs did in timed steps, costliest first, all processes together. The line is that of the cast, or else of the
-- operator.
CREATE VIEW v_kernels AS
SELECT k.id AS kernel, coalesce(s.file, u.file) AS file, coalesce(s.line, u.line) AS line,
  coalesce(s.model, u.model) AS model, coalesce(s.module, u.module) AS module, nullif(k.operator, '') AS operator,
  nullif(k.site, 0) AS site, nullif(k.operator_use, 0) AS operator_use, n.name AS name,
  (SELECT name FROM names WHERE list = 'gpu_work' AND number = k.work) AS work, nullif(k.origin, '') AS origin,
  k.device AS device, k.flags & 1 AS replayed, (k.flags & 2) / 2 AS unplaced,
  sum(c.launches) AS launches, sum(c.bytes) AS bytes, sum(c.ns) AS ns
FROM kernels k JOIN kernel_counts c ON c.kernel = k.id LEFT JOIN kernel_names n ON n.id = k.name
  LEFT JOIN v_site_names s ON s.site = k.site LEFT JOIN v_use_names u ON u.operator_use = k.operator_use
WHERE k.work <> 4 GROUP BY k.id ORDER BY sum(c.ns) DESC, k.id;

-- Operators by their time on the device: their own kernels and those of casts within them (cast_ns). One row a use; one
-- for all calls of an operator that has none; one for each pass of a compiled graph (origin), which has none for what its
-- generated code launches.
CREATE VIEW v_gpu_operators AS
SELECT nullif(k.operator_use, 0) AS operator_use, u.file AS file, u.line AS line, u.model AS model, u.module AS module,
  nullif(k.operator, '') AS operator, iif(k.operator = '', nullif(k.origin, ''), NULL) AS origin, u.node AS node,
  CASE WHEN k.operator > '' THEN u.phase WHEN k.origin LIKE '% forward' THEN 'forward'
    WHEN k.origin LIKE '% backward' THEN 'backward' END AS phase, u.computed AS computed,
  sum(c.launches) AS launches, sum(c.ns) AS ns, sum(iif(k.site > 0, c.launches, 0)) AS cast_launches,
  sum(iif(k.site > 0, c.ns, 0)) AS cast_ns
FROM kernels k JOIN kernel_counts c ON c.kernel = k.id LEFT JOIN v_use_names u ON u.operator_use = k.operator_use
WHERE k.work <> 4
GROUP BY k.operator_use, iif(k.operator_use > 0, '', k.operator), iif(k.operator = '', k.origin, '')
ORDER BY sum(c.ns) DESC, k.operator_use, k.operator;

-- Launches of casts that CUDA events timed, in steps in which CUPTI was not to be had: at most so many ns.
CREATE VIEW v_casts_by_events AS
SELECT s.site AS site, s.file AS file, s.line AS line, s.model AS model, s.module AS module, s.operator AS operator,
  k.device AS device, sum(c.launches) AS launches, sum(c.ns) AS ns_at_most
FROM kernels k JOIN kernel_counts c ON c.kernel = k.id JOIN v_site_names s ON s.site = k.site
WHERE k.work = 4 GROUP BY k.site, k.device ORDER BY sum(c.ns) DESC, k.site;

-- Calls of cuBLAS in deep steps.
CREATE VIEW v_matmuls AS
SELECT m.id AS matmul, u.file AS file, u.line AS line, u.model AS model, u.module AS module,
  nullif(m.operator, '') AS operator, nullif(m.operator_use, 0) AS operator_use, m.function AS function,
  nullif(m.m, 0) AS m, nullif(m.n, 0) AS n, nullif(m.k, 0) AS k, m.batch AS batch, m.lda AS lda, m.ldb AS ldb,
  m.ldc AS ldc, (SELECT name FROM names WHERE list = 'dtype' AND number = m.a) AS a,
  (SELECT name FROM names WHERE list = 'dtype' AND number = m.b) AS b,
  (SELECT name FROM names WHERE list = 'dtype' AND number = m.c) AS c,
  (SELECT name FROM names WHERE list = 'matmul_compute' AND number = m.compute) AS compute,
  1 << m.align_a AS align_a, 1 << m.align_b AS align_b, 1 << m.align_c AS align_c, m.flags & 1 AS transposed_a,
  (m.flags & 2) / 2 AS transposed_b, (m.flags & 4) / 4 AS pedantic, (m.flags & 8) / 8 AS reduced_reduction,
  (m.flags & 16) / 16 AS epilogue, sum(c.times) AS times
FROM matmuls m JOIN matmul_counts c ON c.matmul = m.id LEFT JOIN v_use_names u ON u.operator_use = m.operator_use
GROUP BY m.id ORDER BY m.id;
)sql";

}  // namespace castscope::store
