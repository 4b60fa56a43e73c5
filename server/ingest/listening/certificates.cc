#include "server/ingest/listening/certificates.h"

#include <chrono>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/tls_files.h"

namespace castscope::ingest {
namespace {

constexpr std::chrono::seconds kBetweenLooks{10};

absl::StatusOr<Certificates::Texts> read_texts(const Options& options) {
  absl::StatusOr<std::string> certificates = wire::read_certificates(options.certificate_file);
  if (!certificates.ok()) return certificates.status();
  absl::StatusOr<std::string> key = wire::read_key(options.key_file, *certificates, options.certificate_file);
  if (!key.ok()) return key.status();
  Certificates::Texts texts{.certificates = *std::move(certificates), .key = *std::move(key)};
  if (options.client_authorities_file.empty()) return texts;
  absl::StatusOr<std::string> authorities = wire::read_certificates(options.client_authorities_file);
  if (!authorities.ok()) return authorities.status();
  texts.client_authorities = *std::move(authorities);
  return texts;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Certificates>> Certificates::read(const Options& options) {
  absl::StatusOr<Texts> texts = read_texts(options);
  if (!texts.ok()) return texts.status();
  return std::unique_ptr<Certificates>(new Certificates(options, *std::move(texts)));
}

Certificates::Certificates(const Options& options, Texts texts)
    : options_(options), now_(std::make_shared<const Texts>(std::move(texts))) {}

Certificates::~Certificates() {
  watcher_.request_stop();
  if (watcher_.joinable()) watcher_.join();
}

std::shared_ptr<const Certificates::Texts> Certificates::now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

void Certificates::look_again() {
  const auto tell = [this](const std::string& sentence, bool is_trouble) {
    if (options_.certificates_told) options_.certificates_told(sentence, is_trouble);
  };
  absl::StatusOr<Texts> texts = read_texts(options_);
  if (!texts.ok()) {
    const std::string why(texts.status().message());
    if (std::exchange(trouble_, why) != why)
      tell(absl::StrCat(why, "; the certificate that was read before stays in use"), true);
    return;
  }
  const bool was_wrong = !std::exchange(trouble_, "").empty();
  const bool is_new = *texts != *now();
  if (is_new) {
    const std::lock_guard lock(mutex_);
    now_ = std::make_shared<const Texts>(*std::move(texts));
  }
  if (is_new)
    tell(absl::StrCat("the certificate was read again from ", options_.certificate_file), false);
  else if (was_wrong)
    tell(absl::StrCat("the files of the certificate ", options_.certificate_file, " are good again"), false);
}

void Certificates::watch() {
  watcher_ = std::jthread([this](const std::stop_token& stop) { look_until_told(stop); });
}

void Certificates::look_until_told(const std::stop_token& stop) {
  std::mutex waiting;
  std::unique_lock lock(waiting);
  while (!stops_.wait_for(lock, stop, kBetweenLooks, [&stop] { return stop.stop_requested(); })) {
    try {
      look_again();
    } catch (const std::bad_alloc&) {
      continue;  // the next look may find memory
    }
  }
}

}  // namespace castscope::ingest
