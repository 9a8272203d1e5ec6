#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "trust/certificate.h"

// Keys and certificates on disk.
namespace berth::trust {

struct Credentials {
  KeyAndCertificate own;
  std::string authority;  // PEM

  friend bool operator==(const Credentials&, const Credentials&) = default;
};

// Where they are in their directory; for programs that read the files themselves.
struct CredentialFiles {
  std::filesystem::path key;          // key.pem
  std::filesystem::path certificate;  // cert.pem
  std::filesystem::path authority;    // ca.pem
};
CredentialFiles files_in(const std::filesystem::path& directory);

// Makes the directory (0700) if needed and writes what differs (0600). After a power cut at any
// moment `load` gives the old or the new ones, never a key with another's certificate.
Result<void> save(const std::filesystem::path& directory, const Credentials& credentials);

// NotFound if there are none, Damaged if they do not belong together.
Result<Credentials> load(const std::filesystem::path& directory);

// Replaces the file by one with this text, mode 0600, durable when it returns.
Result<void> write_secret(const std::filesystem::path& path, std::string_view text);

}  // namespace berth::trust
