// Names of files, command lines and lines of source are bytes. Protobuf's strings, JSON, SQLite's texts, terminals and
// pages want UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace castscope::utf8 {

// Bytes of the character that the text begins with; 0: it begins with none. Surrogates, overlong forms and numbers past
// U+10FFFF are no characters.
std::size_t first_character(std::string_view text);

// A byte that goes on with a character: any but its first.
constexpr bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// Of text that is UTF-8.
std::size_t characters(std::string_view text);

// U+FFFD instead of each byte that belongs to no character.
std::string repaired(std::string_view text);

// Where text that is UTF-8 can be cut so that at most so many bytes are left of it, and no half of a character.
std::size_t cut(std::string_view text, std::size_t most);

// A file's own name, of one in which Python escaped the bytes that are no UTF-8 ("caf\\udce9.py").
std::string bytes_of_name(std::string_view name);

}  // namespace castscope::utf8
