// The fixture for tests of rules in a job for which castscope enforces a policy.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "server/policy/compiled.h"
#include "server/policy/load.h"
#include "server/rules/testing/rules_test.h"
#include "server/store/write/run_store.h"

namespace castscope::rules {

class EnforcedRulesTest : public RulesTest {
 protected:
  // Returns the findings about a process that does this under this policy.
  std::vector<Finding> judged_under(const std::string& name, const std::function<void(TestRun&)>& act) {
    const auto policy = policy::load(name);
    EXPECT_TRUE(policy.ok()) << policy.status().message();
    store::RunStart start;
    start.cwd = "/home/user/project";
    start.policy = policy::compiled(*policy);
    auto store = store::RunStore::create((folder_ / "enforced.castscope").string(), start, {.overwrite = true});
    EXPECT_TRUE(store.ok()) << store.status().message();
    TestRun run(**store);
    run.attribute("enforced_policy", name);
    act(run);
    run.end();
    return held(judge(*(*store)->read()));
  }
};

}  // namespace castscope::rules
