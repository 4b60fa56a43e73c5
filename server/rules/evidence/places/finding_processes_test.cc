#include "server/rules/evidence/places/finding_processes.h"

#include "server/rules/testing/rules_test.h"
#include "server/store/write/run_store.h"

namespace castscope::rules {
namespace {

class FindingProcessesTest : public RulesTest {};

Finding at(std::int64_t line, std::vector<store::CodeLocation> related = {}) {
  Finding finding;
  finding.location = store::CodeLocation{.file = "/home/user/project/train.py", .function = "main", .line = line};
  finding.related = std::move(related);
  return finding;
}

TEST_F(FindingProcessesTest, ThoseInWhichSomethingWasCountedAtItsLine) {
  auto store = store::RunStore::create((folder_ / "two.castscope").string(), store::RunStart());
  ASSERT_TRUE(store.ok());
  TestRun first(**store, 100), second(**store, 200);
  first.enter(first.region("train.py", 5)).cast(first.weight("train.py", 6, "fc"), kWeight).exit();
  second.enter(second.region("train.py", 5)).exit().backward(second.fact(FactKind::kBackward, 9));
  first.end();
  second.end();
  const store::RunData data = *(*store)->read();
  const ProcessesByLine processes(data);
  using Processes = std::set<store::ProcessId>;
  constexpr store::ProcessId kFirst(1), kSecond(2);
  EXPECT_EQ(processes.of(at(5)), (Processes{kFirst, kSecond}));
  EXPECT_EQ(processes.of(at(6)), Processes{kFirst});
  EXPECT_EQ(processes.of(at(9)), Processes{kSecond});
  EXPECT_EQ(processes.of(at(99, {*at(9).location})), Processes{kSecond});
  EXPECT_TRUE(processes.of(at(99)).empty());
  EXPECT_TRUE(processes.of(Finding()).empty());
}

}  // namespace
}  // namespace castscope::rules
