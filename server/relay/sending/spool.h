// A file in which a relay keeps what its collector has not acknowledged: what does not fit into memory while the
// collector is away, and what is left when the job ends. It holds all that a sender needs who knows nothing of the
// job (bring_home.h). One file is one relay's.
//
// The file: the text kSpoolBegin, then records, each `length`, `checksum` (32 bits each, little-endian, CRC-32 of what
// follows), one byte for its kind, and its content. A record that is damaged ends what can be read, and so
// does one that is cut short: whoever wrote it was killed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/castscope/v1/castscope.pb.h"

namespace castscope::relay {

// The collector that a relay sends to, without the token: that is no file's.
struct Destination {
  std::string address;
  bool tls = false;
  std::string root_certificate_file = {};
  std::string certificate_file = {}, key_file = {};  // the sender's own
  std::string token_proof = {};  // which token was given for it (cli/recording/token_proof.h); "" = none
};

class Spool {
 public:
  // Where a message lies in the file.
  struct Place {
    std::uint64_t offset = 0;
    std::uint32_t bytes = 0;
  };
  struct Contents {
    Destination destination;
    v1::Hello hello;
    std::vector<v1::RelayMessage> introductions;
    std::vector<Place> messages;  // numbered, in their order
    std::string damage;           // a sentence where the file cannot be read to its end
  };

  // Makes the file, for its owner alone, and writes who sends whereto. It will take `most_bytes`.
  static absl::StatusOr<std::unique_ptr<Spool>> create(const std::string& path, const Destination&, v1::Hello hello,
                                                       std::uint64_t most_bytes);
  // Opens a file that a relay left behind, and reads it. ABORTED: another process is at work with it. DATA_LOSS: it
  // does not say any more whose it is or where it is to go. INVALID_ARGUMENT: it is no such file.
  static absl::StatusOr<std::unique_ptr<Spool>> open(const std::string& path, Contents* contents);
  ~Spool();  // the file stays
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  absl::Status add_introduction(const v1::RelayMessage& message);
  absl::StatusOr<Place> add(const v1::RelayMessage& message);
  absl::StatusOr<v1::RelayMessage> read(const Place& place) const;
  bool has_room(std::uint64_t bytes) const { return size_ + bytes <= most_bytes_; }
  std::uint64_t bytes() const { return size_; }
  // Waits until the disk has all of it.
  absl::Status sync();
  // Deletes the file, or gives it another name if it may hold more than could be read: returns that, or "". A length
  // that is damaged may point beyond the file's end, so one that seems to be cut short keeps its last piece, too.
  absl::StatusOr<std::string> remove();
  const std::string& path() const { return path_; }

 private:
  Spool(std::string path, int file, std::uint64_t most_bytes)
      : path_(std::move(path)), file_(file), most_bytes_(most_bytes) {}
  absl::StatusOr<Place> append(char kind, const std::string& content);
  absl::Status read_all(Contents* contents);

  const std::string path_;
  const int file_;
  const std::uint64_t most_bytes_;
  std::uint64_t size_ = 0;
  bool has_rest_ = false;  // there may be something of use behind the damage
};

}  // namespace castscope::relay
