// The files of the viewer's page, which are embedded in the program.
#pragma once

#include <string>

#include "server/web/http/message.h"

namespace castscope::web {

// "/" is the page, "/assets/…" are its files. A program that was built without the page answers with a page that says
// so.
Response answer_page(const std::string& path);

}  // namespace castscope::web
