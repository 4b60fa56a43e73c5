#include "server/store/file/schema.h"

namespace castscope::store {

const char* const kGpuTables = R"sql(
-- As the driver has them, mangled; "Memcpy DtoD".
CREATE TABLE kernel_names (id INTEGER PRIMARY KEY, mangled_name TEXT NOT NULL UNIQUE);
-- What a GPU did for a cast (site), within an operator (operator_use, or operator alone where it has none); each content
-- once in the run. origin: the graph that launched it. gpu_work 4: launches of a cast, timed by CUDA events.
-- kernel_flags: 1 = a CUDA graph's replay, 2 = its operator was not known any more.
CREATE TABLE kernels (id INTEGER PRIMARY KEY, site INTEGER, operator_use INTEGER, operator TEXT, kernel_name_id INTEGER,
  origin TEXT, gpu_index INTEGER, gpu_work INTEGER, kernel_flags INTEGER);

-- The numbers that processes gave: packed events speak in them.
CREATE TABLE local_kernels (process INTEGER, local_id INTEGER, kernel INTEGER,
  PRIMARY KEY (process, local_id)) WITHOUT ROWID;

-- Absolute: of kernels in steps whose kernels were timed. No part of `counters`.
-- id = process << 48 | lane << 32 | number in the process.
CREATE TABLE kernel_counts (id INTEGER PRIMARY KEY, process INTEGER, lane INTEGER, kernel INTEGER, launches INTEGER,
  moved_bytes INTEGER, gpu_ns INTEGER);
)sql";

const char* const kGpuViews = R"sql(
-- What GPUs did in timed steps, costliest first, all processes together. The line is that of the cast, or else of the
-- operator.
CREATE VIEW v_kernels AS
SELECT k.id AS kernel, coalesce(s.file, u.file) AS file, coalesce(s.line, u.line) AS line,
  coalesce(s.model, u.model) AS model, coalesce(s.module, u.module) AS module, nullif(k.operator, '') AS operator,
  nullif(k.site, 0) AS site, nullif(k.operator_use, 0) AS operator_use, n.mangled_name AS mangled_name,
  (SELECT word FROM names WHERE list = 'gpu_work' AND number = k.gpu_work) AS gpu_work, nullif(k.origin, '') AS origin,
  k.gpu_index AS gpu_index, k.kernel_flags & 1 AS replayed, (k.kernel_flags & 2) / 2 AS unplaced,
  sum(c.launches) AS launches, sum(c.moved_bytes) AS moved_bytes, sum(c.gpu_ns) AS gpu_ns
FROM kernels k JOIN kernel_counts c ON c.kernel = k.id LEFT JOIN kernel_names n ON n.id = k.kernel_name_id
  LEFT JOIN v_site_names s ON s.site = k.site LEFT JOIN v_operator_use_names u ON u.operator_use = k.operator_use
WHERE k.gpu_work <> 4 GROUP BY k.id ORDER BY sum(c.gpu_ns) DESC, k.id;

-- Operators by their time on the device: their own kernels and those of casts within them (cast_gpu_ns). One row a use;
-- one for all calls of an operator that has none; one for each pass of a compiled graph (origin), which has none for what its
-- generated code launches.
CREATE VIEW v_gpu_operators AS
SELECT nullif(k.operator_use, 0) AS operator_use, u.file AS file, u.line AS line, u.model AS model, u.module AS module,
  nullif(k.operator, '') AS operator, iif(k.operator = '', nullif(k.origin, ''), NULL) AS origin, u.node AS node,
  CASE WHEN k.operator > '' THEN u.phase WHEN k.origin LIKE '% forward' THEN 'forward'
    WHEN k.origin LIKE '% backward' THEN 'backward' END AS phase, u.computed_in AS computed_in,
  sum(c.launches) AS launches, sum(c.gpu_ns) AS gpu_ns, sum(iif(k.site > 0, c.launches, 0)) AS cast_launches,
  sum(iif(k.site > 0, c.gpu_ns, 0)) AS cast_gpu_ns
FROM kernels k JOIN kernel_counts c ON c.kernel = k.id
  LEFT JOIN v_operator_use_names u ON u.operator_use = k.operator_use
WHERE k.gpu_work <> 4
GROUP BY k.operator_use, iif(k.operator_use > 0, '', k.operator), iif(k.operator = '', k.origin, '')
ORDER BY sum(c.gpu_ns) DESC, k.operator_use, k.operator;

-- Launches of casts that CUDA events timed, in steps in which CUPTI was not to be had: at most so many ns.
CREATE VIEW v_casts_by_events AS
SELECT s.site AS site, s.file AS file, s.line AS line, s.model AS model, s.module AS module, s.operator AS operator,
  k.gpu_index AS gpu_index, sum(c.launches) AS launches, sum(c.gpu_ns) AS gpu_ns_at_most
FROM kernels k JOIN kernel_counts c ON c.kernel = k.id JOIN v_site_names s ON s.site = k.site
WHERE k.gpu_work = 4 GROUP BY k.site, k.gpu_index ORDER BY sum(c.gpu_ns) DESC, k.site;

-- Calls of cuBLAS in deep steps.
CREATE VIEW v_matmuls AS
SELECT m.id AS matmul, u.file AS file, u.line AS line, u.model AS model, u.module AS module,
  nullif(m.operator, '') AS operator, nullif(m.operator_use, 0) AS operator_use, m.library_function AS library_function,
  nullif(m.m, 0) AS m, nullif(m.n, 0) AS n, nullif(m.k, 0) AS k, m.batch_count AS batch_count, m.lda AS lda,
  m.ldb AS ldb, m.ldc AS ldc, (SELECT word FROM names WHERE list = 'dtype' AND number = m.a_dtype) AS a_dtype,
  (SELECT word FROM names WHERE list = 'dtype' AND number = m.b_dtype) AS b_dtype,
  (SELECT word FROM names WHERE list = 'dtype' AND number = m.c_dtype) AS c_dtype,
  (SELECT word FROM names WHERE list = 'matmul_compute' AND number = m.matmul_compute) AS matmul_compute,
  1 << m.a_alignment_log2 AS a_alignment, 1 << m.b_alignment_log2 AS b_alignment,
  1 << m.c_alignment_log2 AS c_alignment, m.matmul_flags & 1 AS transposed_a,
  (m.matmul_flags & 2) / 2 AS transposed_b, (m.matmul_flags & 4) / 4 AS pedantic,
  (m.matmul_flags & 8) / 8 AS reduced_reduction, (m.matmul_flags & 16) / 16 AS epilogue, sum(c.calls) AS calls
FROM matmuls m JOIN matmul_counts c ON c.matmul = m.id
  LEFT JOIN v_operator_use_names u ON u.operator_use = m.operator_use
GROUP BY m.id ORDER BY m.id;
)sql";

}  // namespace castscope::store
