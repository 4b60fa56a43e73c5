#include "server/rules/testing/rules_test.h"

namespace castscope::rules::export_drops_region {
namespace {

using ExportDropsRegionTest = RulesTest;

TEST_F(ExportDropsRegionTest, ExportedInARegion) {
  expect_golden("export_drops_region_exported_in_region", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  run.seen(run.fact(FactKind::kExportDropsRegion, 6, {.subject = region, .text = ""}), 3);
                }));
}

TEST_F(ExportDropsRegionTest, TakenApartInTheRegionToo) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    run.seen(run.fact(FactKind::kExportDropsRegion, 6, {.subject = region, .text = ""}), 3);
    run.seen(run.fact(FactKind::kExportDropsRegion, 6, {.subject = region, .detail = 1, .text = ""}), 3);
  }));
}

TEST_F(ExportDropsRegionTest, NothingWasSeen) {
  expect_none(judged([](TestRun& run) { run.seen(run.fact(FactKind::kCompiled, 9, {.text = "0/0 f (t.py:5)"})); }));
}

}  // namespace
}  // namespace castscope::rules::export_drops_region
