#include "server/redaction/messages.h"

#include <cstring>
#include <vector>

#include "agent/lanes/definition_records.h"

namespace castscope::redaction {
namespace {

constexpr std::size_t kUnit = 8;  // sizes of records are multiples of it

void append_text(std::string& records, lanes::DefinitionHeader header, std::string_view text) {
  const std::size_t room = (text.size() + kUnit - 1) / kUnit * kUnit;
  header.payload = static_cast<std::uint32_t>(text.size());
  header.size = static_cast<std::uint32_t>(sizeof header + room);
  records.append(reinterpret_cast<const char*>(&header), sizeof header);
  records.append(text);
  records.append(room - text.size(), '\0');
}

// Of a record that is damaged nobody knows whether it is a text: its length is kept, and nothing that it holds.
void append_empty(std::string& records, const lanes::DefinitionHeader& header) {
  records.append(reinterpret_cast<const char*>(&header), sizeof header);
  records.append(header.size - sizeof header, '\0');
}

bool is_known(const lanes::DefinitionHeader& header) {
  switch (header.kind) {
#define CASTSCOPE_KNOWN(kind, ...) case lanes::DefinitionKind::kind:
    CASTSCOPE_DEFINITION_KINDS(CASTSCOPE_KNOWN)
#undef CASTSCOPE_KNOWN
    return header.payload <= header.size - sizeof header;
  }
  return false;
}

}  // namespace

void redact(Redaction& redaction, v1::Hello& hello) {
  const std::vector<std::string> words = redaction.command({hello.command().begin(), hello.command().end()});
  hello.clear_command();
  for (const std::string& word : words) hello.add_command(word);
  for (std::string* text :
       {hello.mutable_cwd(), hello.mutable_checkout(), hello.mutable_host(), hello.mutable_run_file_name()})
    *text = redaction.text(*text);
}

void redact(Redaction& redaction, v1::Goodbye& goodbye) {
  for (std::string& notice : *goodbye.mutable_notices()) notice = redaction.text(notice);
  for (v1::Missing& missing : *goodbye.mutable_missing())  // the key of a process has a redacted host in it
    missing.set_sentence(redaction.text(missing.sentence()));
}

std::string redacted_records(Redaction& redaction, std::string_view records) {
  std::string result;
  lanes::DefinitionHeader header{};
  for (std::size_t at = 0; at < records.size(); at += header.size) {  // whole records; the reader has checked them
    std::memcpy(&header, records.data() + at, sizeof header);
    const std::string_view record = records.substr(at, header.size);
    if (!is_known(header))
      append_empty(result, header);
    else if (header.kind == lanes::DefinitionKind::kString)
      append_text(result, header, redaction.text(record.substr(sizeof header, header.payload)));
    else
      result.append(record);
  }
  return result;
}

}  // namespace castscope::redaction
