// Short texts that people and other machines write: bytes that are to be UTF-8, comments in source, amounts, addresses,
// tokens, what Python prints of a stack.
#include <sys/stat.h>

#include <string>

#include "proto/loopback.h"
#include "server/config/amounts.h"
#include "server/exported/program/stack_trace.h"
#include "server/ingest/listening/address.h"
#include "server/rules/judgement.h"
#include "server/utf8/utf8.h"
#include "server/web/api/entity_tag.h"
#include "server/web/http/access.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/scratch.h"

namespace castscope::fuzz {
namespace {

void repair(std::string_view text) {
  const std::string repaired = utf8::repaired(text);
  CASTSCOPE_PROMISE(utf8::repaired(repaired) == repaired, "what was repaired is UTF-8");
  for (std::size_t most = 0; most <= repaired.size() && most < 16; ++most) {
    const std::size_t end = utf8::cut(repaired, most);
    CASTSCOPE_PROMISE(end <= most, "a text is cut to what it may have");
    CASTSCOPE_PROMISE(utf8::repaired(repaired.substr(0, end)) == repaired.substr(0, end), "no character is cut");
  }
  CASTSCOPE_PROMISE(utf8::characters(repaired) <= repaired.size(), "a character has a byte");
  CASTSCOPE_PROMISE(utf8::on_one_line(repaired).find('\n') == std::string::npos, "one line has no end of a line");
  (void)utf8::bytes_of_name(text);
}

void read_comment(std::string_view line) {
  const std::string_view comment = rules::directive_comment(line);
  CASTSCOPE_PROMISE(comment.empty() || line.find(comment) != line.npos, "a comment is part of its line");
  const std::string wrong = rules::wrong_in_comment(line);
  const bool silences = rules::silences(line, "cache-grows");
  CASTSCOPE_PROMISE(!silences || !comment.empty(), "only a comment silences a rule");
  CASTSCOPE_PROMISE(utf8::repaired(wrong) == wrong || utf8::repaired(line) != line, "what is wrong is said in UTF-8");
}

void read_amounts(std::string_view text) {
  const auto share = config::parse_share(text);
  CASTSCOPE_PROMISE(!share || (*share >= 0 && *share <= 1), "a share is from 0 to 1");
  (void)config::parse_bytes(text);
}

void read_address(const std::string& text) {
  const absl::Status status = ingest::check_listener({.address = text});
  CASTSCOPE_PROMISE(status.ok() || !status.message().empty(), "an address is refused with a sentence");
  CASTSCOPE_PROMISE(!status.ok() || text.empty() || wire::is_loopback(text),
                    "without certificate and token only this machine can listen");
  (void)ingest::socket_path(text);
}

void let_in(std::string_view text) {
  const auto behind = web::behind_token(text);
  CASTSCOPE_PROMISE(!behind || text == "/t/" + behind->token + behind->rest, "a path is its token and the rest");
  CASTSCOPE_PROMISE(text.ends_with(web::bearer(text)), "a token stands at the end of its header");
  (void)web::is_loopback_host(text);
  (void)web::names_tag(text, "W/\"1-2-3\"");
}

void keep_token(std::string_view text) {
  const std::string path = scratch_file("token", text);
  const auto token = web::kept_token(path);
  CASTSCOPE_PROMISE(token.ok() && token->size() >= 22, "a file of a token has a whole one afterwards");
  const auto again = web::kept_token(path);
  CASTSCOPE_PROMISE(again.ok() && *again == *token, "a token that was kept stays");
}

void read_trace(std::string_view text) {
  const std::size_t middle = text.size() / 2;
  for (const exported::TraceFrame& frame : exported::frames_of(text))
    CASTSCOPE_PROMISE(frame.at.line >= 0, "a line's number is not negative");
  (void)exported::user_class(exported::modules_of(text));
  (void)exported::user_place(text.substr(0, middle), text.substr(middle));
}

}  // namespace

CASTSCOPE_FUZZER(small_texts, 10000, 1024) {
  Bytes bytes(input);
  const std::uint8_t what = bytes.byte();
  const std::string text(bytes.rest());
  switch (what % 7) {
    case 0:
      return repair(text);
    case 1:
      return read_comment(text);
    case 2:
      return read_amounts(text);
    case 3:
      return read_address(text);
    case 4:
      return let_in(text);
    case 5:
      return keep_token(text);
    default:
      return read_trace(text);
  }
}

}  // namespace castscope::fuzz
