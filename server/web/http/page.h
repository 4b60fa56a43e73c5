// The files of the viewer's page, which the program carries inside.
#pragma once

#include <string>

#include "server/web/http/http_server.h"

namespace castscope::web {

// "/" is the page, "/assets/…" are its files. Where the program was built without the page: one that says so.
Response answer_page(const std::string& path);

}  // namespace castscope::web
