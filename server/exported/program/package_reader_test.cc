#include "server/exported/program/package_reader.h"

#include <gmock/gmock.h>

#include "server/exported/testing/test_program.h"

namespace castscope::exported {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class PackageReaderTest : public ::testing::Test {
 protected:
  std::string error_of(const TestFolder::Files& files) { return error_of_file(folder_.zip("model.pt2", files)); }
  static std::string error_of_file(const std::string& file) {
    const auto package = read_package(file);
    if (package.ok()) return "";
    std::string message(package.status().message());
    EXPECT_THAT(message, StartsWith(file + " "));
    return message.substr(std::min(message.size(), file.size() + 1));
  }
  TestFolder folder_;
  const std::string json_ = program_json(dropped()).dump();
};

TEST_F(PackageReaderTest, WhatTorchExportSaves) {
  const auto package = read_package(folder_.pt2(program_json(dropped())));
  ASSERT_TRUE(package.ok()) << package.status();
  ASSERT_EQ(package->programs.size(), 1u);
  EXPECT_EQ(package->programs[0].name, "model");
  EXPECT_EQ(package->programs[0].graph.nodes.size(), 3u);
  EXPECT_TRUE(package->not_seen.empty());
}

TEST_F(PackageReaderTest, SeveralProgramsAndCompiledCode) {
  const auto package = read_package(folder_.zip("model.pt2", {{"p/models/prefill.json", json_},
                                                              {"p/models/decode.json", json_},
                                                              {"p/data/aotinductor/decode/a.wrapper.so", "x"},
                                                              {"p/archive_format", "pt2"}}));
  ASSERT_TRUE(package.ok()) << package.status();
  ASSERT_EQ(package->programs.size(), 2u);
  EXPECT_EQ(package->programs[1].name, "decode");
  EXPECT_THAT(package->not_seen, ElementsAre(HasSubstr("AOTInductor's compiled code (decode)")));
}

TEST_F(PackageReaderTest, TheLayoutBeforePyTorch28) {
  const std::string program = "serialized_exported_program.json";
  const auto package = read_package(folder_.zip("old.pt2", {{program, json_}, {"version", "8.3"}}, 6));
  ASSERT_TRUE(package.ok()) << package.status();
  EXPECT_EQ(package->programs[0].name, "model");
  EXPECT_EQ(error_of({{program, json_}, {"version", "5.1"}}),
            "has a program of torch.export's schema \"5.1\", and this castscope knows schema 8 (PyTorch 2.6 … 2.13): "
            "load and save it with such a PyTorch");
  EXPECT_THAT(error_of({{program, json_}}), HasSubstr("schema \"\""));
}

TEST_F(PackageReaderTest, OtherVersionsAreRefusedByName) {
  Json newer = program_json(dropped());
  newer["schema_version"]["major"] = 9;
  newer["torch_version"] = "3.1.0";
  EXPECT_THAT(error_of_file(folder_.pt2(newer)),
              StartsWith("has a program of torch.export's schema 9.20 (PyTorch 3.1.0), and this castscope knows "));
  EXPECT_EQ(error_of({{"m/archive_format", "pt3"}}),
            "is an archive of format \"pt3\", and this castscope knows \"pt2\"");
  EXPECT_EQ(error_of({{"m/archive_format", "pt2"}, {"m/archive_version", "1"}, {"m/models/model.json", json_}}),
            "is a PT2 archive of version \"1\", and this castscope knows 0");
}

TEST_F(PackageReaderTest, WhatHoldsNoProgramIsTold) {
  EXPECT_THAT(error_of({{"m/data/aotinductor/model/x.wrapper.so", "x"}, {"m/archive_format", "pt2"}}),
              StartsWith("holds compiled code and no program: "));
  EXPECT_THAT(error_of({{"m/archive_format", "pt2"}, {"m/extra/a", "b"}}),
              HasSubstr("without a program (models/*.json)"));
  EXPECT_THAT(error_of({{"m/archive_format", "pt2"}, {"m/data/executorch/a.pte", "b"}}), HasSubstr("ExecuTorch"));
  EXPECT_THAT(error_of({{"w/data.pkl", "x"}, {"w/data/0", "y"}}), StartsWith("holds weights or a pickled object"));
  EXPECT_THAT(error_of({{"s/data.pkl", "x"}, {"s/constants.pkl", "y"}}), StartsWith("is a TorchScript program"));
  EXPECT_THAT(error_of({{"word/document.xml", "x"}}), StartsWith("is a zip archive that neither"));
  EXPECT_THAT(error_of({}), StartsWith("is a zip archive that neither"));
}

TEST_F(PackageReaderTest, WhatCannotBeReadIsTold) {
  EXPECT_EQ(error_of({{"m/archive_format", "pt2"}, {"m/models/model.json", "{"}}),
            "cannot be read: m/models/model.json: it is not JSON, or was cut short");
  EXPECT_EQ(error_of({{"m/archive_format", "pt2"}, {"m/models/model.json", "{}"}}),
            "cannot be read: m/models/model.json: it is not what torch.export writes: \"schema_version\" is missing");
  const std::string bytes = TestFolder::bytes_of(folder_.pt2(program_json(dropped())));
  EXPECT_THAT(error_of_file(folder_.file("cut.pt2", bytes.substr(0, bytes.size() / 2))),
              StartsWith("cannot be read: the zip archive is cut short or damaged"));
  EXPECT_THAT(error_of_file(folder_.file("text.pt2", "text")), HasSubstr("cut short or damaged"));
  const auto small = read_package(folder_.pt2(program_json(dropped())), 100);
  EXPECT_THAT(std::string(small.status().message()), EndsWith("bytes or more, and at most 100 are read"));
}

TEST_F(PackageReaderTest, AThousandProgramsAreTooMany) {
  TestFolder::Files files = {{"m/archive_format", "pt2"}};
  for (int i = 0; i < 1000; ++i) files.emplace_back("m/models/" + std::to_string(i) + ".json", json_);
  EXPECT_EQ(error_of(files), "has more than 100 programs");
}

}  // namespace
}  // namespace castscope::exported
