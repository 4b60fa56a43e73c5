// Texts that are secrets whoever wrote them: tokens of well-known forms, and values of options that are named after a
// secret. castscope leaves these out of what it records, whatever else a user asks for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace castscope::redaction {

// A part of a text.
struct Span {
  std::size_t begin = 0, end = 0;
  bool numbered = false;  // what it hides is told apart from other things that are hidden
};

// Tokens that are known by their form (Hugging Face, GitHub, GitLab, npm, PyPI, AWS, Google, Slack, Stripe, OpenAI,
// W&B, JWT, what follows "Bearer"), and the password in a URL.
void find_tokens(std::string_view text, std::vector<Span>& spans);

// The secrets that a command names, in a line whose words have blanks between them: --api-key VALUE, --password=VALUE,
// HF_TOKEN=VALUE, "password": "VALUE", Authorization: VALUE, curl -u me:VALUE. Nobody knows whether a value has blanks
// in it: its first word is hidden in any case, and those behind it until one is an option, too.
void find_named_values(std::string_view line, std::vector<Span>& spans);

// The same in a command whose words are known, where a value is one word. One list of spans for each word.
std::vector<std::vector<Span>> find_named_values(const std::vector<std::string>& words);

}  // namespace castscope::redaction
