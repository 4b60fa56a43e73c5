#include "server/cli/toolkit/python_probe.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

// A folder on PATH with fake programs.
class PythonProbe : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("python-probe-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    path_ = getenv("PATH");
    setenv("PATH", folder_.c_str(), 1);
  }
  void TearDown() override {
    setenv("PATH", path_.c_str(), 1);
    fs::remove_all(folder_);
  }
  std::string program(const std::string& name, const std::string& text = "") {
    std::ofstream(folder_ / name) << text;
    chmod((folder_ / name).c_str(), 0755);
    return (folder_ / name).string();
  }
  fs::path folder_;
  std::string path_;
};

TEST_F(PythonProbe, CommandIsPython) {
  std::string python = program("python3.11");
  EXPECT_EQ(python_of({"python3.11", "train.py"}), python);
  EXPECT_EQ(python_of({python, "-m", "x"}), python);
}
TEST_F(PythonProbe, ScriptNamesItsPython) {
  std::string python = program("python");
  program("torchrun", "#!" + python + "\nimport sys\n");
  program("through_env", "#!/usr/bin/env python\n");
  EXPECT_EQ(python_of({"torchrun", "train.py"}), python);
  EXPECT_EQ(python_of({"through_env"}), python);
}
TEST_F(PythonProbe, PipsFormForLongPaths) {
  std::string python = program("python");
  program("accelerate", "#!/bin/sh\n'''exec' \"" + python + "\" \"$0\" \"$@\"\n' '''\n");
  EXPECT_EQ(python_of({"accelerate", "launch"}), python);
}
TEST_F(PythonProbe, PythonAmongTheArguments) {
  std::string python = program("python3.9");
  program("numactl");
  EXPECT_EQ(python_of({"numactl", "-N0", python, "train.py"}), python);
}
TEST_F(PythonProbe, ShellScriptGetsPythonOfPath) {
  std::string python = program("python3");
  program("train.sh", "#!/bin/bash\npython3 train.py\n");
  EXPECT_EQ(python_of({"train.sh"}), python);
}
TEST_F(PythonProbe, NothingThere) { EXPECT_EQ(python_of({"true"}), ""); }

TEST_F(PythonProbe, AnswerIsFoundAmongOtherOutput) {
  std::string python = program("python", "#!/bin/sh\necho hello\necho '<castscope>/x/python|3.12.1||/y</castscope>'\n");
  auto found = probe_python(python);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->executable, "/x/python");
  EXPECT_EQ(found->version, "3.12.1");
  EXPECT_TRUE(found->has_castscope);
  EXPECT_FALSE(found->torch.has_value());
}
TEST_F(PythonProbe, BrokenPythonIsASentence) {
  auto found = probe_python(program("python", "#!/bin/sh\necho 'no module named encodings' >&2\nexit 1\n"));
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.status().message().find("does not run: no module named encodings"), std::string::npos);
}
TEST_F(PythonProbe, TorchWithoutItsLibrariesIsAProblem) {
  fs::create_directories(folder_ / "torch");
  std::string answer = "<castscope>/x|3.12.1|" + (folder_ / "torch").string() + "|</castscope>";
  auto found = probe_python(program("python", "#!/bin/sh\necho '" + answer + "'\n"));
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->torch.has_value());
  EXPECT_FALSE(found->torch_problem.empty());
}
TEST_F(PythonProbe, HeadersOfAnotherPyTorchAreKnown) {
  const auto write = [](const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  };
  const fs::path torch = folder_ / "torch", include = torch / "include";
  write(torch / "lib/libtorch_cpu.so", "");
  write(torch / "lib/libc10.so", "");
  write(torch / "version.py", "__version__ = '2.13.0+cpu'\n");
  write(include / "ATen/autocast_mode.h", "");
  const auto headers_are_foreign = [&] {
    std::string answer = "<castscope>/x|3.12.1|" + torch.string() + "|</castscope>";
    auto found = probe_python(program("python", "#!/bin/sh\necho '" + answer + "'\n"));
    return found.ok() && found->torch && has_foreign_headers(*found->torch);
  };
  EXPECT_FALSE(headers_are_foreign());  // they do not tell
  write(include / "torch/csrc/api/include/torch/version.h",
        "#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR 13\n");
  EXPECT_FALSE(headers_are_foreign());
  write(torch / "version.py", "__version__ = '2.1.3'\n");
  EXPECT_TRUE(headers_are_foreign());
  write(include / "torch/headeronly/version.h", "# define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR 1\n");
  EXPECT_FALSE(headers_are_foreign());
  write(torch / "version.py", "__version__ = 'own build'\n");
  EXPECT_FALSE(headers_are_foreign());
}

}  // namespace
}  // namespace castscope::cli
