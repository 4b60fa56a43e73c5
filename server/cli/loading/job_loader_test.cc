#include "server/cli/loading/job_loader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elf.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

class LoaderOf : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("job-loader-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string program(const std::string& name, const std::string& content) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << content;
    chmod(path.c_str(), 0755);
    return path;
  }
  // A program's head, as far as the kernel reads it to find the loader.
  template <typename Header, typename Segment>
  std::string with_loader(const std::string& name, unsigned char word_size, const std::string& loader) {
    Header header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = word_size;
    header.e_phoff = sizeof(Header);
    header.e_phnum = 1;
    Segment segment{};
    segment.p_type = PT_INTERP;
    segment.p_offset = sizeof(Header) + sizeof(Segment);
    segment.p_filesz = static_cast<decltype(segment.p_filesz)>(loader.size() + 1);
    std::string content(reinterpret_cast<const char*>(&header), sizeof header);
    content.append(reinterpret_cast<const char*>(&segment), sizeof segment);
    return program(name, content + loader + '\0');
  }
  fs::path folder_;
};

TEST_F(LoaderOf, AProgramIsTheOneThatItNames) {
  const std::string path = with_loader<Elf64_Ehdr, Elf64_Phdr>("of-elsewhere", ELFCLASS64, "/nix/ld.so");
  EXPECT_EQ(loader_of({path, "--flag"}).path, "/nix/ld.so");
  EXPECT_EQ(loader_of({path}).problem, "");
}

TEST_F(LoaderOf, AScriptIsThatOfItsInterpreter) {
  const std::string path = with_loader<Elf64_Ehdr, Elf64_Phdr>("python", ELFCLASS64, "/opt/ld.so");
  const std::string inner = program("inner", "#! \t" + path + " -u\nimport this\n");
  EXPECT_EQ(loader_of({program("outer", "#!" + inner + "\n")}).path, "/opt/ld.so");
}

TEST_F(LoaderOf, WhatHasNoneIsTheUsualOne) {
  const std::string usual = loader_of({"/bin/sh"}).path;
  EXPECT_NE(usual, "");
  EXPECT_EQ(loader_of({"/nonexistent/program"}).path, usual);
  EXPECT_EQ(loader_of({program("text", "no program")}).path, usual);
  EXPECT_EQ(loader_of({}).path, usual);
  const std::string circle = (folder_ / "circle").string();
  EXPECT_EQ(loader_of({program("circle", "#!" + circle + "\n")}).path, usual);
}

TEST_F(LoaderOf, AProgramOf32BitsTakesNoneOfOurLibraries) {
  const std::string path = with_loader<Elf32_Ehdr, Elf32_Phdr>("old", ELFCLASS32, "/lib/ld-linux.so.2");
  EXPECT_EQ(loader_of({path}).problem, path + " is a program of 32 bits");
}

}  // namespace
}  // namespace castscope::cli
