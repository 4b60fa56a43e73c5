// A spool that a relay left behind (server/relay/sending/spool.h): as its bytes are, or as records with any content and
// right checksums.
#include <unistd.h>
#include <zlib.h>

#include <string>

#include "server/relay/sending/spool.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/scratch.h"

namespace castscope::fuzz {
namespace {

template <typename T>
void append(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string records_of(Bytes& bytes) {
  std::string file = "castscope spool 1\n";
  while (!bytes.empty()) {
    const std::string_view record = bytes.long_text();
    append(file, static_cast<std::uint32_t>(record.size()));
    append(file, static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(record.data()), record.size())));
    file += record;
  }
  return file;
}

}  // namespace

CASTSCOPE_FUZZER(spool, 5000, 4096) {
  Bytes bytes(input);
  const std::string file = bytes.flag() ? records_of(bytes) : std::string(bytes.rest());
  relay::Spool::Contents contents;
  const auto spool = relay::Spool::open(scratch_file("left.spool", file), &contents);
  if (!spool.ok()) {
    CASTSCOPE_PROMISE(!spool.status().message().empty(), "a spool that is refused is refused with a sentence");
    return;
  }
  CASTSCOPE_PROMISE((*spool)->bytes() <= file.size(), "a spool is not longer than its file");
  for (const relay::Spool::Place& place : contents.messages) {
    CASTSCOPE_PROMISE(place.offset + place.bytes <= file.size(), "a message lies in the file");
    const auto message = (*spool)->read(place);
    CASTSCOPE_PROMISE(message.ok() || !message.status().message().empty(), "a refusal has a sentence");
  }
}

}  // namespace castscope::fuzz
