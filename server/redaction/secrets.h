// Texts that are secrets whoever wrote them: tokens of well-known forms, and values of options that are named after a
// secret. castscope leaves these out of what it records, whatever else a user asks for.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace castscope::redaction {

// A part of a text.
struct Span {
  std::size_t begin = 0, end = 0;
  bool numbered = false;  // what it hides is told apart from other things that are hidden
};

// Tokens that are known by their form (Hugging Face, GitHub, GitLab, AWS, Google, Slack, OpenAI, JWT), and the password
// in a URL.
void find_tokens(std::string_view text, std::vector<Span>& spans);

// Values of options whose name ends like that of a secret, in a command line whose words have blanks between them:
// --api-key VALUE, --password=VALUE, HF_TOKEN=VALUE, "password": "VALUE". Nobody knows whether a value has blanks in
// it: it goes on until a word that is an option, too.
void find_option_values(std::string_view line, std::vector<Span>& spans);

// Whether the word is such an option, with its value in the next word.
bool names_secret(std::string_view word);

}  // namespace castscope::redaction
