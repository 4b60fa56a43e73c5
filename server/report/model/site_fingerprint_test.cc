#include "server/report/model/site_fingerprint.h"

#include <gmock/gmock.h>

#include <functional>
#include <set>

#include "server/report/model/code_order.h"
#include "server/store/testing/test_run.h"

namespace castscope::report {
namespace {

using store::kBFloat16;
using store::kFloat16;
using store::kFloat32;
using ::testing::ElementsAre;

// Builds runs with casts by one line of code, and asks for their fingerprints.
class SiteFingerprintTest : public ::testing::Test {
 public:
  // Has all further sites at a line of `file` with this text.
  SiteFingerprintTest& at(const std::string& file, std::int64_t line, const std::string& text,
                          const std::string& function = "train") {
    store::Stack stack;
    stack.frames.push_back({file, function, line});
    stack_ = run_.stacks.push_back(stack);
    run_.source.add({file, store::SourceState::kKept, {{line, text}}});
    return *this;
  }
  // Adds a weight's cast to bfloat16 there, but for what `change` makes of it.
  SiteFingerprintTest& cast(const std::function<void(store::Site&)>& change = {}) {
    store::Site site;
    site.id = store::SiteId(run_.sites.size() + 1);
    site.stack = stack_;
    site.op = "aten::linear";
    site.role = lanes::Role::kWeight;
    site.cause = lanes::Cause::kAutocast;
    site.phase = lanes::Phase::kForward;
    site.from = kFloat32;
    site.to = kBFloat16;
    if (change) change(site);
    run_.sites.push_back(site);
    return *this;
  }
  std::vector<std::string> fingerprints(const std::string& folder = "/job") {
    run_.start.cwd = folder;
    std::vector<SiteTotal> totals;
    for (const store::Site& site : run_.sites) totals.push_back({.site = site.id, .counts = {}, .uses = {}});
    const auto prints = site_fingerprints(run_, totals, sites_by_code(run_, totals));
    return {prints.begin(), prints.end()};
  }

 protected:
  store::RunData run_;

 private:
  store::StackId stack_ = {};
};

// Others keep such values, so this one must never change.
TEST_F(SiteFingerprintTest, IsTheSameForEver) {
  EXPECT_THAT(at("/job/train.py", 8, "y = layer(x)").cast().fingerprints(), ElementsAre("9f22676b0d869cf0:1"));
}

TEST_F(SiteFingerprintTest, SurvivesAnEditAboveAndAnotherCheckout) {
  const auto before = at("/job/train.py", 8, "y = layer(x)").cast().fingerprints();
  run_ = {};
  EXPECT_EQ(at("/ci/build/train.py", 30, "    y  =  layer(x)").cast().fingerprints("/ci/build"), before);
}

TEST_F(SiteFingerprintTest, TellsApartWhatIsCastWhereAndWhy) {
  at("/job/train.py", 8, "y = layer(x)").cast();
  cast([](store::Site& site) { site.cause = lanes::Cause::kUserTo; });
  cast([](store::Site& site) { site.op = "aten::matmul"; });
  cast([](store::Site& site) { site.from = kFloat16; });
  cast([](store::Site& site) { site.to = kFloat16; });
  cast([](store::Site& site) { site.role = lanes::Role::kInput; });
  cast([](store::Site& site) { site.phase = lanes::Phase::kBackward; });
  cast([this](store::Site& site) {
    site.call_site =
        run_.call_sites.push_back({.op = "aten::linear", .argument = 1, .argument_name = "weight", .code_address = {}});
  });
  cast([](store::Site& site) { site.stack = {}; });
  at("/job/train.py", 9, "z = layer(y)").cast();
  at("/job/train.py", 8, "y = layer(x)", "evaluate").cast();
  at("/job/other.py", 8, "y = layer(x)").cast();
  const auto all = fingerprints();
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), 12u);
  for (const std::string& one : all) EXPECT_TRUE(one.ends_with(":1")) << one;
}

TEST_F(SiteFingerprintTest, ModulesAndRegionsDifferByTheCountAlone) {
  at("/job/train.py", 8, "y = layer(x)").cast().cast([](store::Site& site) {
    site.module = store::ModuleId(3);
    site.region = store::RegionId(2);
  });
  const auto both = fingerprints();
  EXPECT_EQ(both[1], both[0].substr(0, 16) + ":2");
}

}  // namespace
}  // namespace castscope::report
