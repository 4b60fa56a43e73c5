// castscope's log, on standard error: what the collector does (CASTSCOPE_LOG=info, as it is without), and where the
// program's time goes (CASTSCOPE_LOG=debug). Any thread may write to it.
#pragma once

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace castscope::log {

enum class Level { kDebug, kInfo, kWarning, kError };

// Sends the log to standard error, at the level that CASTSCOPE_LOG names. Call it before anything is written.
void begin();
// From now on a thread of its own writes the lines: nobody who logs waits for whoever reads the log. While nobody reads
// it, the oldest lines are lost, and counted.
void write_behind();
std::size_t lost_lines();
// Waits until what was logged is written, for at most this time; to be called before the process ends.
void finish(std::chrono::milliseconds at_most);
// From now on each line is a JSON object: time (UTC), level, message, and the fields that the line was given.
void write_json();
// The text is written on one line; of one with more than 4 KiB the rest is counted, and not written. `fields` are for
// programs that read the log: what they say stands in the text, too. Only JSON lines have them.
using Fields = std::initializer_list<std::pair<std::string_view, std::string_view>>;
void write(Level level, const std::string& text, Fields fields = {});

inline void info(const std::string& text) { write(Level::kInfo, text); }
inline void warn(const std::string& text) { write(Level::kWarning, text); }
inline void error(const std::string& text) { write(Level::kError, text); }
// Says how long a piece of work took: "read the run in 0.012 s: 7 sites".
void debug_took(const std::string& work, double seconds, const std::string& result);

}  // namespace castscope::log
