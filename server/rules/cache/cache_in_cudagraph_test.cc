#include "server/rules/testing/rules_test.h"

namespace castscope::rules::cache_in_cudagraph {
namespace {

using CacheInCudagraphTest = RulesTest;

TEST_F(CacheInCudagraphTest, MakeGraphedCallablesRefuses) {
  expect_golden("cache_in_cudagraph_make_graphed_callables", judged([](TestRun& run) {
                  run.region("train.py", 5);
                  const auto refused = run.error(8,
                                                 "make_graphed_callables does not support the autocast caching. Please "
                                                 "set `cache_enabled=False`.");
                  run.seen(refused);
                }));
}

TEST_F(CacheInCudagraphTest, AnotherErrorOfIt) {
  expect_none(judged([](TestRun& run) {
    run.region("train.py", 5);
    run.seen(run.error(8, "Warmup and capture of a module with hooks is not supported"));
  }));
}

}  // namespace
}  // namespace castscope::rules::cache_in_cudagraph
