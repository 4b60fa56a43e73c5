#include "server/log/log.h"

#include <spdlog/async.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <thread>

#include <nlohmann/json.hpp>

#include "server/utf8/utf8.h"

namespace castscope::log {
namespace {

// What others send may stand in a line: nobody fills a disk with one.
constexpr std::size_t kLongestLine = 4096;

std::atomic<bool> writes_json = false;
// Null: whoever logs writes. It is never deleted: to wait for its thread could mean to wait for a reader of the log.
std::shared_ptr<spdlog::details::thread_pool>& writer = *new std::shared_ptr<spdlog::details::thread_pool>();

// "2026-11-30T01:15:00.123456Z"
std::string time_now() {
  const auto now = std::chrono::system_clock::now();
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count() % 1'000'000;
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min, utc.tm_sec, us);
}

std::string as_json(spdlog::level::level_enum level, const std::string& text, Fields fields) {
  nlohmann::ordered_json line{
      {"time", time_now()}, {"level", fmt::to_string(spdlog::level::to_string_view(level))}, {"message", text}};
  for (const auto& [key, value] : fields) line[std::string(key)] = utf8::on_one_line(std::string(value));
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
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

void write_behind() {
  constexpr std::size_t kMostLines = 8192;
  const std::shared_ptr<spdlog::logger> direct = spdlog::default_logger();
  writer = std::make_shared<spdlog::details::thread_pool>(kMostLines, 1);
  const auto behind =
      std::make_shared<spdlog::async_logger>(direct->name(), direct->sinks().begin(), direct->sinks().end(), writer,
                                             spdlog::async_overflow_policy::overrun_oldest);
  behind->set_level(direct->level());
  spdlog::set_default_logger(behind);
}

std::size_t lost_lines() { return writer != nullptr ? writer->overrun_counter() : 0; }

void finish(std::chrono::milliseconds at_most) {
  if (writer == nullptr) return;
  // The writer takes this from its queue when it has written all lines before it.
  spdlog::default_logger()->flush();
  const auto end = std::chrono::steady_clock::now() + at_most;
  while (writer->queue_size() > 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void write_json() {
  writes_json = true;
  spdlog::set_pattern("%v");
}

void write(Level level, const std::string& text, Fields fields) {
  constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                                                   spdlog::level::err};
  const spdlog::level::level_enum chosen = kLevels[static_cast<std::size_t>(level)];
  if (!spdlog::should_log(chosen)) return;
  const std::string line = utf8::on_one_line(utf8::shortened(text, kLongestLine));
  spdlog::log(chosen, "{}", writes_json ? as_json(chosen, line, fields) : line);
}

void debug_took(const std::string& work, double seconds, const std::string& result) {
  write(Level::kDebug, fmt::format("{} in {:.3f} s: {}", work, seconds, result));
}

}  // namespace castscope::log
