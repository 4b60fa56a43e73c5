// Tests what a run defines, and which place it is said to have.
#include "server/store/write/definitions.h"

#include "server/store/testing/run_store_test.h"

namespace castscope::store {
namespace {

using DefinitionsTest = RunStoreTest;

TEST_F(DefinitionsTest, PyTorchInAFolderOfItsOwnIsNotTheUsersCode) {
  auto store = create();
  TestRun run(*store);
  ASSERT_TRUE(store->define(run.key(), AttributeInfo{std::string(kTorchFolder), "/opt/build/torch"}).ok());
  for (const char* outer : {"/opt/build/torch_models/train.py", "/opt/build/torch/nn/linear.py"}) {
    StackInfo stack{.id = 1, .frames = {}, .truncated = false};
    stack.frames = {{"/opt/build/torch/nn/linear.py", "Linear.forward", 134}, {outer, "train", 7}};
    ASSERT_TRUE(store->define(run.key(), stack).ok());
  }
  run.end();
  ASSERT_TRUE(store->close().ok());
  const RunData data = read();
  EXPECT_EQ(data.user_location(StackId(1))->file, "/opt/build/torch_models/train.py");
  EXPECT_EQ(data.user_location(StackId(2))->line, 134);  // the innermost where none is the user's
  EXPECT_EQ(query("SELECT line FROM v_locations WHERE stack = 1"), 7);
}

}  // namespace
}  // namespace castscope::store
