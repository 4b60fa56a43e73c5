#include "server/rules/testing/fsdp_site.h"

namespace castscope::rules::fsdp_casts_buffer {
namespace {

using FsdpCastsBufferTest = RulesTest;

TEST_F(FsdpCastsBufferTest, Positions) {
  expect_golden("fsdp_casts_buffer_positions", judged([](TestRun& run) {
                  const auto positions = fsdp_site(run, 0, kBFloat16, Role::kInput);
                  run.deep().cast(positions, 0x10).values(positions, {.most = 999, .integers = 256}).shallow();
                }));
}

TEST_F(FsdpCastsBufferTest, ABuffer) {
  expect_golden("fsdp_casts_buffer_module_buffer",
                judged([](TestRun& run) { run.cast(fsdp_site(run, 0, kBFloat16, Role::kBuffer), 0x10); }));
}

// Images, embeddings and small numbers are the inputs that the policy is meant for.
TEST_F(FsdpCastsBufferTest, OrdinaryInputs) {
  expect_none(judged([](TestRun& run) {
    const auto image = fsdp_site(run, 0, kBFloat16, Role::kInput), classes = fsdp_site(run, 0, kBFloat16, Role::kInput);
    const auto weight = fsdp_site(run, 0, kBFloat16, Role::kWeight);
    run.deep().cast(image, 0x10).values(image, {.most = 1000.5}).cast(weight, kWeight);
    run.cast(classes, 0x20).values(classes, {.most = 255, .integers = 256}).shallow();
  }));
}

}  // namespace
}  // namespace castscope::rules::fsdp_casts_buffer
