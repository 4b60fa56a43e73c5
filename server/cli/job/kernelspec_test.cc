#include "server/cli/job/kernelspec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class KernelspecTest : public ::testing::Test {
 protected:
  ~KernelspecTest() override { fs::remove_all(folder_); }
  std::string folder() const { return (folder_ / "kernels/castscope").string(); }
  std::string python(const std::string& script) {
    fs::create_directories(folder_);
    const std::string path = (folder_ / "python").string();
    std::ofstream(path) << "#!/bin/sh\n" << script;
    chmod(path.c_str(), 0755);
    return path;
  }
  const fs::path folder_ = fs::temp_directory_path() / ("kernelspec-" + std::to_string(getpid()));
  const Kernelspec spec_{"castscope", "Python 3.11 (castscope)", {"/bin/castscope", "run", "--", "/venv/bin/python"}};
};

TEST_F(KernelspecTest, JupyterStartsCastscope) {
  ASSERT_TRUE(install_kernel(folder(), spec_, false).ok());
  std::ifstream file(folder() + "/kernel.json");
  const auto json = nlohmann::json::parse(file);
  EXPECT_EQ(json["argv"], (std::vector<std::string>{"/bin/castscope", "run", "--", "/venv/bin/python", "-m",
                                                    "ipykernel_launcher", "-f", "{connection_file}"}));
  EXPECT_EQ(json["display_name"], "Python 3.11 (castscope)");
  EXPECT_EQ(json["language"], "python");
}
TEST_F(KernelspecTest, OnlyItsOwnKernelIsOverwritten) {
  ASSERT_TRUE(install_kernel(folder(), spec_, false).ok());
  EXPECT_TRUE(install_kernel(folder(), spec_, false).ok());
  std::ofstream(folder() + "/kernel.json") << R"({"argv": ["python", "-m", "ipykernel_launcher"]})";
  EXPECT_THAT(install_kernel(folder(), spec_, false).message(), HasSubstr("is a kernel without castscope"));
  EXPECT_TRUE(install_kernel(folder(), spec_, true).ok());
}
TEST_F(KernelspecTest, AFolderThatCannotBeMadeIsASentence) {
  EXPECT_THAT(install_kernel("/proc/kernels/x", spec_, false).message(), HasSubstr("/proc/kernels/x/kernel.json"));
}
TEST_F(KernelspecTest, NamesAreJupyters) {
  EXPECT_EQ(problem_of_kernel_name("castscope-2.13"), "");
  EXPECT_THAT(problem_of_kernel_name("my kernel"), HasSubstr("not `my kernel`"));
  EXPECT_NE(problem_of_kernel_name("../x"), "");
  EXPECT_NE(problem_of_kernel_name(""), "");
}
TEST_F(KernelspecTest, APythonTellsWhereJupyterLooks) {
  const auto told =
      ask_jupyter(python("echo 'noise <castscope>/venv/bin/python|3.11|/venv|/home/me/jupyter</castscope>'\n"));
  ASSERT_TRUE(told.ok());
  EXPECT_EQ(told->version, "3.11");
  EXPECT_EQ(told->prefix, "/venv");
  EXPECT_EQ(told->data_folder, "/home/me/jupyter");
}
TEST_F(KernelspecTest, APythonWithoutIpykernelIsASentence) {
  const auto told = ask_jupyter(python("echo \"ModuleNotFoundError: No module named 'ipykernel'\" >&2; exit 1\n"));
  EXPECT_THAT(told.status().message(), HasSubstr("No module named 'ipykernel'"));
  EXPECT_THAT(told.status().message(), HasSubstr("-m pip install ipykernel"));
}

}  // namespace
}  // namespace castscope::cli
