// The viewer as commands use it: its runs, and its page and API on a port of this machine.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/web/http/access.h"
#include "server/web/http/http_server.h"
#include "server/web/runs/runs.h"

namespace castscope::web {

class Viewer {
 public:
  // Nobody gets an answer before start(). An address that others can reach is refused. `token_file` holds the token of
  // the viewer before, and keeps this one's (http/access.h); "" = the token is new each time. Of any other token
  // `admits` is asked; null: none lets in.
  static absl::StatusOr<std::unique_ptr<Viewer>> on(const std::string& address, std::shared_ptr<Runs> runs,
                                                    const std::string& token_file = "", Admits admits = nullptr);
  absl::Status start();

  const std::string& url() const { return url_; }  // with the token: whoever has it sees everything
  // Returns false if somebody is still being answered after that time. The answer's data stay alive; the process may
  // end.
  bool stop(std::chrono::milliseconds at_most);

 private:
  Viewer(Listener listener, const std::string& token, std::shared_ptr<Runs> runs, Admits others);
  std::unique_ptr<Listener> listener_;  // until start()
  std::string url_;
  std::shared_ptr<Runs> runs_;
  Admits admits_;
  std::unique_ptr<HttpServer> server_;
};

// The page and the API without access control: `path` is the part after the token.
Response answer(Runs& runs, const Request& request);

}  // namespace castscope::web
