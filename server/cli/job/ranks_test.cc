#include "server/cli/job/ranks.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <utility>
#include <vector>

namespace castscope::cli {
namespace {

class RanksTest : public ::testing::Test {
 protected:
  RanksTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~RanksTest() override { std::filesystem::remove_all(folder_); }
  void process(const std::string& file, const std::string& variables) {
    std::ofstream(folder_ + "/" + file) << variables;
  }
  Ranks ranks() const { return ranks_in(folder_); }

  const std::string folder_ = testing::TempDir() + "ranks-" + std::to_string(getpid());
};

TEST_F(RanksTest, NoLauncherTellsNothing) {
  process("1.attached", "");
  process("2.unobserved", "LOCAL_WORLD_SIZE=8\n");
  EXPECT_EQ(ranks(), (Ranks{0, 0}));
  EXPECT_EQ(ranks_in(folder_ + "/gone"), (Ranks{0, 0}));
}

TEST_F(RanksTest, ExpectsAsManyAsTheLauncherStarts) {
  process("1.attached", "RANK=4\nLOCAL_RANK=0\nLOCAL_WORLD_SIZE=3\n");
  process("2.attached", "RANK=6\nLOCAL_RANK=2\nLOCAL_WORLD_SIZE=3\n");
  process("3.attached", "RANK=6\nLOCAL_RANK=2\nLOCAL_WORLD_SIZE=3\n");  // a worker of that rank
  EXPECT_EQ(ranks(), (Ranks{3, 2}));
}

TEST_F(RanksTest, OneThatCannotBeObservedIsNotSeen) {
  process("1.attached", "RANK=0\n");
  process("2.unobserved", "RANK=1\n");
  EXPECT_EQ(ranks(), (Ranks{2, 1}));
  process("3.attached", "RANK=1\n");
  EXPECT_EQ(ranks(), (Ranks{2, 2}));
}

TEST_F(RanksTest, GroupsOfOneMachineAddUp) {
  for (const std::string group : {"0", "1"})
    process(group + ".attached", "LOCAL_RANK=0\nGROUP_RANK=" + group + "\nLOCAL_WORLD_SIZE=2\n");
  EXPECT_EQ(ranks(), (Ranks{4, 2}));
}

TEST_F(RanksTest, NonsenseIsNotCounted) {
  process("1.attached", "LOCAL_RANK=0\nLOCAL_WORLD_SIZE=99999999\n");
  process("2.attached", "LOCAL_RANK=1\nLOCAL_WORLD_SIZE=-1\n");
  EXPECT_EQ(ranks(), (Ranks{2, 2}));
}

TEST_F(RanksTest, AnOuterLauncherIsKnownByItsVariable) {
  unsetenv("LOCAL_WORLD_SIZE");
  EXPECT_EQ(one_rank_variable(), "");
  setenv("LOCAL_WORLD_SIZE", "8", 1);
  EXPECT_EQ(one_rank_variable(), "CASTSCOPE_ONE_RANK=1");
  unsetenv("LOCAL_WORLD_SIZE");
}

// The variables of this process while the object lives.
class Launched {
 public:
  Launched(std::initializer_list<std::pair<const char*, const char*>> variables) : variables_(variables) {
    for (const auto& [name, value] : variables_) setenv(name, value, 1);
  }
  ~Launched() {
    for (const auto& [name, value] : variables_) unsetenv(name);
  }
  Launched(const Launched&) = delete;
  Launched& operator=(const Launched&) = delete;

 private:
  const std::vector<std::pair<const char*, const char*>> variables_;
};

TEST_F(RanksTest, EachRankHasANameOfItsOwn) {
  EXPECT_EQ(rank_in_names(), "");
  {
    const Launched torchrun{{"RANK", "13"}, {"WORLD_SIZE", "16"}};
    EXPECT_EQ(rank_in_names(), "rank13");
  }
  {
    const Launched alone{{"RANK", "0"}, {"WORLD_SIZE", "1"}};
    EXPECT_EQ(rank_in_names(), "");
  }
  {
    const Launched nonsense{{"RANK", "../x"}, {"WORLD_SIZE", "2"}};
    EXPECT_EQ(rank_in_names(), "");
  }
}

TEST_F(RanksTest, LaunchersOtherThanTorchrunHaveOtherVariables) {
  const Launched task{{"SLURM_PROCID", "5"}};
  EXPECT_EQ(rank_in_names(), "") << "a batch script has this number, too";
  const Launched step{{"SLURM_STEP_NUM_TASKS", "8"}};
  EXPECT_EQ(rank_in_names(), "rank5");
  EXPECT_EQ(one_rank_variable(), "");
  const Launched mpi{{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}};
  EXPECT_EQ(rank_in_names(), "rank2");
  EXPECT_EQ(one_rank_variable(), "CASTSCOPE_ONE_RANK=1");
  const Launched torchrun_in_it{{"RANK", "1"}, {"WORLD_SIZE", "2"}};
  EXPECT_EQ(rank_in_names(), "rank1");
  EXPECT_EQ(one_rank_variable(), "") << "the numbers of two launchers are not mixed";
}

}  // namespace
}  // namespace castscope::cli
