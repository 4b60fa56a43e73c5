// A key and a certificate for 127.0.0.1, made for one test and signed by itself.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>
#include <string>

namespace castscope {

inline bool write_certificate(const std::string& certificate_file, const std::string& key_file) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), &X509_free);
  if (key == nullptr || certificate == nullptr) return false;
  X509* x = certificate.get();
  X509_set_version(x, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
  X509_gmtime_adj(X509_getm_notBefore(x), -3600);
  X509_gmtime_adj(X509_getm_notAfter(x), 3600);
  X509_set_pubkey(x, key.get());
  X509_NAME* name = X509_get_subject_name(x);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
  X509_set_issuer_name(x, name);
  for (const auto& [nid, value] :
       {std::pair{NID_basic_constraints, "CA:TRUE"}, std::pair{NID_subject_alt_name, "IP:127.0.0.1"}}) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value);
    X509_add_ext(x, extension, -1);
    X509_EXTENSION_free(extension);
  }
  if (X509_sign(x, key.get(), EVP_sha256()) == 0) return false;
  auto write = [](const std::string& path, const auto& content) {
    FILE* file = std::fopen(path.c_str(), "w");
    return file != nullptr && content(file) == 1 && std::fclose(file) == 0;
  };
  return write(certificate_file, [&](FILE* file) { return PEM_write_X509(file, x); }) &&
         write(key_file, [&](FILE* file) {
           return PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
         });
}

}  // namespace castscope
