// Answers in gzip, for clients that accept it. Only compression.cc knows zlib.
#pragma once

#include <cstddef>
#include <string_view>

#include "server/web/http/message.h"

namespace castscope::web {

inline constexpr std::size_t kLeastCompressed = 1024;  // below it the headers weigh more than what is saved

// Whether a client that sent this Accept-Encoding takes gzip: "gzip, br" does; "" and "gzip;q=0" do not.
bool accepts_gzip(std::string_view accept_encoding);

// Compresses the body if it is text of some length and the client takes it. Pictures and traces stay as they are: they
// are packed already, and pictures are asked for many times a second.
void compress_for(std::string_view accept_encoding, Response& response);

}  // namespace castscope::web
