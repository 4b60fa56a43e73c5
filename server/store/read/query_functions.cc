#include "server/store/read/query_functions.h"

#include <string.h>

#include <algorithm>
#include <string>
#include <unordered_set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "server/utf8/utf8.h"

namespace castscope::store {
namespace {

constexpr const char* kFunctions =
    "-> ->> abs acos acosh asin asinh atan atan2 atanh avg ceil ceiling char coalesce cos cosh count "
    "cume_dist current_date current_time current_timestamp date datetime degrees dense_rank exp first_value "
    "floor format glob group_concat hex ifnull iif instr json json_array json_array_length json_extract "
    "json_group_array json_group_object json_insert json_object json_quote json_remove json_replace json_set "
    "json_type json_valid julianday lag last_value lead length like likelihood likely ln log log10 log2 lower "
    "ltrim max min mod nth_value ntile nullif percent_rank pi pow power printf quote radians random "
    "randomblob rank replace round row_number rtrim sign sin sinh soundex sqlite_source_id sqlite_version "
    "sqrt strftime substr substring sum tan tanh time total trim trunc typeof unicode unixepoch unlikely "
    "upper zeroblob";

using Values = sqlite3_value**;

bool any_is_null(int count, Values values) {
  for (int i = 0; i < count; ++i)
    if (sqlite3_value_type(values[i]) == SQLITE_NULL) return true;
  return false;
}

std::string_view text_of(sqlite3_value* value) {
  const auto* const text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  return text == nullptr ? std::string_view()
                         : std::string_view(text, static_cast<std::size_t>(sqlite3_value_bytes(value)));
}

std::string_view blob_of(sqlite3_value* value) {
  const auto* const bytes = static_cast<const char*>(sqlite3_value_blob(value));
  return bytes == nullptr ? std::string_view()
                          : std::string_view(bytes, static_cast<std::size_t>(sqlite3_value_bytes(value)));
}

void result(sqlite3_context* context, std::string_view text) {
  sqlite3_result_text64(context, text.data() == nullptr ? "" : text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

// Where `part` begins in `text`, at `from` or later; npos where it does not. memmem takes time that grows with the sum
// of the lengths.
std::size_t find(std::string_view text, std::string_view part, std::size_t from = 0) {
  if (text.size() - from < part.size()) return std::string_view::npos;  // an empty blob has no address
  const void* const at = memmem(text.data() + from, text.size() - from, part.data(), part.size());
  return at == nullptr ? std::string_view::npos : static_cast<std::size_t>(static_cast<const char*>(at) - text.data());
}

// instr(X, Y): the place of the first Y in X, in characters from 1, or in bytes if both are blobs; 0 where there is
// none.
void instr(sqlite3_context* context, int count, Values values) {
  if (any_is_null(count, values)) return;
  const bool bytes = sqlite3_value_type(values[0]) == SQLITE_BLOB && sqlite3_value_type(values[1]) == SQLITE_BLOB;
  const std::string_view in = bytes ? blob_of(values[0]) : text_of(values[0]);
  const std::string_view part = bytes ? blob_of(values[1]) : text_of(values[1]);
  if (part.empty()) return sqlite3_result_int(context, 1);
  const std::size_t at = find(in, part);
  if (at == std::string_view::npos) return sqlite3_result_int(context, 0);
  const std::size_t before = bytes ? at : utf8::characters(in.substr(0, at));
  sqlite3_result_int64(context, static_cast<std::int64_t>(before) + 1);
}

// replace(X, Y, Z): X with a Z for each Y.
void replace(sqlite3_context* context, int, Values values) {
  if (any_is_null(2, values)) return;
  const std::string_view in = text_of(values[0]), part = text_of(values[1]);
  if (part.empty() || part[0] == '\0') return sqlite3_result_value(context, values[0]);
  if (any_is_null(1, values + 2)) return;
  const std::string_view by = text_of(values[2]);
  const auto most =
      static_cast<std::size_t>(sqlite3_limit(sqlite3_context_db_handle(context), SQLITE_LIMIT_LENGTH, -1));
  std::string made;
  std::size_t from = 0;
  for (std::size_t at = 0; (at = find(in, part, from)) != std::string_view::npos; from = at + part.size()) {
    made.append(in, from, at - from).append(by);
    if (made.size() > most) return sqlite3_result_error_toobig(context);
  }
  made.append(in, from);
  result(context, made);
}

// The characters of a text up to a zero byte, as SQLite takes them.
std::unordered_set<std::string_view> characters_of(std::string_view text) {
  std::unordered_set<std::string_view> characters;
  text = text.substr(0, text.find('\0'));
  while (!text.empty()) {
    std::size_t size = 1;
    if (static_cast<unsigned char>(text[0]) >= 0xc0)
      while (size < text.size() && utf8::continues(text[size])) ++size;
    characters.insert(text.substr(0, size));
    text.remove_prefix(size);
  }
  return characters;
}

// trim(X), trim(X, Y) and those of one side: X without the characters at its ends that are in Y, or without spaces.
template <bool left, bool right>
void trim(sqlite3_context* context, int count, Values values) {
  if (any_is_null(count, values)) return;
  std::string_view text = text_of(values[0]);
  const auto characters = characters_of(count > 1 ? text_of(values[1]) : " ");
  constexpr std::size_t kLongest = 4;  // bytes of a character
  const auto size_at_end = [&](bool first) -> std::size_t {
    for (std::size_t size = 1; size <= std::min(kLongest, text.size()); ++size)
      if (characters.contains(text.substr(first ? 0 : text.size() - size, size))) return size;
    return 0;
  };
  for (std::size_t size; left && (size = size_at_end(true)) > 0;) text.remove_prefix(size);
  for (std::size_t size; right && (size = size_at_end(false)) > 0;) text.remove_suffix(size);
  result(context, text);
}

// No exception goes through SQLite.
template <void (*function)(sqlite3_context*, int, Values)>
void call(sqlite3_context* context, int count, Values values) {
  try {
    function(context, count, values);
  } catch (const std::bad_alloc&) {
    sqlite3_result_error_nomem(context);
  }
}

}  // namespace

bool may_be_called(std::string_view function) {
  static const auto& functions = *new std::unordered_set<std::string>(absl::StrSplit(kFunctions, ' '));
  return functions.contains(absl::AsciiStrToLower(absl::string_view(function.data(), function.size())));
}

absl::Status make_linear(const Database& database) {
  const struct {
    const char* name;
    int arguments;
    void (*call)(sqlite3_context*, int, Values);
  } functions[] = {{"instr", 2, call<instr>},
                   {"replace", 3, call<replace>},
                   {"trim", 1, call<trim<true, true>>},
                   {"trim", 2, call<trim<true, true>>},
                   {"ltrim", 1, call<trim<true, false>>},
                   {"ltrim", 2, call<trim<true, false>>},
                   {"rtrim", 1, call<trim<false, true>>},
                   {"rtrim", 2, call<trim<false, true>>}};
  constexpr int kFlags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
  for (const auto& [name, arguments, function] : functions) {
    const int code = sqlite3_create_function_v2(database.handle(), name, arguments, kFlags, nullptr, function, nullptr,
                                                nullptr, nullptr);
    if (code != SQLITE_OK) return database.error(code);
  }
  return absl::OkStatus();
}

}  // namespace castscope::store
