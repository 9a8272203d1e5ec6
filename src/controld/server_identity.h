#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "trust/certificate.h"

namespace berth::controld {

// How long a certificate is good for, and how often a server looks whether its own wants renewal.
struct CertificateTimes {
  std::chrono::hours validity{365 * 24};
  std::chrono::milliseconds look_every = std::chrono::hours(1);
};

// The unit's authority and the server's own certificate, kept in files that only berthd may read;
// both are made on the first start. Safe to use from any thread.
class ServerIdentity {
 public:
  // `hosts`: names and addresses under which others reach this server. A certificate for other
  // hosts, or one that wants renewal, is replaced.
  static Result<std::unique_ptr<ServerIdentity>> open(const std::filesystem::path& directory,
                                                      std::vector<std::string> hosts,
                                                      trust::WallTime now,
                                                      std::chrono::hours validity);

  // Whether this directory has had an authority: then its unit is not new.
  static bool is_on_record(const std::filesystem::path& directory);

  const trust::Authority& authority() const { return authority_; }
  std::chrono::hours validity() const { return validity_; }  // of what the authority signs
  trust::KeyAndCertificate server() const;
  // Where trust::save has put the server's key and certificate.
  const std::filesystem::path& directory() const { return directory_; }

  // Whether there is a new certificate now.
  Result<bool> renew_if_needed(trust::WallTime now);

 private:
  ServerIdentity(trust::Authority authority, std::filesystem::path directory,
                 std::vector<std::string> hosts, std::chrono::hours validity);

  Result<void> load_or_make(trust::WallTime now);
  Result<void> make(trust::WallTime now);
  std::string hosts_text() const;

  const trust::Authority authority_;
  const std::filesystem::path directory_;
  const std::vector<std::string> hosts_;
  const std::chrono::hours validity_;
  mutable std::mutex mutex_;
  trust::KeyAndCertificate server_;
};

}  // namespace berth::controld
