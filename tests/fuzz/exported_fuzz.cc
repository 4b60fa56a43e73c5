// The JSON of a program of torch.export (server/exported/program/program_reader.h), and what is said of the program.
#include <nlohmann/json.hpp>
#include <string>

#include "server/exported/check.h"
#include "server/exported/program/program_reader.h"
#include "tests/fuzz/fuzzer.h"

namespace castscope::fuzz {

CASTSCOPE_FUZZER(exported, 2000, 16384) {
  auto program = exported::read_program(input, "model");
  if (!program.ok()) {
    CASTSCOPE_PROMISE(!program.status().message().empty(), "a program that is refused is refused with a sentence");
    return;
  }
  exported::Package package{.file = "model.pt2", .programs = {}, .not_seen = {}};
  package.programs.push_back(*std::move(program));
  const exported::Checked checked = exported::check(package, {}, "/nowhere", {}, 80);
  CASTSCOPE_PROMISE(!checked.text.empty(), "a check has a text");
  CASTSCOPE_PROMISE(nlohmann::json::accept(checked.json.dump()), "a check in JSON is JSON");
}

}  // namespace castscope::fuzz
