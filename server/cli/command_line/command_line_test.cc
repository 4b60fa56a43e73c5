#include "server/cli/command_line/command_line.h"

#include <gmock/gmock.h>

namespace castscope::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// tool run [--gpu …] [--live[=PORT]] -- COMMAND; tool policy explain [POLICY] OPERATOR; tool view [--port PORT] RUN
class CommandLineTest : public testing::Test {
 protected:
  CommandLineTest() : line_("tool", "A tool.", "tool 1") {
    line_.footer("Begin with:  tool run -- job");
    const Command run = line_.subcommand("run", "Run a job");
    run.option("--gpu", gpu_, "What is timed").one_of({"auto", "events", "off"});
    run.option("--policy POLICY", policy_, "Check").given();
    run.option("-o,--output NAME", output_, "Where it goes");
    run.option("--enforce POLICY", enforce_, "Enforce").excludes("--policy");
    run.flag("--all-kernels", all_kernels_, "All of them").needs("--enforce");
    run.flag_with_value("--live=PORT", "0", live_, "Serve a page");
    run.takes_other_words();
    run.takes_job("-- COMMAND");
    run.on_run([this, run] {
      words_ = run.remaining();
      return 7;
    });
    const Command group = line_.subcommand("policy", "Tell what policies decide");
    const Command explain = group.subcommand("explain", "Tell why");
    explain.option("POLICY", policy_, "A policy");
    explain.option("OPERATOR", operator_, "An operator");
    explain.usage("[POLICY] OPERATOR");
    explain.on_run([] { return 8; });
    const Command view = line_.subcommand("view", "Look");
    view.option("RUN", runs_, "Run files").required();
    view.option("--port PORT", port_, "A port").range(0, 65535).shows_default();
    view.option("--ca FILE", ca_, "A certificate").existing_file().from_variable("TOOL_TEST_CA");
    view.on_run([] { return 9; });
    line_.subcommand("secret", "For the build").hidden();
  }

  std::string wrong(const std::vector<std::string>& words) { return line_.parse(words).wrong; }
  std::string help(std::vector<std::string> words) {
    words.emplace_back("--help");
    const ParsedLine parsed = line_.parse(words);
    testing::internal::CaptureStdout();
    EXPECT_EQ(parsed.run(), 0);
    return testing::internal::GetCapturedStdout();
  }

  std::string gpu_, output_, policy_, enforce_, live_, operator_, ca_;
  std::vector<std::string> runs_, words_;
  int port_ = 7;
  bool all_kernels_ = false;
  CommandLine line_;
};

TEST_F(CommandLineTest, TheJobIsWhatStandsBehindTwoDashes) {
  const ParsedLine parsed = line_.parse({"run", "--gpu", "off", "--", "python", "--gpu", "--", "x"});
  ASSERT_EQ(parsed.wrong, "");
  EXPECT_EQ(parsed.run(), 7);
  EXPECT_EQ(gpu_, "off");
  EXPECT_THAT(line_.job, ElementsAre("python", "--gpu", "--", "x"));
  EXPECT_THAT(words_, ElementsAre());
}

TEST_F(CommandLineTest, WithoutTwoDashesTheJobIsWhatRemains) {
  const ParsedLine parsed = line_.parse({"run", "python", "--gpu"});
  ASSERT_EQ(parsed.wrong, "");
  parsed.run();
  EXPECT_THAT(words_, ElementsAre("python", "--gpu"));
}

TEST_F(CommandLineTest, NoJobBeginsWithAnOption) {
  EXPECT_EQ(wrong({"run", "--polcy", "x", "job"}),
            "there is no option --polcy; did you mean \"--policy\"? `tool run --help` tells more");
}

TEST_F(CommandLineTest, WhereNoJobIsTakenNoOptionStandsBehindTwoDashes) {
  ASSERT_EQ(wrong({"view", "--", "--port"}), "");
  EXPECT_THAT(runs_, ElementsAre("--port"));
}

TEST_F(CommandLineTest, AFlagWithAValueThatCanBeLeftOut) {
  ASSERT_EQ(wrong({"run", "--live", "job"}), "");
  EXPECT_EQ(live_, "0");
  ASSERT_EQ(wrong({"run", "--live=80", "job"}), "");
  EXPECT_EQ(live_, "80");
}

TEST_F(CommandLineTest, ACommandThatDoesNotExist) {
  EXPECT_EQ(wrong({"rnu"}), "there is no command rnu; did you mean \"run\"? `tool --help` lists all");
  EXPECT_EQ(wrong({"secert"}), "there is no command secert: `tool --help` lists all")
      << "hidden ones are not suggested";
  EXPECT_EQ(wrong({}), "a command is missing after `tool`: `tool --help` lists all");
  EXPECT_EQ(wrong({"--bogus"}), "there is no option --bogus: `tool --help` lists all");
  EXPECT_EQ(wrong({"policy"}), "a command is missing after `tool policy`: `tool policy --help` lists all");
  EXPECT_EQ(wrong({"policy", "explian", "x"}),
            "there is no command explian; did you mean \"explain\"? `tool policy --help` lists all");
}

TEST_F(CommandLineTest, AnOptionThatDoesNotExist) {
  EXPECT_EQ(wrong({"view", "a", "--prot=8"}),
            "there is no option --prot; did you mean \"--port\"? `tool view --help` tells more");
  EXPECT_EQ(wrong({"view", "--bogus"}), "there is no option --bogus: `tool view --help` tells more")
      << "RUN is missing, too";
  EXPECT_EQ(wrong({"policy", "explain", "a", "b", "c", "d"}),
            "these words are too many: c d: `tool policy explain --help` tells more");
}

TEST_F(CommandLineTest, AWordInAWrongPlace) {
  EXPECT_EQ(wrong({"--port", "8", "view", "a"}),
            "--port stands before `tool view`: what belongs to it stands behind it: `tool view --help` tells more");
  EXPECT_EQ(wrong({"help", "view"}),
            "help stands before `tool view`: what belongs to it stands behind it: `tool view --help` tells more");
  EXPECT_EQ(wrong({"policy", "-f", "explain", "x"}),
            "-f stands before `tool policy explain`: what belongs to it stands behind it: `tool policy explain --help` "
            "tells more");
}

TEST_F(CommandLineTest, WhatElseAWordCouldHaveMeant) {
  line_.hint_at_commands([](const std::string& word) { return word == "python" ? "; a job stands behind run" : ""; });
  EXPECT_EQ(wrong({"python", "train.py"}),
            "there is no command python; a job stands behind run: `tool --help` lists all");
  EXPECT_EQ(wrong({"--", "python"}), "there is no command --: `tool --help` lists all");
}

TEST_F(CommandLineTest, AValueThatIsMissingOrCannotBe) {
  EXPECT_EQ(wrong({"view"}), "RUN is missing: `tool view --help` tells more");
  EXPECT_THAT(wrong({"run", "--gpu"}), StartsWith("--gpu needs a value, {auto,events,off}: "));
  EXPECT_THAT(wrong({"run", "--policy"}), StartsWith("--policy needs a value, POLICY: "));
  EXPECT_THAT(wrong({"run", "--policy", ""}), StartsWith("--policy: its value is empty: "));
  EXPECT_THAT(wrong({"run", "--gpu", "event"}),
              StartsWith("--gpu: \"event\" is not one of auto, events, off; did you mean \"events\"? "));
  for (const char* const port : {"x", "7x", "", "-1", "65536", "99999999999999999999"})
    EXPECT_THAT(wrong({"view", "a", "--port", port}), HasSubstr("is not a whole number from 0 to 65535: "));
  EXPECT_THAT(wrong({"view", "a", "--ca", "/nowhere"}), StartsWith("--ca: there is no file /nowhere: "));
  // It may be there, in a folder that may not be searched, for one.
  const std::string too_long(300, 'x');
  EXPECT_THAT(wrong({"view", "a", "--ca", too_long}),
              StartsWith("--ca: " + too_long + " cannot be read: File name too long"));
  EXPECT_THAT(wrong({"view", "a", "--ca", "/"}), StartsWith("--ca: / is a folder: "));
  EXPECT_THAT(wrong({"run", "--all-kernels=x", "--enforce", "a"}), StartsWith("--all-kernels takes no value: "));
  EXPECT_THAT(wrong({"run", "--all-kernels=false", "--enforce", "a"}), StartsWith("--all-kernels takes no value: "));
  EXPECT_THAT(wrong({"run", "--gpu", "off", "--gpu=off"}), StartsWith("--gpu is given twice: "));
  EXPECT_THAT(wrong({"view", "a", "--port", "1", "--port", "2"}), StartsWith("--port is given twice: "));
}

TEST_F(CommandLineTest, AShortOptionTakesItsValueWithoutAnEqualsSign) {
  EXPECT_EQ(wrong({"run", "-o=mine", "job"}),
            "--output: there is no = behind -o: write -o mine: `tool run --help` tells more");
  ASSERT_EQ(wrong({"run", "--output=mine", "job", "-o=x"}), "");
  EXPECT_EQ(output_, "mine");
  ASSERT_EQ(wrong({"run", "-omine", "job"}), "");
  EXPECT_EQ(output_, "mine");
}

TEST_F(CommandLineTest, OptionsThatDoNotGoTogether) {
  EXPECT_THAT(wrong({"run", "--policy", "a", "--enforce", "b"}),
              StartsWith("--policy and --enforce exclude each other: "));
  EXPECT_THAT(wrong({"run", "--all-kernels"}), StartsWith("--all-kernels needs --enforce: "));
}

TEST_F(CommandLineTest, HelpShowsHowACommandIsWritten) {
  EXPECT_THAT(help({"run"}), HasSubstr("Usage: tool run [OPTIONS] -- COMMAND\n"));
  EXPECT_THAT(help({"run"}), HasSubstr("--live[=PORT]  "));
  EXPECT_THAT(help({"run"}), HasSubstr("--gpu {auto,events,off}  "));
  EXPECT_THAT(help({"policy", "explain"}), HasSubstr("Usage: tool policy explain [OPTIONS] [POLICY] OPERATOR\n"));
  EXPECT_THAT(help({"view"}), HasSubstr("Usage: tool view [OPTIONS] RUN...\n"));
  EXPECT_THAT(help({"view"}), HasSubstr("--port PORT                 A port (default: 7)\n"));
  EXPECT_THAT(help({"view"}), HasSubstr("A certificate (variable: TOOL_TEST_CA)\n"));
}

TEST_F(CommandLineTest, HelpOfACommandHasNoEndOfAnother) {
  EXPECT_THAT(help({}), HasSubstr("Begin with:"));
  EXPECT_THAT(help({}), Not(HasSubstr("secret")));
  EXPECT_THAT(help({"policy"}), Not(HasSubstr("Begin with:")));
}

TEST_F(CommandLineTest, HelpFitsItsColumns) {
  std::string words;
  for (int i = 0; i < 60; ++i) words += "word ";
  line_.subcommand("long", "Long").footer(words);
  const Command command = line_.subcommand("options", "Many words");
  command.option("--long LONG", policy_, words);
  std::istringstream lines(help({"long"}) + help({"options"}));
  for (std::string text; std::getline(lines, text);) EXPECT_LE(text.size(), 120u) << text;
}

}  // namespace
}  // namespace castscope::cli
