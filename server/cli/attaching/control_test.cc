#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "agent/lanes/control.h"
#include "server/cli/attaching/asking.h"
#include "server/cli/attaching/control_page.h"
#include "server/cli/attaching/control_socket.h"

namespace castscope::cli {
namespace {

class ControlTest : public testing::Test {
 protected:
  ControlTest() {
    char name[] = "/tmp/control_test.XXXXXX";
    folder_ = mkdtemp(name);
    page_of(getpid(), CASTSCOPE_CONTROL_ARMED);
  }
  ~ControlTest() override { std::filesystem::remove_all(folder_); }

  void page_of(pid_t pid, std::uint32_t state, std::uint64_t magic = CASTSCOPE_CONTROL_MAGIC) const {
    castscope_control page{};
    page.magic = magic;
    page.state = state;
    std::ofstream file(absl::StrCat(folder_, "/", pid, ".control"), std::ios::binary);
    file.write(reinterpret_cast<const char*>(&page), sizeof page);
  }
  ControlState state() const { return ControlPage::all(folder_, getpid()).at(0).read().value(); }
  std::string ask(const std::string& request) const {
    const auto states = ask_run(folder_, request);
    return states.ok() ? absl::StrCat(states->size()) : std::string(states.status().message());
  }
  std::string own(const std::string& verb) const { return absl::StrCat(verb, " ", getpid()); }

  std::string folder_;
};

TEST_F(ControlTest, RequestsReachThePage) {
  const auto server = ControlServer::start(folder_);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ(ask(own("attach")), "1");
  EXPECT_EQ(state().wanted, std::uint32_t{CASTSCOPE_WANTED_AT_REGION});
  EXPECT_EQ(ask("detach-at-once 0"), "1");
  EXPECT_EQ(state().wanted, std::uint32_t{CASTSCOPE_WANTED_AWAY_AT_ONCE});
  EXPECT_EQ(ask(absl::StrCat(own("deep"), " 3")), "1");
  EXPECT_EQ(ask(absl::StrCat(own("deep"), " 2")), "1");
  EXPECT_EQ(state().deep_asked, 5u);
}

TEST_F(ControlTest, WhatIsNoRequestIsRefusedInWords) {
  EXPECT_EQ(answer_to(folder_, "attach\n"), "error `attach` is no request\n");
  EXPECT_EQ(answer_to(folder_, "attach -1\n"), "error `attach -1` is no request\n");
  EXPECT_EQ(answer_to(folder_, absl::StrCat(own("explode"), "\n")), "error `explode` cannot be carried out\n");
  EXPECT_EQ(answer_to(folder_, absl::StrCat(own("deep"), " 0\n")),
            "error `0` is no number of steps from 1 to 1000000\n");
  EXPECT_EQ(answer_to(folder_, "attach 1\n"), "error no process 1 of this run has PyTorch\n");
  EXPECT_EQ(state().wanted, 0u);
}

TEST_F(ControlTest, PagesOfTheDeadAndOfNobodyAreLeftAlone) {
  const pid_t dead = fork();
  if (dead == 0) _exit(0);
  waitpid(dead, nullptr, 0);
  page_of(dead, CASTSCOPE_CONTROL_ARMED);
  page_of(getppid(), CASTSCOPE_CONTROL_ARMED, 0);
  EXPECT_EQ(ControlPage::all(folder_).size(), 1u);
  EXPECT_EQ(ControlPage::left_by(folder_, dead).value().pid, dead);
  EXPECT_FALSE(ControlPage::left_by(folder_, getppid()).has_value());
  EXPECT_FALSE(ControlPage::left_by(folder_, 1).has_value());
}

TEST_F(ControlTest, NobodyAnswersWhereNobodyRecords) {
  EXPECT_TRUE(absl::IsNotFound(ask_run(folder_, "status 0").status()));
  { const auto server = ControlServer::start(folder_); }
  EXPECT_TRUE(absl::IsNotFound(ask_run(folder_, "status 0").status()));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/control"));
}

TEST_F(ControlTest, WhoListensAndSaysNothingIsNotNobody) {
  const int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (folder_ + "/control").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(listening, 0), 0);
  const auto answer = ask_run(folder_, "status 0").status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(answer)) << answer;
  EXPECT_NE(answer.message().find("nobody who records the run answers"), std::string::npos) << answer;
  const auto full = ask_run(folder_, "status 0").status();  // the queue takes one
  EXPECT_TRUE(absl::IsUnavailable(full)) << full;
  close(listening);
}

TEST_F(ControlTest, TheServerKnowsWhetherSomebodyAttached) {
  const auto server = ControlServer::start(folder_);
  ASSERT_TRUE(server.ok()) << server.status();
  ask(own("detach"));
  ask("attach 1");
  EXPECT_FALSE((*server)->was_asked_to_attach());
  ask(own("attach"));
  EXPECT_TRUE((*server)->was_asked_to_attach());
}

TEST_F(ControlTest, WhatEndsWhileSomebodyWaitsIsSaidToHaveEnded) {
  auto server = ControlServer::start(folder_);
  ASSERT_TRUE(server.ok()) << server.status();
  const pid_t job = fork();
  if (job == 0) pause(), _exit(0);
  page_of(job, CASTSCOPE_CONTROL_ARMED);
  const auto waits_until = [&](pid_t pid, const std::function<void()>& happens) {
    const Question question{.verb = "attach", .is_done = [&](const ControlState&) { return happens(), false; }};
    return ask_and_wait({RunDirectory(folder_), pid}, question, std::chrono::seconds(60)).status();
  };
  const auto ended = waits_until(job, [&] { kill(job, SIGKILL), waitpid(job, nullptr, 0); });
  EXPECT_EQ(ended, absl::AbortedError(absl::StrCat("process ", job, " has ended meanwhile")));
  EXPECT_EQ(waits_until(0, [&] { server->reset(); }), absl::AbortedError("the job has ended meanwhile"));
}

TEST_F(ControlTest, TheSocketOfARecorderThatWasKilledIsReplaced) {
  { std::ofstream left(folder_ + "/control"); }
  const auto server = ControlServer::start(folder_);
  ASSERT_TRUE(server.ok()) << server.status();
  struct stat info;
  ASSERT_EQ(stat((folder_ + "/control").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
  EXPECT_EQ(ask("status 0"), "1");
}

TEST_F(ControlTest, TheLengthOfThePathDoesNotMatter) {
  const std::string deep = folder_ + "/" + std::string(120, 'd');
  ASSERT_EQ(mkdir(deep.c_str(), 0700), 0);
  const auto server = ControlServer::start(deep);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_TRUE(ask_run(deep, "status 0").ok());
}

TEST_F(ControlTest, AnotherUserIsRefusedByWhatTheKernelSaysOfHim) {
  EXPECT_EQ(refusal_of(7, 7), "");
  if (geteuid() != 0) GTEST_SKIP() << "only root can ask as another user";
  const auto server = ControlServer::start(folder_);
  ASSERT_TRUE(server.ok()) << server.status();
  // Open to all, which castscope never leaves it: what refuses is the question who asks.
  ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
  ASSERT_EQ(chmod((folder_ + "/control").c_str(), 0666), 0);
  const std::string request = own("attach");
  const pid_t other = fork();
  if (other == 0) {
    const bool changed = setgid(65534) == 0 && setuid(65534) == 0;
    const auto answer = ask_run(folder_, request);
    _exit(changed && answer.status().message() ==
                         "this run belongs to user 0, and user 65534 may not ask for anything in it"
              ? 0
              : 1);
  }
  int status = -1;
  waitpid(other, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(state().wanted, 0u);
}

TEST(ControlLine, IsReadAsItIsWritten) {
  const ControlState state{
      .pid = 4711, .wanted = 1, .state = 2, .deep_asked = 3, .deep_begun = 4, .deep_first = 5, .spans = 6};
  EXPECT_EQ(line_of(state), "4711 1 2 3 4 5 6");
  EXPECT_EQ(line_of(state_of(line_of(state)).value()), line_of(state));
  EXPECT_FALSE(state_of("4711 1 2 3 4 5").has_value());
  EXPECT_FALSE(state_of("4711 1 2 3 4 5 -6").has_value());
}

}  // namespace
}  // namespace castscope::cli
