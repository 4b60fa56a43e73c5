#include "server/report/text/words.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <ctime>

#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/places/places.h"
#include "server/store/run/names.h"
#include "server/utf8/utf8.h"

namespace castscope::report {

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string counted(std::uint64_t number, std::string_view one, std::string_view many) {
  return grouped(number).append(" ").append(number == 1 ? one : many);
}

std::string listed(const std::vector<std::string>& words) {
  std::string list;
  for (std::size_t i = 0; i < words.size(); ++i)
    list += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return list;
}

std::string duration(std::uint64_t ns) {
  if (ns > 0 && ns < 500) return "<1 µs";
  char text[32];
  if (ns < 1'000'000) {
    std::snprintf(text, sizeof text, "%.0f µs", static_cast<double>(ns) / 1e3);
  } else if (ns < 1'000'000'000) {
    std::snprintf(text, sizeof text, "%.1f ms", static_cast<double>(ns) / 1e6);
  } else {
    std::snprintf(text, sizeof text, "%.2f s", static_cast<double>(ns) / 1e9);
  }
  return text;
}

std::string real(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  if (std::abs(number) >= 1000 && std::abs(number) < 1e15 && number == std::floor(number))
    return (number < 0 ? "-" : "") + grouped(static_cast<std::uint64_t>(std::abs(number)));
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", number);
  return text;
}

std::string percent(double share) {
  if (share > 0 && share < 0.01) return "<1 %";
  char text[16];
  std::snprintf(text, sizeof text, "%.0f %%", share * 100);
  return text;
}

std::string shown_source(std::string_view line) {
  const std::string valid = utf8::repaired(line);
  std::string text;
  for (std::size_t at = 0; at < valid.size();) {
    const std::size_t control = utf8::control_at(std::string_view(valid).substr(at));
    if (valid[at] == '\t') {
      text += "    ";
    } else {
      text += control > 0 ? '?' : valid[at];
    }
    at += std::max<std::size_t>(control, 1);
  }
  return text;
}

namespace {

// "\x1b" of a character; "\xe2\x80\xae" of a longer one. The C1 controls have their number: "\x9b".
std::string code_of(std::string_view character) {
  if (character.size() == 2 && character[0] == '\xc2') character.remove_prefix(1);
  std::string text;
  for (const char c : character) {
    char code[5];
    std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned char>(c));
    text += code;
  }
  return text;
}

}  // namespace

std::string without_controls(std::string_view text, std::string_view kept) {
  const std::string valid = utf8::repaired(text);
  std::string shown;
  for (std::size_t at = 0; at < valid.size();) {
    const std::string_view rest = std::string_view(valid).substr(at);
    const std::size_t control = utf8::control_at(rest);
    at += std::max<std::size_t>(control, 1);
    if (control == 0 || (control == 1 && kept.find(rest[0]) != std::string_view::npos)) {
      shown += rest[0];
    } else if (rest[0] == '\n') {
      shown += "\\n";
    } else {
      shown += code_of(rest.substr(0, control));
    }
  }
  return shown;
}

std::string place(const store::RunData& data, const std::optional<store::CodeLocation>& at) {
  return at ? on_one_line(rules::place_text(data, *at)) : "no Python line";
}

std::string argument_of(const store::RunData& data, store::CallSiteId call_site) {
  const store::CallSite* const at = data.call_sites.find(call_site);
  if (at == nullptr || !at->argument_name.empty()) return at == nullptr ? "" : at->argument_name;
  return at->argument == lanes::kUnknownArgument ? "" : std::to_string(at->argument);
}

std::string argument_words(const store::RunData& data, const store::Site& site) {
  const store::CallSite* const at = data.call_sites.find(site.call_site);
  const std::string argument = argument_of(data, site.call_site);
  return argument.empty() || !at->argument_name.empty() ? argument : "argument " + argument;
}

std::string operator_of(const store::Site& site) {
  if (site.op.empty()) return std::string(store::name(site.cause));
  return site.op.starts_with("aten::") ? site.op.substr(6) : site.op;
}

std::string utc(std::int64_t ns) {
  const std::time_t seconds = ns / 1'000'000'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[40];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + length, sizeof text - length, ".%03dZ", static_cast<int>(ns / 1'000'000 % 1000));
  return text;
}

std::string command_line(const store::RunData& data) {
  std::string line;
  for (const std::string& word : data.start.command) {
    const bool plain = !word.empty() && word.find_first_of(" \t\n'\"\\$`") == std::string::npos;
    line += (line.empty() ? "" : " ") + (plain ? word : "'" + word + "'");
  }
  return on_one_line(line);
}

std::string savings_text(const std::optional<store::Savings>& savings, std::uint64_t steps) {
  if (!savings) return "";
  std::string text;
  if (savings->ns_per_step > 0) {
    text = duration(static_cast<std::uint64_t>(savings->ns_per_step)) + (steps > 1 ? " per step" : " in all");
    if (savings->share_of_step > 0)
      text += ", " + percent(savings->share_of_step) + (steps > 1 ? " of it" : " of the time that autocast was in use");
  }
  if (savings->held_bytes > 0) {
    text += (text.empty() ? "" : "; ") + std::string("a kept copy would hold ") +
            rules::readable_bytes(savings->held_bytes);
  }
  return text;
}

}  // namespace castscope::report
