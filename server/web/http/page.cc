#include "server/web/http/page.h"

#include <string_view>

#include "server/web/http/problem.h"

// These come from the assembler file that cmake/EmbedPage.cmake writes: name, begin and end of each file, with a null
// at the end of the list.
extern "C" {
struct castscope_page_entry {
  const char* path;
  const char* begin;
  const char* end;
};
extern const castscope_page_entry castscope_page[];
}

namespace castscope::web {
namespace {

constexpr char kNotBuilt[] =
    "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>castscope</title>\n"
    "<h1>The viewer's page is not in this program</h1>\n"
    "<p>It was built without Node.js. In castscope's source tree, <code>scripts/demo</code> brings Node.js and builds\n"
    "everything; or run <code>npm ci &amp;&amp; npm run build</code> in <code>ui</code> and build castscope "
    "again.</p>\n"
    "<p>The API answers: <a href=\"./api/v2/runs\">api/v2/runs</a>.</p></html>\n";

std::string_view type_of(std::string_view path) {
  struct Type {
    std::string_view suffix, type;
  };
  constexpr Type kTypes[] = {{".html", "text/html; charset=utf-8"},
                             {".js", "text/javascript; charset=utf-8"},
                             {".css", "text/css; charset=utf-8"},
                             {".svg", "image/svg+xml"},
                             {".png", "image/png"},
                             {".woff2", "font/woff2"},
                             {".json", "application/json"},
                             {".webmanifest", "application/manifest+json"}};
  for (const Type& one : kTypes) {
    if (path.ends_with(one.suffix)) return one.type;
  }
  return "application/octet-stream";
}

}  // namespace

Response answer_page(const std::string& path) {
  const std::string wanted = path == "/" ? "index.html" : path.substr(1);
  for (const auto* file = castscope_page; file->path != nullptr; ++file) {
    if (wanted != file->path) continue;
    Response response{.status = 200, .type = std::string(type_of(wanted)), .body = std::string(file->begin, file->end)};
    // The names of assets contain a hash of their contents.
    if (wanted.starts_with("assets/"))
      response.headers.emplace_back("Cache-Control", "private, max-age=31536000, immutable");
    return response;
  }
  if (path == "/" && castscope_page->path == nullptr)
    return {.status = 503, .type = "text/html; charset=utf-8", .body = kNotBuilt};
  return problem(404, "there is no such file");
}

}  // namespace castscope::web
