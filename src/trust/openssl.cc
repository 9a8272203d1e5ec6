#include "trust/openssl.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <array>
#include <climits>

#include "base/check.h"

namespace berth::trust {
namespace {

// Nothing of ours is longer; OpenSSL takes lengths as int.
constexpr std::size_t kPemMax = 1 << 20;

Owned<BIO> reading(const std::string& text) {
  Owned<BIO> bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  CHECK(bio != nullptr, "out of memory");
  return bio;
}

// Without it OpenSSL would ask the terminal for the password of an encrypted key.
int no_password(char*, int, int, void*) { return -1; }

template <class T, class Read>
Result<Owned<T>> read_pem(const std::string& pem, const char* what, Read read) {
  if (pem.size() > kPemMax) return invalid_input(std::string("too long for ") + what);
  const Owned<BIO> bio = reading(pem);
  Owned<T> object(read(bio.get(), nullptr, no_password, nullptr));
  if (object == nullptr) return invalid_input("not " + std::string(what) + ": " + last_reason());
  return object;
}

template <class Write>
std::string write_pem(Write write) {
  const Owned<BIO> bio(BIO_new(BIO_s_mem()));
  CHECK(bio != nullptr && write(bio.get()) == 1, "writing to memory cannot fail");
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

}  // namespace

std::string last_reason() {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = ERR_reason_error_string(code);
  ERR_clear_error();
  return reason == nullptr ? "no reason given" : reason;
}

Result<Owned<X509>> read_certificate(const std::string& pem) {
  return read_pem<X509>(pem, "a PEM certificate", PEM_read_bio_X509);
}

Result<Owned<EVP_PKEY>> read_key(const std::string& pem) {
  return read_pem<EVP_PKEY>(pem, "a PEM private key", PEM_read_bio_PrivateKey);
}

Result<Owned<X509_REQ>> read_request(const std::string& pem) {
  return read_pem<X509_REQ>(pem, "a PEM certificate request", PEM_read_bio_X509_REQ);
}

std::string to_pem(X509* certificate) {
  return write_pem([&](BIO* out) { return PEM_write_bio_X509(out, certificate); });
}

std::string to_pem(EVP_PKEY* key) {
  return write_pem([&](BIO* out) {
    return PEM_write_bio_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

std::string to_pem(X509_REQ* request) {
  return write_pem([&](BIO* out) { return PEM_write_bio_X509_REQ(out, request); });
}

std::string common_name_of(const X509* certificate) {
  X509_NAME* subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return "";
  unsigned char* text = nullptr;
  const int size =
      ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  if (size < 0) return "";
  std::string name(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
  OPENSSL_free(text);
  return name;
}

std::string fingerprint_of(const X509* certificate) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  CHECK(X509_digest(certificate, EVP_sha256(), digest.data(), &size) == 1, "a digest is possible");
  return to_hex({reinterpret_cast<const char*>(digest.data()), size});
}

std::string to_hex(std::string_view bytes) {
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    hex += "0123456789abcdef"[static_cast<unsigned char>(byte) >> 4];
    hex += "0123456789abcdef"[static_cast<unsigned char>(byte) & 15];
  }
  return hex;
}

}  // namespace berth::trust
