#include <set>

#include "server/rules/testing/rules_test.h"

namespace castscope::rules::script_unsupported_autocast {
namespace {

using ScriptUnsupportedAutocastTest = RulesTest;

TEST_F(ScriptUnsupportedAutocastTest, EnabledIsNoConstant) {
  expect_golden("script_unsupported_autocast_enabled_not_constant", judged([](TestRun& run) {
                  run.seen(run.fact(FactKind::kScriptRefused, 7,
                                    {.text = "Autocast _enabled argument must be a constant"}, "net.py"));
                }));
}

// Each has a title of its own, with what PyTorch says, and a fix of its own.
TEST_F(ScriptUnsupportedAutocastTest, EachMisuseHasItsTitle) {
  const std::pair<const char*, const char*> misuses[] = {
      {"Autocast _enabled argument must be a constant", "`enabled`"},
      {"Autocast device argument must be a constant", "device"},
      {"`with autocast() as ...` is not supported", "as name"},
      {"Unsupported autocast syntax", "attribute"},
      {"Unsafe to autocast", "binary_cross_entropy"},
      {"false INTERNAL ASSERT FAILED at \"autocast.cpp\":118, please report a bug to PyTorch. unrecognized device for "
       "autocast pass: xpu",
       "cuda and cpu"},
      {"Calls are not expected with AMP & JIT", "beside a region"},
      {"Some other sentence about autocast.", "this use"}};
  std::set<std::string> titles, fixes;
  for (const auto& [text, word] : misuses) {
    const auto found =
        judged([&](TestRun& run) { run.seen(run.fact(FactKind::kScriptRefused, 7, {.text = text}, "net.py")); });
    ASSERT_EQ(found.size(), 1u) << text;
    EXPECT_NE(found[0].title.find(word), std::string::npos) << found[0].title;
    EXPECT_EQ(found[0].title.find("report a bug"), std::string::npos) << found[0].title;
    titles.insert(found[0].title);
    fixes.insert(found[0].fix);
  }
  EXPECT_EQ(titles.size(), std::size(misuses));
  EXPECT_EQ(fixes.size(), std::size(misuses));
}

TEST_F(ScriptUnsupportedAutocastTest, ADecorator) {
  expect_golden("script_unsupported_autocast_decorated_function", judged([](TestRun& run) {
                  run.seen(run.error(9, "TorchScript error: @autocast() decorator is not supported in script mode"));
                }));
}

TEST_F(ScriptUnsupportedAutocastTest, AnotherErrorOfAScript) {
  expect_none(judged([](TestRun& run) { run.seen(run.error(9, "TorchScript error: something else")); }));
}

TEST_F(ScriptUnsupportedAutocastTest, AnAttributeThatIsAConstantIsAdvised) {
  const auto found = judged([](TestRun& run) {
    run.seen(
        run.fact(FactKind::kScriptRefused, 7, {.text = "Autocast _enabled argument must be a constant"}, "net.py"));
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].fix.find("torch.jit.Final[bool]"), std::string::npos) << found[0].fix;
}

}  // namespace
}  // namespace castscope::rules::script_unsupported_autocast
