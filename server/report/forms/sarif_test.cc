// Findings as SARIF. tests/integration/test_reports.py holds logs of recorded runs against its schema.
#include "server/report/forms/sarif.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/report/compare/since_baseline.h"
#include "server/report/forms/formats_test.h"
#include "server/report/forms/sarif_places.h"
#include "server/report/forms/sarif_results.h"
#include "server/rules/rules.h"

namespace castscope::report {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

nlohmann::json sarif(const Model& model, const SarifOptions& options = {}) {
  return nlohmann::json::parse(sarif_text(model, options))["runs"][0];
}

TEST(SarifTest, SeveritiesBecomeLevels) {
  const store::RunData run = run_in("/job");
  const auto results =
      sarif(model(run, {finding("error", "/job/a.py", 1), finding("warning", "/job/a.py", 1),
                        finding("performance", "/job/a.py", 1), finding("info", "/job/a.py", 1)}))["results"];
  std::string levels;
  for (const auto& result : results) levels += result["level"].get<std::string>() + " ";
  EXPECT_EQ(levels, "error warning warning note ");
  EXPECT_EQ(results[2]["properties"]["tags"], nlohmann::json::array({"performance"}));
  EXPECT_FALSE(results[1]["properties"].contains("tags"));
}

TEST(SarifTest, MoreThanCodeScanningTakesIsLeftOutAndTold) {
  const store::RunData run = run_in("/job");
  const auto log = sarif(model(run, std::vector(kMostSarifResults + 2, finding("error", "/job/a.py", 1))));
  EXPECT_EQ(log["results"].size(), kMostSarifResults);
  EXPECT_THAT(log["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"].get<std::string>(),
              StartsWith("2 findings are left out"));
}

TEST(SarifTest, AFindingWithoutALineStandsAtTheScript) {
  const store::RunData run = run_in("/job");
  const auto result = sarif(model(run, {finding("error", "", 0)}))["results"][0];
  EXPECT_EQ(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "train.py");
  EXPECT_EQ(result["locations"][0]["physicalLocation"]["region"]["startLine"], 1);
  EXPECT_THAT(result["message"]["text"].get<std::string>(), HasSubstr("The line is not known"));
}

TEST(SarifTest, OfAModuleItsFileStandsInWhenItWasSeenAndNeverTheInterpreter) {
  store::RunData run = run_in("/job");
  run.start.command = {"/usr/bin/python3", "-m", "pkg.train", "--config", "settings.py"};
  const auto unknown = sarif(model(run, {finding("error", "", 0)}))["results"][0];
  EXPECT_FALSE(unknown.contains("locations"));
  EXPECT_THAT(unknown["message"]["text"].get<std::string>(), HasSubstr("The line is not known"));
  run.stacks.push_back({.frames = {{"/job/net.py", "f", 3}, {"/job/pkg/train.py", "<module>", 9}}, .truncated = false});
  const auto known = sarif(model(run, {finding("error", "", 0)}))["results"][0];
  EXPECT_EQ(known["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "pkg/train.py");
  // A launcher is not a file of the checkout; the script that it was given is.
  run.start.command = {"python", "-m", "torch.distributed.run", "net.py"};
  run.stacks.front().frames.push_back({"/job/.venv/site-packages/torch/distributed/run.py", "main", 1});
  const auto launched = sarif(model(run, {finding("error", "", 0)}))["results"][0];
  EXPECT_EQ(launched["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "net.py");
}

TEST(SarifTest, CodeWithoutAFileStandsAtTheScriptOrNowhere) {
  store::RunData run = run_in("/job");
  for (const char* file : {"<string>", "<stdin>", ""}) {
    rules::Finding one = finding("error", "/job/a.py", 3);
    one.location->file = file;
    one.related = {{"<string>", "f", 2}, {"/job/b.py", "g", 4}};
    run.start.command = {"python", "train.py"};
    const auto at_script = sarif(model(run, {one}))["results"][0];
    EXPECT_EQ(at_script["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "train.py");
    const std::string told = *file == '\0' ? "The line is not known" : std::string(file) + ":3, which is not a file";
    EXPECT_THAT(at_script["message"]["text"].get<std::string>(), HasSubstr(told));
    ASSERT_EQ(at_script["relatedLocations"].size(), 1u);
    EXPECT_EQ(at_script["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"], "b.py");
    run.start.command = {"python", "-c", "import a", "b.py"};
    EXPECT_FALSE(sarif(model(run, {one}))["results"][0].contains("locations"));
  }
}

TEST(SarifTest, AJobThatFailedIsANoteAndNoFailureOfTheAnalysis) {
  store::RunData run = run_in("/job");
  run.end->exit_status = 1;
  const auto invocation = sarif(model(run, {}))["invocations"][0];
  EXPECT_EQ(invocation["executionSuccessful"], true);
  EXPECT_EQ(invocation["exitCode"], 1);
  EXPECT_EQ(invocation["toolExecutionNotifications"][0]["message"]["text"], "the job ended with exit status 1");
}

TEST(SarifTest, PathsBecomeUris) {
  const std::string run = "/job";
  EXPECT_EQ(uri_of(run, "/job/a b/ä.py"), (std::pair<std::string, bool>("a%20b/%C3%A4.py", true)));
  EXPECT_EQ(uri_of(run, "/jobs/a.py"), (std::pair<std::string, bool>("file:///jobs/a.py", false)));
  EXPECT_EQ(uri_of(run, "<string>"), (std::pair<std::string, bool>("%3Cstring%3E", true)));
  EXPECT_EQ(uri_of(run, "/job/caf\\udce9.py"), (std::pair<std::string, bool>("caf%E9.py", true)));
  EXPECT_EQ(uri_of(run, "/job/sub/../lib/./mod.py"), (std::pair<std::string, bool>("lib/mod.py", true)));
  EXPECT_EQ(uri_of(run, "/job/../lib/mod.py"), (std::pair<std::string, bool>("file:///lib/mod.py", false)));
}

TEST(SarifTest, UrisBeginAtTheCheckout) {
  store::RunData run = run_in("/src/repo/jobs");
  run.start.checkout = "/src/repo";
  EXPECT_EQ(uri_of(run.start.project(), "/src/repo/src/a.py"), (std::pair<std::string, bool>("src/a.py", true)));
  const auto log = sarif(model(run, {finding("error", "", 0)}));
  EXPECT_EQ(log["originalUriBaseIds"]["%SRCROOT%"]["uri"], "file:///src/repo/");
  EXPECT_EQ(log["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "jobs/train.py");
}

TEST(SarifTest, RelatedPlacesHaveNumbers) {
  const store::RunData run = run_in("/job");
  rules::Finding one = finding("error", "/job/a.py", 1);
  one.related = {{"/job/b.py", "f", 2}, {"/job/c.py", "f", 3}};
  const auto related = sarif(model(run, {one}))["results"][0]["relatedLocations"];
  EXPECT_EQ(related[0]["id"], 1);
  EXPECT_EQ(related[1]["id"], 2);
  EXPECT_EQ(related[1]["physicalLocation"]["region"]["startLine"], 3);
}

TEST(SarifTest, WhatIsSilencedIsAResultThatIsSuppressed) {
  store::RunData run = run_in("/job");
  run.source.add({.file = "/job/a.py",
                  .state = store::SourceState::kKept,
                  .lines = {{2, "y = f(x)  # castscope: ignore[cache-grows] -- it is wanted"}}});
  rules::Judgement judgement;
  judgement.findings = {finding("error", "/job/a.py", 1)};
  judgement.silenced = {finding("error", "/job/a.py", 2), finding("warning", "/job/b.py", 3)};
  const auto results = sarif(model_of(run, judgement))["results"];
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0]["suppressions"], nlohmann::json::array()) << "all results say it, or none";
  EXPECT_EQ(results[1]["suppressions"][0]["kind"], "inSource");
  EXPECT_EQ(results[1]["suppressions"][0]["justification"], "# castscope: ignore[cache-grows] -- it is wanted");
  EXPECT_EQ(results[2]["suppressions"][0]["kind"], "external");
  EXPECT_FALSE(sarif(model(run, {finding("error", "/job/a.py", 1)}))["results"][0].contains("suppressions"));
}

TEST(SarifTest, ASilencedFindingIsNotCalledAsAnotherOne) {
  const store::RunData run = run_in("/job");
  rules::Judgement judgement;
  judgement.findings = {finding("error", "/job/a.py", 1)};
  judgement.silenced = {finding("error", "/job/a.py", 1)};
  const auto results = sarif(model_of(run, judgement))["results"];
  EXPECT_NE(results[0]["partialFingerprints"], results[1]["partialFingerprints"]);
}

TEST(SarifTest, SavingsAreNumbers) {
  const store::RunData run = run_in("/job");
  rules::Finding one = finding("performance", "/job/a.py", 1);
  EXPECT_FALSE(sarif(model(run, {one}))["results"][0]["properties"].contains("savings"));
  one.savings = store::Savings{.ns_per_step = 1500.4, .share_of_step = 0.25, .held_bytes = 4096};
  EXPECT_EQ(sarif(model(run, {one}))["results"][0]["properties"]["savings"],
            (nlohmann::json{{"ns_per_step", 1500}, {"share_of_step", 0.25}, {"held_bytes", 4096}}));
}

TEST(SarifTest, WhereNothingWasObservedThereIsNoSuccess) {
  store::RunData run = run_in("/job");
  EXPECT_EQ(sarif(model(run, {}))["invocations"][0]["executionSuccessful"], true);
  run.processes = {};
  const auto invocation = sarif(model(run, {}))["invocations"][0];
  EXPECT_EQ(invocation["executionSuccessful"], false);
  EXPECT_EQ(invocation["toolExecutionNotifications"][0]["message"]["text"],
            "nothing was observed: no process was seen that used PyTorch's autocast");
}

TEST(SarifTest, RulesThatCouldNotJudgeAreNamed) {
  const store::RunData run = run_in("/job");
  rules::Judgement judgement;
  for (const rules::Rule* rule : rules::all_rules()) judgement.rules.push_back({rule, rules::Judged::kFull});
  judgement.rules[1].judged = rules::Judged::kPartly;
  judgement.rules[1].because = "2 events were dropped";
  judgement.rules[2].judged = rules::Judged::kNot;
  judgement.rules[2].deselected = true;
  const auto log = sarif(model_of(run, judgement));
  const auto invocation = log["invocations"][0];
  const auto rules = log["tool"]["driver"]["rules"];
  ASSERT_EQ(invocation["toolConfigurationNotifications"].size(), 1u);
  const auto note = invocation["toolConfigurationNotifications"][0];
  EXPECT_EQ(note["message"]["text"],
            rules[1]["id"].get<std::string>() + " judged part of the run: 2 events were dropped");
  EXPECT_EQ(note["associatedRule"], (nlohmann::json{{"id", rules[1]["id"]}, {"index", 1}}));
  ASSERT_EQ(invocation["ruleConfigurationOverrides"].size(), 1u);
  EXPECT_EQ(invocation["ruleConfigurationOverrides"][0]["descriptor"]["id"], rules[2]["id"]);
  EXPECT_EQ(invocation["ruleConfigurationOverrides"][0]["configuration"]["enabled"], false);
}

TEST(SarifTest, TheCategoryIsTheScript) {
  store::RunData run = run_in("/job");
  const auto id = [&](const SarifOptions& options = {}) {
    return sarif(model(run, {}), options)["automationDetails"]["id"];
  };
  EXPECT_EQ(id(), "castscope/train/");
  EXPECT_EQ(id({.category = "nightly"}), "nightly/");
  run.start.command = {"/bin/bash", "-c", "python train.py"};
  EXPECT_EQ(id(), "castscope/bash/");
  run.start.command.clear();
  EXPECT_EQ(id(), "castscope/");
}

TEST(SarifTest, TheCommitIsToldWhereItsRepositoryIsKnown) {
  store::RunData run = run_in("/job");
  const auto told = [&] { return sarif(model(run, {})).value("versionControlProvenance", nlohmann::json()); };
  run.start.git.commit = "0123456789abcdef0123456789abcdef01234567";
  EXPECT_TRUE(told().is_null());
  for (const auto& [origin, uri] : {std::pair("https://example.com/a/b.git", "https://example.com/a/b.git"),
                                    std::pair("git@example.com:a/b.git", "ssh://git@example.com/a/b.git"),
                                    std::pair("/srv/b.git", "file:///srv/b.git")}) {
    run.start.git.origin = origin;
    ASSERT_EQ(told().size(), 1u);
    EXPECT_EQ(told()[0]["repositoryUri"], uri);
    EXPECT_EQ(told()[0]["revisionId"], run.start.git.commit);
    EXPECT_FALSE(told()[0].contains("branch"));
  }
  run.start.git.branch = "main";
  run.start.git.dirty = true;
  EXPECT_EQ(told()[0]["branch"], "main");
  EXPECT_EQ(told()[0]["properties"]["git_dirty"], true);
  run.start.git.origin = "../beside";
  EXPECT_TRUE(told().is_null());
}

TEST(SarifTest, StatesAgainstABaseline) {
  const store::RunData run = run_in("/job"), before = run_in("/elsewhere");
  const Model now = model(run, {finding("error", "/job/a.py", 1), finding("error", "/job/new.py", 1)});
  const Model then = model(before, {finding("error", "/elsewhere/a.py", 1), finding("error", "/elsewhere/gone.py", 1)});
  const SinceBaseline since = since_baseline(now, account_of(then, "main"));
  const auto results = sarif(now, {.baseline = &since})["results"];
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0]["baselineState"], "unchanged");
  EXPECT_EQ(results[1]["baselineState"], "new");
  EXPECT_FALSE(results[1]["properties"].contains("unsure"));
  EXPECT_EQ(results[2]["baselineState"], "absent");
  EXPECT_EQ(results[2]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "gone.py");
}

TEST(SarifTest, WhatTheBaselineDidNotLookAtIsNewForAllThatIsKnown) {
  const store::RunData run = run_in("/job");
  const Model now = model(run, {finding("error", "/job/a.py", 1)});
  Account before = account_of(model(run, {}), "main");
  before.unjudged = {{"cache-grows", "not", "--deep never"}};
  const SinceBaseline since = since_baseline(now, before);
  const auto result = sarif(now, {.baseline = &since})["results"][0];
  EXPECT_EQ(result["baselineState"], "new");
  EXPECT_EQ(result["properties"]["unsure"],
            "the run of the baseline did not look at such code, or not in every step, or was not recorded in full, or "
            "its job failed");
}

}  // namespace
}  // namespace castscope::report
