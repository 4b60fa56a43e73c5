// What the built files ask for: a library that asks for more than a process has cannot be loaded into it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "server/cli/toolkit/child.h"
#include "server/cli/toolkit/elf.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;
using ::testing::IsSubsetOf;
using ::testing::Not;

// The tests run somewhere below the folder of the build.
fs::path build_folder() {
  fs::path folder = fs::path(program_path()).parent_path();
  while (!folder.empty() && !fs::exists(folder / "CMakeCache.txt") && folder != folder.root_path())
    folder = folder.parent_path();
  return folder;
}

LibraryNeeds needs_of(const fs::path& file) {
  const auto needs = library_needs(file.string());
  EXPECT_TRUE(needs.ok()) << needs.status().message();
  return needs.ok() ? *needs : LibraryNeeds{};
}

const LibraryNeeds kOldGlibc{{}, {parsed_version("GLIBC_2.17")}};

TEST(Floor, OfWhatGoesIntoEveryProcess) {
  for (const char* name : {"libcastscope.so", "castscope-trivial"}) {
    const LibraryNeeds needs = needs_of(build_folder() / name);
    EXPECT_THAT(needs.libraries, IsSubsetOf({"libc.so.6", "libdl.so.2", "libpthread.so.0"})) << name;
    EXPECT_THAT(needs.libraries, Not(IsEmpty())) << name;
    EXPECT_THAT(needs.versions, Not(IsEmpty())) << name;
    for (const SymbolVersion& beyond : versions_beyond(needs, {kOldGlibc}))
      ADD_FAILURE() << name << " asks for " << beyond.text();
  }
}

// PyTorch's wheels are made for glibc 2.28 and the libstdc++ of GCC 6 (manylinux_2_28).
TEST(Floor, OfTheAgentIsNoHigherThanThatOfPyTorch) {
  const LibraryNeeds wheel{{},
                           {parsed_version("GLIBC_2.28"), parsed_version("GLIBCXX_3.4.22"),
                            parsed_version("CXXABI_1.3.11"), parsed_version("GCC_3.4")}};
  int agents = 0;
  std::error_code there_are_none;
  for (const auto& entry : fs::directory_iterator(build_folder() / "agents", there_are_none)) {
    if (entry.path().extension() != ".so") continue;
    agents++;
    for (const SymbolVersion& beyond : versions_beyond(needs_of(entry.path()), {wheel}))
      ADD_FAILURE() << entry.path() << " asks for " << beyond.text();
  }
  if (agents == 0) GTEST_SKIP() << "no agent was built here";
}

}  // namespace
}  // namespace castscope::cli
