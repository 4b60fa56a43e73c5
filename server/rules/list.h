// The list of rules: one line each. RULE(cache_grows) stands for `extern const Rule cache_grows`, defined in
// cache_grows.cc.
#define CASTSCOPE_RULES(RULE)      \
  RULE(cache_grows)                \
  RULE(cache_never_cleared)        \
  RULE(weight_cast_repeatedly)     \
  RULE(region_contains_backward)   \
  RULE(region_disabled_silently)   \
  RULE(region_empty)               \
  RULE(region_leaks_through_yield) \
  RULE(region_never_closed)        \
  RULE(region_spans_steps)         \
  RULE(region_wrong_device)        \
  RULE(thread_lost_region)         \
  RULE(thread_wrong_dtype)         \
  RULE(fsdp_autocast_conflict)     \
  RULE(fsdp_casts_buffer)          \
  RULE(dtype_mismatch_error)       \
  RULE(dtype_mixed_halves)         \
  RULE(op_banned)                  \
  RULE(op_not_listed)              \
  RULE(cast_dominates_time)        \
  RULE(cast_undoes_float)          \
  RULE(dtype_double_cast)          \
  RULE(dtype_overflow)             \
  RULE(dtype_ping_pong)            \
  RULE(dtype_position_loss)        \
  RULE(dtype_silent_upcast)        \
  RULE(op_inplace_or_out_skipped)  \
  RULE(region_redundant)           \
  RULE(scaler_bypassed)            \
  RULE(scaler_collapse)            \
  RULE(scaler_double_unscale)      \
  RULE(scaler_fp16_params)         \
  RULE(scaler_missing)             \
  RULE(scaler_updated_midway)      \
  RULE(scaler_with_bf16)
