// Queries to begin with: one for each view of the run file (docs/run-file.md), and what one row of it is.

export interface SqlExample {
  view: string;
  /** What a row is, in the words of docs/run-file.md. */
  row: string;
  sql: string;
}

const example = (view: string, row: string, ...lines: string[]): SqlExample => ({ view, row, sql: lines.join('\n') });

export const kSqlExamples: readonly SqlExample[] = [
  example('v_sites', 'a place where casts happen, costliest first', 'SELECT file, line, model, module, operator, argument, from_dtype, to_dtype, casts, cpu_ns', 'FROM v_sites LIMIT 20'),
  example('v_findings', 'what a rule found, where, and the fix', 'SELECT severity, rule, file, line, title, fix FROM v_findings'),
  example('v_totals', 'the totals of the run', 'SELECT * FROM v_totals'),
  example('v_by_cause', 'casts by cause', 'SELECT * FROM v_by_cause ORDER BY casts DESC'),
  example('v_step_runs', 'consecutive steps that did the same', 'SELECT step_kind, first_number, steps_in_row, behaviour, casts, cache_hits, duration_ns', 'FROM v_step_runs'),
  example('v_behaviours', 'a site in one step of a behaviour', 'SELECT * FROM v_behaviours WHERE behaviour = 1'),
  example('v_regions', 'an autocast region in the source', 'SELECT file, line, region_dtype, entered, casts, cache_hits FROM v_regions'),
  example('v_operators', 'an operator that a line called, in deep steps', 'SELECT file, line, operator, argument_dtypes, computed_in, result_dtype, calls', "FROM v_operators WHERE phase = 'forward'"),
  example('v_arguments', 'an argument of such an operator', 'SELECT file, line, operator, argument, role, given_dtype, passed_dtype, calls', 'FROM v_arguments ORDER BY calls DESC LIMIT 100'),
  example('v_flows', 'what one operator gave and another took', 'SELECT from_line, from_operator, result_dtype, to_line, to_operator, to_dtype, times', 'FROM v_flows ORDER BY times DESC LIMIT 100'),
  example('v_facts', 'something seen that is no cast', 'SELECT fact_kind, file, line, fact_text, times FROM v_facts'),
  example('v_value_ranges', 'samples of the values of a site or an operator', 'SELECT file, line, operator, sampled_dtype, to_dtype, largest, beyond_range, not_finite', 'FROM v_value_ranges ORDER BY largest DESC'),
  example('v_metrics', 'a number that the job told of its steps', 'SELECT metric_name, metric_source, value_count, first_value, last_value, not_finite_values', 'FROM v_metrics'),
  example('v_metric_values', 'its value in one step', 'SELECT metric_name, step, metric_value FROM v_metric_values', 'ORDER BY process, metric_name, step'),
  example('v_scaler_use', 'how a process scaled gradients', 'SELECT process, updates, not_finite_unscales, first_scale, last_scale FROM v_scaler_use'),
  example('v_gpu_operators', 'an operator by its time on the GPU', 'SELECT file, line, operator, gpu_ns, cast_gpu_ns FROM v_gpu_operators LIMIT 20'),
  example('v_kernels', 'what a GPU did for a cast or an operator', 'SELECT file, line, operator, launches, moved_bytes, gpu_ns', 'FROM v_kernels ORDER BY gpu_ns DESC LIMIT 100'),
  example('v_casts_by_events', 'casts timed by CUDA events', 'SELECT file, line, operator, launches, gpu_ns_at_most FROM v_casts_by_events'),
  example('v_matmuls', 'a call of cuBLAS', 'SELECT file, line, operator, m, n, k, a_dtype, matmul_compute, calls FROM v_matmuls'),
  example('v_sites_by_process', 'a site in one process', 'SELECT rank, pid, file, line, operator, casts, cpu_ns FROM v_sites_by_process LIMIT 100'),
  example('v_pass_through_places', 'where arguments went through uncast', 'SELECT * FROM v_pass_through_places'),
  example('v_processes', 'a process of the run', 'SELECT process, rank, pid, end_kind, deep_steps, cache_peak_bytes, events_dropped FROM v_processes'),
  example('v_run', 'a fact about the run', 'SELECT key, value FROM v_run'),
  example('relays', 'a sender of the run (a table)', 'SELECT * FROM relays'),
  example('v_missing', 'something that was not taken, and why', 'SELECT * FROM v_missing'),
  example('v_source_lines', 'a line of source', 'SELECT file, line, source_text FROM v_source_lines LIMIT 200'),
  example('v_stacks', 'a frame of a stack', 'SELECT * FROM v_stacks LIMIT 200'),
  example('v_locations', "the innermost frame of the user's own", 'SELECT * FROM v_locations'),
];
