// Where the collector listens, and which relays it accepts.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "server/admission/door.h"
#include "server/ingest/listening/traffic.h"

namespace castscope::ingest {

struct Options {
  // "" = do not listen (in_process_channel only); otherwise "host:port" (port 0 = any free one), "[::1]:port",
  // "unix:PATH".
  std::string address = {};
  std::shared_ptr<admission::Door> door = {};  // knows the tokens; null = everybody is let in
  std::string version = {};                    // of castscope, for relays
  std::string certificate_file = {};           // PEM; with key_file: TLS
  std::string key_file = {};
  // PEM; with a certificate: clients need a certificate of one of these authorities. "" = they need none.
  std::string client_authorities_file = {};
  // Called with the sentence of each stream that is refused, from any thread; with "" where it was for its token, which
  // the door tells. Empty: nobody wants it.
  std::function<void(const std::string& sentence)> refused = {};
  // Called with what there is to say of the files of TLS while the collector runs, from a thread of its own. Empty:
  // nobody wants it.
  std::function<void(const std::string& sentence, bool is_trouble)> certificates_told = {};
  std::shared_ptr<Traffic> traffic = {};             // null: nobody wants to know
  std::chrono::milliseconds hello_deadline{10'000};  // a peer that says nothing until then is disconnected
};

}  // namespace castscope::ingest
