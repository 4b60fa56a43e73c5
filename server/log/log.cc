#include "server/log/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>

namespace castscope::log {
namespace {

// What others sent may have characters that a terminal would obey.
std::string on_one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  return text;
}

}  // namespace

void begin() {
  spdlog::set_default_logger(spdlog::stderr_color_mt("castscope"));
  const char* const wish = std::getenv("CASTSCOPE_LOG");
  if (wish == nullptr || *wish == '\0') return;
  // A word that spdlog does not know counts as "off" for it.
  const spdlog::level::level_enum level = spdlog::level::from_str(wish);
  if (level == spdlog::level::off && std::string(wish) != "off")
    spdlog::warn("CASTSCOPE_LOG is \"{}\": it is one of debug, info, warning, error and off", wish);
  else
    spdlog::set_level(level);
}

void write(Level level, const std::string& text) {
  constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                                                   spdlog::level::err};
  spdlog::log(kLevels[static_cast<std::size_t>(level)], "{}", on_one_line(text));
}

void debug_took(const std::string& work, double seconds, const std::string& result) {
  spdlog::debug("{} in {:.3f} s: {}", work, seconds, on_one_line(result));
}

}  // namespace castscope::log
