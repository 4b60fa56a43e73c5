#include "server/log/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>

#include "server/utf8/utf8.h"

namespace castscope::log {

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
  spdlog::log(kLevels[static_cast<std::size_t>(level)], "{}", utf8::on_one_line(text));
}

void debug_took(const std::string& work, double seconds, const std::string& result) {
  spdlog::debug("{} in {:.3f} s: {}", work, seconds, utf8::on_one_line(result));
}

}  // namespace castscope::log
