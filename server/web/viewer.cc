#include "server/web/viewer.h"

#include "absl/strings/str_cat.h"
#include "server/admission/digest.h"
#include "server/admission/random_token.h"
#include "server/web/api/routes.h"
#include "server/web/http/access.h"
#include "server/web/http/page.h"

namespace castscope::web {

Response answer(Runs& runs, const Request& request) {
  return request.path.starts_with("/api/") ? answer_api(runs, request) : answer_page(request.path);
}

absl::StatusOr<std::unique_ptr<Viewer>> Viewer::on(const std::string& address, std::shared_ptr<Runs> runs,
                                                   const std::string& token_file, Admits admits) {
  auto listener = Listener::bind(address);
  if (!listener.ok()) return listener.status();
  auto token = token_file.empty() ? admission::new_token() : kept_token(token_file);
  if (!token.ok()) return token.status();
  return std::unique_ptr<Viewer>(new Viewer(*std::move(listener), *token, std::move(runs), std::move(admits)));
}

Viewer::Viewer(Listener listener, const std::string& token, std::shared_ptr<Runs> runs, Admits others)
    : listener_(std::make_unique<Listener>(std::move(listener))),
      url_(absl::StrCat("http://", listener_->address(), "/t/", token, "/")),
      runs_(std::move(runs)),
      // Digests take the same time to compare wherever they differ.
      admits_([own = admission::digest_of(token), others = std::move(others)](const std::string& given) {
        return admission::digest_of(given) == own || (others && others(given));
      }) {}

absl::Status Viewer::start() {
  auto server =
      HttpServer::start(std::move(*listener_),
                        guarded(admits_, [runs = runs_](const Request& request) { return answer(*runs, request); }));
  if (!server.ok()) return server.status();
  server_ = *std::move(server);
  return absl::OkStatus();
}

bool Viewer::stop(std::chrono::milliseconds at_most) { return server_ == nullptr || server_->stop(at_most); }

}  // namespace castscope::web
