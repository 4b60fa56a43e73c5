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
  RULE(thread_wrong_dtype)
