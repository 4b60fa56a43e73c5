#include "server/cli/commands/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <string>

namespace castscope::cli {

void set_up_log() {
  spdlog::set_default_logger(spdlog::stderr_color_mt("castscope"));
  const char* const wish = std::getenv("CASTSCOPE_LOG");
  if (wish == nullptr || *wish == '\0') return;
  // spdlog takes names that it does not know for "off".
  const spdlog::level::level_enum level = spdlog::level::from_str(wish);
  if (level == spdlog::level::off && std::string(wish) != "off")
    spdlog::warn("CASTSCOPE_LOG is \"{}\": it is one of debug, info, warning, error and off", wish);
  else
    spdlog::set_level(level);
}

}  // namespace castscope::cli
