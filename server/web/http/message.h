// A request and its answer, as the viewer's parts hand them to each other.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace castscope::web {

struct Request {
  std::string method;  // GET; for HEAD too: the answer is the same without its body
  std::string path;    // as sent: begins with "/", parts may be percent-encoded
  std::string query;   // the part after the first "?"
  std::string host;
  // Headers, "" = not sent.
  std::string authorization = {}, if_none_match = {}, accept_encoding = {};
  // Whether the client has closed the connection, so that a long answer need not be finished. Null: nobody knows.
  std::function<bool()> hung_up = {};
};

struct Response {
  int status = 200;
  std::string type = {};  // "" = there is no body
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  bool slowly = false;  // it is sent after a moment: a wrong token may be the first of many tries
};

// Called by many threads at once.
using Handler = std::function<Response(const Request&)>;

}  // namespace castscope::web
