// The headers that keep an answer to the browser that asked for it.
#pragma once

#include "server/web/http/message.h"

namespace castscope::web {

// The browser may load nothing from elsewhere, put nothing into frames, keep nothing in caches, and pass nothing on to
// others. The server adds them to every answer, errors included.
void add_security_headers(Response& response);

}  // namespace castscope::web
