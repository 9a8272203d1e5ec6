#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

// Objects of OpenSSL with an owner, and the few ways in and out of them that this module needs. Not
// for the headers of this module.
namespace berth::trust {

struct Free {
  void operator()(BIO* it) const { BIO_free_all(it); }
  void operator()(EVP_PKEY* it) const { EVP_PKEY_free(it); }
  void operator()(X509* it) const { X509_free(it); }
  void operator()(X509_REQ* it) const { X509_REQ_free(it); }
  void operator()(X509_EXTENSION* it) const { X509_EXTENSION_free(it); }
  void operator()(X509_STORE* it) const { X509_STORE_free(it); }
  void operator()(X509_STORE_CTX* it) const { X509_STORE_CTX_free(it); }
  void operator()(GENERAL_NAME* it) const { GENERAL_NAME_free(it); }
  void operator()(GENERAL_NAMES* it) const { GENERAL_NAMES_free(it); }
  void operator()(BIGNUM* it) const { BN_free(it); }
  void operator()(SSL_CTX* it) const { SSL_CTX_free(it); }
  void operator()(SSL* it) const { SSL_free(it); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

// What OpenSSL says went wrong, and forgets it.
std::string last_reason();

Result<Owned<X509>> read_certificate(const std::string& pem);
Result<Owned<EVP_PKEY>> read_key(const std::string& pem);
Result<Owned<X509_REQ>> read_request(const std::string& pem);

std::string to_pem(X509* certificate);
std::string to_pem(EVP_PKEY* key);
std::string to_pem(X509_REQ* request);

std::string common_name_of(const X509* certificate);
std::string fingerprint_of(const X509* certificate);

std::string to_hex(std::string_view bytes);

}  // namespace berth::trust
