#include "server/relay/sending/tls_probe.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace castscope::relay {
namespace {

struct Place {
  sockaddr_storage where{};
  socklen_t size = 0;
};

std::optional<Place> place_of(const std::string& host, int port) {
  Place place;
  const bool six = host.find(':') != std::string::npos;
  auto* four = reinterpret_cast<sockaddr_in*>(&place.where);
  auto* sixth = reinterpret_cast<sockaddr_in6*>(&place.where);
  place.size = six ? sizeof *sixth : sizeof *four;
  if (six)
    sixth->sin6_family = AF_INET6, sixth->sin6_port = htons(static_cast<std::uint16_t>(port));
  else
    four->sin_family = AF_INET, four->sin_port = htons(static_cast<std::uint16_t>(port));
  void* const to = six ? static_cast<void*>(&sixth->sin6_addr) : &four->sin_addr;
  return inet_pton(six ? AF_INET6 : AF_INET, host.c_str(), to) == 1 ? std::make_optional(place) : std::nullopt;
}

// "…: ipv4:127.0.0.1:7390: …", "…: ipv6:%5B::1%5D:7390: …"
std::optional<Place> place_in(const std::string& failure) {
  const bool six = failure.find("ipv4:") == std::string::npos;
  const std::size_t begin = failure.rfind(six ? "ipv6:" : "ipv4:");
  if (begin == std::string::npos) return std::nullopt;
  std::string text = absl::StrReplaceAll(failure.substr(begin + 5), {{"%5B", "["}, {"%5D", "]"}});
  const std::size_t host_end = six ? text.find(']') : text.find(':');
  if (host_end == std::string::npos || host_end + 2 > text.size()) return std::nullopt;
  const std::string host = six ? text.substr(1, host_end - 1) : text.substr(0, host_end);
  const std::string rest = text.substr(host_end + (six ? 2 : 1));
  int port = 0;
  if (!absl::SimpleAtoi(rest.substr(0, rest.find_first_not_of("0123456789")), &port)) return std::nullopt;
  return place_of(host, port);
}

std::string host_of(const std::string& address) {
  std::string host = address.substr(0, address.rfind(':'));
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  return host;
}

// Names other than localhost are not looked up. Without TLS a collector is on this machine in any case (needs_tls).
std::optional<Place> place_at(const std::string& address) {
  int port = 0;
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || !absl::SimpleAtoi(address.substr(colon + 1), &port)) return std::nullopt;
  const std::string host = host_of(address);
  return place_of(host == "localhost" ? "127.0.0.1" : host, port);
}

// Returns "" if the certificate gives neither four nor sixteen bytes as an address.
std::string address_in(const ASN1_OCTET_STRING* bytes) {
  const int family = ASN1_STRING_length(bytes) == 4 ? AF_INET : ASN1_STRING_length(bytes) == 16 ? AF_INET6 : AF_UNSPEC;
  char text[INET6_ADDRSTRLEN] = "";
  return inet_ntop(family, ASN1_STRING_get0_data(bytes), text, sizeof text) == nullptr ? "" : text;
}

// Returns the hosts' names and addresses that the certificate is for, in one text.
std::string names_of(const X509* certificate) {
  auto* const names =
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  std::vector<std::string> all;
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    if (const std::string address = name->type == GEN_IPADD ? address_in(name->d.iPAddress) : ""; !address.empty())
      all.push_back(address);
    if (name->type == GEN_DNS)
      all.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
                       static_cast<std::size_t>(ASN1_STRING_length(name->d.dNSName)));
  }
  GENERAL_NAMES_free(names);
  return all.empty() ? "no name at all" : absl::StrJoin(all, ", ");
}

std::string about_certificate(SSL* ssl, long verdict, const std::string& host, const Tls& tls) {
  X509* const certificate = SSL_get_peer_certificate(ssl);
  const absl::Cleanup free = [certificate] { X509_free(certificate); };
  const char* const words = X509_verify_cert_error_string(verdict);
  if (verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH)
    return absl::StrCat("the collector's certificate is for ",
                        certificate != nullptr ? names_of(certificate) : "others", ", and not for ", host);
  if (verdict == X509_V_ERR_CERT_HAS_EXPIRED || verdict == X509_V_ERR_CERT_NOT_YET_VALID)
    return absl::StrCat("the collector's certificate is not valid now: ", words);
  if (tls.root_certificate_file.empty())
    return absl::StrCat("no authority that this system knows stands for the collector's certificate (", words,
                        "): give the file of its authority with --ca, or in CASTSCOPE_CA");
  return absl::StrCat("the authorities in ", tls.root_certificate_file,
                      " do not stand for the collector's certificate (", words, ")");
}

// A connection whose every step takes so long at most; -1: there is none, and errno says why.
int connect_to(const Place& place, std::chrono::seconds longest) {
  const int socket = ::socket(place.where.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{.tv_sec = longest.count(), .tv_usec = 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (connect(socket, reinterpret_cast<const sockaddr*>(&place.where), place.size) == 0) return socket;
  const int why = errno;
  close(socket);
  errno = why;
  return -1;
}

// OpenSSL calls it where the collector asks for a certificate and none was given.
int note_request(SSL* ssl, X509**, EVP_PKEY**) {
  *static_cast<bool*>(SSL_get_app_data(ssl)) = true;
  return 0;
}

void offer_own_certificate(SSL_CTX* context, const Tls& tls) {
  SSL_CTX_set_client_cert_cb(context, note_request);
  if (tls.certificate_file.empty()) return;
  SSL_CTX_use_certificate_chain_file(context, tls.certificate_file.c_str());
  SSL_CTX_use_PrivateKey_file(context, tls.key_file.c_str(), SSL_FILETYPE_PEM);
}

// In TLS 1.3 a client has shaken hands before the other end has seen its certificate. A collector that takes it sends
// the first frame of HTTP/2.
std::string about_own_certificate(SSL* ssl, bool asked, const Tls& tls) {
  if (asked && tls.certificate_file.empty())
    return "the collector asks for a certificate of ours: give it and its key with --client-cert and --client-key, or "
           "in "
           "CASTSCOPE_CERT and CASTSCOPE_KEY";
  char first = 0;
  if (tls.certificate_file.empty() || SSL_read(ssl, &first, 1) > 0) return "";
  const char* const words = ERR_reason_error_string(ERR_peek_error());
  ERR_clear_error();
  return absl::StrCat("the collector does not take our certificate, ", tls.certificate_file,
                      words != nullptr ? absl::StrCat(" (", words, ")") : "");
}

std::string try_tls(int connection, const std::string& host, const Tls& tls) {
  SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
  const absl::Cleanup free_context = [context] { SSL_CTX_free(context); };
  if (tls.use && !tls.root_certificate_file.empty())
    SSL_CTX_load_verify_locations(context, tls.root_certificate_file.c_str(), nullptr);
  else
    SSL_CTX_set_default_verify_paths(context);
  SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);  // a bad certificate does not end it: it is to be looked at
  offer_own_certificate(context, tls);
  SSL* const ssl = SSL_new(context);
  bool asked = false;
  SSL_set_app_data(ssl, &asked);
  const absl::Cleanup free_ssl = [ssl] { SSL_free(ssl); };
  static constexpr unsigned char kHttp2[] = {2, 'h', '2'};
  SSL_set_alpn_protos(ssl, kHttp2, sizeof kHttp2);
  in6_addr number{};
  if (inet_pton(AF_INET, host.c_str(), &number) == 1 || inet_pton(AF_INET6, host.c_str(), &number) == 1)
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str());
  else
    SSL_set_tlsext_host_name(ssl, host.c_str()), SSL_set1_host(ssl, host.c_str());
  SSL_set_fd(ssl, connection);
  const bool speaks_tls = SSL_connect(ssl) == 1;
  const unsigned long error = ERR_peek_error();
  ERR_clear_error();
  if (!tls.use) return speaks_tls ? "the collector speaks TLS there: give --tls, and --ca with its authority" : "";
  if (const long verdict = SSL_get_verify_result(ssl); verdict != X509_V_OK)
    return about_certificate(ssl, verdict, host, tls);
  if (!speaks_tls && ERR_GET_REASON(error) == SSL_R_WRONG_VERSION_NUMBER) return "who listens there does not speak TLS";
  return speaks_tls ? about_own_certificate(ssl, asked, tls) : "";
}

// What gRPC says where an attempt was cut short, or where the other end closed what it did not understand. Neither says
// what is wrong.
bool says_nothing(const std::string& failure) {
  return absl::StrContains(failure, "tcp handshaker shutdown") || absl::StrContains(failure, "Socket closed");
}

std::optional<Place> place_tried(const std::string& address, const std::string& failure) {
  const std::optional<Place> place = place_in(failure);
  return place || !says_nothing(failure) ? place : place_at(address);
}

}  // namespace

std::string what_is_wrong_with_tls(const std::string& address, const Tls& tls, const std::string& failure,
                                   std::chrono::seconds patience) {
  const std::optional<Place> place = place_tried(address, failure);
  if (!place) return "";
  const int connection = connect_to(*place, patience);
  if (connection < 0)
    return errno == ECONNREFUSED && says_nothing(failure) ? "no connection to the collector: connection refused" : "";
  const std::string why = try_tls(connection, host_of(address), tls);
  close(connection);
  return why;
}

std::string why_tls_failed(const std::string& address, const Tls& tls, const std::string& failure) {
  const std::string of_tls = what_is_wrong_with_tls(address, tls, failure, std::chrono::seconds(1));
  return of_tls.empty() ? failure : of_tls;
}

}  // namespace castscope::relay
