// Where the collector listens, and which relays it accepts.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace castscope::ingest {

struct Options {
  // "" = do not listen (in_process_channel only); otherwise "host:port" (port 0 = any free one), "[::1]:port",
  // "unix:PATH".
  std::string address = {};
  std::string token = {};             // "" = relays need none
  std::string version = {};           // of castscope, for relays
  std::string certificate_file = {};  // PEM; with key_file: TLS
  std::string key_file = {};
  // Called with a sentence about what happened at the door: a wrong token came. From any thread. Empty: nobody wants
  // it.
  std::function<void(const std::string& sentence)> audit = {};
  // Called with the sentence of each stream that is refused, from any thread. Empty: nobody wants it.
  std::function<void(const std::string& sentence)> refused = {};
  std::chrono::milliseconds hello_deadline{10'000};  // a peer that says nothing until then is disconnected
};

}  // namespace castscope::ingest
