// What is defined in a run, and where it is said to stand.
#include "server/store/definitions.h"

#include "server/store/run_store_test.h"

namespace castscope::store {
namespace {

using DefinitionsTest = RunStoreTest;

TEST_F(DefinitionsTest, PyTorchInAFolderOfItsOwnIsNotTheUsersCode) {
  auto store = create();
  TestRun run(*store);
  ASSERT_TRUE(store->attribute(run.key(), std::string(kTorchFolder), "/opt/build/torch").ok());
  for (const char* outer : {"/opt/build/torch_models/train.py", "/opt/build/torch/nn/linear.py"}) {
    StackInfo stack{.id = 1, .frames = {}, .truncated = false};
    stack.frames = {{"/opt/build/torch/nn/linear.py", "Linear.forward", 134}, {outer, "train", 7}};
    ASSERT_TRUE(store->stack(run.key(), stack).ok());
  }
  run.end();
  ASSERT_TRUE(store->close().ok());
  const RunData data = read();
  EXPECT_EQ(data.user_location(1)->file, "/opt/build/torch_models/train.py");
  EXPECT_EQ(data.user_location(2)->line, 134);  // the innermost where none is the user's
  EXPECT_EQ(query("SELECT line FROM v_locations WHERE stack = 1"), 7);
}

// Their site had no room in the process: they are counted, and their step is known in part.
TEST_F(DefinitionsTest, EventsBeyondSitesMakeTheirStepIncomplete) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t weight = run.weight("train.py", 10, "fc");
  for (int i = 1; i <= 20; ++i) {
    run.step().cast(weight, kTensor);
    if (i > 10) run.cast(0, kTensor).hit(0, kTensor);
    run.flush();
  }
  run.end();
  ASSERT_TRUE(store->close().ok());
  const RunData data = read();
  EXPECT_EQ(data.process(1).beyond_sites.casts, 10u);
  EXPECT_EQ(data.process(1).beyond_sites.hits, 10u);
  EXPECT_EQ(query("SELECT casts FROM v_totals"), 30);
  ASSERT_GE(data.step_runs.size(), 2u);
  EXPECT_FALSE(data.step_runs.front().incomplete);
  EXPECT_TRUE(data.step_runs.back().incomplete);
  EXPECT_EQ(query("SELECT count(*) FROM behaviour_sites WHERE site = 0"), 0);
}

}  // namespace
}  // namespace castscope::store
