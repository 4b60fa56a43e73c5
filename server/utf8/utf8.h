// Handles text that may not be UTF-8. Names of files, command lines and lines of source are bytes; Protobuf's strings,
// JSON, SQLite's texts, terminals and pages want UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace castscope::utf8 {

// Returns the length in bytes of the character that the text begins with; 0 if it does not begin with one. Surrogates,
// overlong forms and numbers past U+10FFFF are not characters.
std::size_t first_character(std::string_view text);

// Whether the byte continues a character: any byte of it but the first.
constexpr bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// Counts the characters of a text that is UTF-8.
std::size_t characters(std::string_view text);

// Puts U+FFFD in place of each byte that belongs to no character.
std::string repaired(std::string_view text);

// Returns where a text that is UTF-8 can be cut so that at most so many bytes are left, without half of a character.
std::size_t cut(std::string_view text, std::size_t most);

// Returns a file's own name for a name in which Python escaped the bytes that are not UTF-8 ("caf\\udce9.py").
std::string bytes_of_name(std::string_view name);

// Returns the length in bytes of the control character that the text begins with; 0 if it does not begin with one. They
// are what a terminal would obey in a text that another program sent, line ends included (C0, delete, C1), and what
// makes a text look like another one: characters that turn the direction of others, that end a line for some programs
// (U+2028, U+2029), or that nobody sees.
std::size_t control_at(std::string_view text);

// Returns the text with a question mark for each byte of a control character.
std::string on_one_line(std::string text);

// What another program says in words, such as a collector, as it may stand in a sentence of ours: on one line, and cut
// after kMostOfASentence bytes, with "…" for the rest. It may come from anybody, and be as long as a message may be.
inline constexpr std::size_t kMostOfASentence = 500;
std::string sentence_of_others(std::string_view text);

// Returns a text of somebody else for a sentence: on one line and in quotation marks, those in it with a backslash, so
// that nobody can end it and go on with the sentence. What is longer than `most` bytes is cut: "abc… (12 more bytes)".
std::string quoted(std::string_view text, std::size_t most = 200);

// The same without quotation marks and backslashes.
std::string shortened(std::string_view text, std::size_t most);

}  // namespace castscope::utf8
