#include "server/cli/toolkit/python_runner.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

// A folder on PATH with a uv that answers with the Python beside it, and writes down what it was asked.
class PythonRunner : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("python-runner-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    path_ = getenv("PATH");
    setenv("PATH", folder_.c_str(), 1);
    program("python3", "");
    program("uv", "#!/bin/sh\necho \"$*\" > " + (folder_ / "asked").string() + "\necho " + python() + "\n");
  }
  void TearDown() override {
    setenv("PATH", path_.c_str(), 1);
    fs::remove_all(folder_);
  }
  void program(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    chmod((folder_ / name).c_str(), 0755);
  }
  std::string python() const { return (folder_ / "python3").string(); }
  std::string asked_for(const std::vector<std::string>& command) {
    fs::remove(folder_ / "asked");
    EXPECT_EQ(python_of_runner(command), python());
    std::string line;
    std::ifstream file(folder_ / "asked");
    std::getline(file, line);
    return line;
  }
  fs::path folder_;
  std::string path_;
};

TEST_F(PythonRunner, UvIsAskedForThePythonOfTheProject) {
  EXPECT_EQ(asked_for({"uv", "run", "train.py"}), "python find");
  EXPECT_EQ(asked_for({"uv", "run", "--frozen", "--python", "3.11", "train.py", "--python", "x"}), "python find 3.11");
  EXPECT_EQ(asked_for({"uv", "-q", "run", "--project=/p", "-p", "3.12", "python", "-c", "1"}),
            "python find --project /p 3.12");
  EXPECT_EQ(asked_for({"uv", "run", "--no-project", "--", "train.py"}), "python find --no-project");
}
TEST_F(PythonRunner, AScriptMayHaveAnEnvironmentOfItsOwn) {
  const std::string script = (folder_ / "alone.py").string();
  std::ofstream(script) << "# /// script\n# dependencies = [\"torch\"]\n# ///\n";
  EXPECT_EQ(asked_for({"uv", "run", script}), "python find --script " + script);
}
TEST_F(PythonRunner, OtherCommandsAreNotAsked) {
  EXPECT_EQ(python_of_runner({"python3", "train.py"}), "");
  EXPECT_EQ(python_of_runner({"uv", "sync", "run"}), "");
  EXPECT_EQ(python_of_runner({"uv"}), "");
  EXPECT_FALSE(fs::exists(folder_ / "asked"));
}
TEST_F(PythonRunner, AUvThatFailsKnowsNone) {
  program("uv", "#!/bin/sh\nexit 2\n");
  EXPECT_EQ(python_of_runner({"uv", "run", "other.py"}), "");
}

}  // namespace
}  // namespace castscope::cli
