// A run file from somewhere (server/store/read): the input is what is changed of the bytes of a whole one, and where it
// is cut off.
#include <filesystem>
#include <string>

#include "tests/fuzz/bytes.h"
#include "tests/fuzz/every_reader.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/sample_file.h"
#include "tests/fuzz/scratch.h"

namespace castscope::fuzz {

CASTSCOPE_FUZZER(run_file, 150, 2048) {
  Bytes bytes(input);
  std::string file = bytes.flag() ? sample_file() : unfinished_sample_file();
  const std::uint16_t cut = bytes.take<std::uint16_t>();
  Bytes choices(bytes.some(2));
  std::string_view pieces = bytes.rest();
  Pieces(&pieces).put_over(file);
  if (cut != 0) file.resize(file.size() * cut / 65536);
  const std::string path = scratch_file("changed.castscope", file);
  for (const char* const end : {"-wal", "-shm", "-journal"}) std::filesystem::remove(path + end);
  read_in_one_way(path, choices);
}

}  // namespace castscope::fuzz
