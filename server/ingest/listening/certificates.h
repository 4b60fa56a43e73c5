// A collector's certificate, its key and the authorities of its clients, which are replaced while it runs. The files
// are read and checked here, and gRPC gets only what belongs together: its own watcher of files ends the process when
// one of them is empty.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "server/ingest/listening/options.h"

namespace castscope::ingest {

class Certificates {
 public:
  // Texts in the form PEM.
  struct Texts {
    std::string certificates, key;
    std::string client_authorities = {};  // "" = clients need no certificate
    bool operator==(const Texts&) const = default;
  };

  // Reads the files that the options name. The error says which one cannot be used, and why.
  static absl::StatusOr<std::unique_ptr<Certificates>> read(const Options& options);
  ~Certificates();

  std::shared_ptr<const Texts> now() const;
  // Reads the files again. If one of them is wrong, what was read before stays in use, and `certificates_told` of the
  // options gets the sentence, once; and another one when the files are good again.
  void look_again();
  // From now on a thread looks again every ten seconds.
  void watch();

 private:
  Certificates(const Options& options, Texts texts);
  void look_until_told(const std::stop_token& stop);

  const Options options_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Texts> now_;  // under mutex_
  std::string trouble_;               // that was told last; "" = there is none. For the one who looks
  std::condition_variable_any stops_;
  std::jthread watcher_;
};

}  // namespace castscope::ingest
