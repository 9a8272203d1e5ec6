#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
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

// What the store knows of the authority. Others rely on it: one that is on record is never replaced
// by a new one.
struct AuthorityOnRecord {
  std::optional<std::string> certificate = {};  // PEM; "": it was given up
  bool has_nodes = false;                       // that can only have joined with an authority
};

// The unit's authority and the server's own certificate, kept in files that only berthd may read;
// both are made on the first start. Safe to use from any thread.
class ServerIdentity {
 public:
  // `hosts`: names and addresses under which others reach this server. A certificate for other
  // hosts, or one that wants renewal, is replaced; if that cannot be written, the one that is there
  // is used on. With an authority on record, or anything left of its files, the want of its key is
  // an error that says what can be done; a certificate of it that is missing is put back.
  static Result<std::unique_ptr<ServerIdentity>> open(const std::filesystem::path& directory,
                                                      std::vector<std::string> hosts,
                                                      trust::WallTime now,
                                                      std::chrono::hours validity,
                                                      const AuthorityOnRecord& on_record = {});

  // Whether this directory has had an authority: then its unit is not new.
  static bool is_on_record(const std::filesystem::path& directory);

  const trust::Authority& authority() const { return authority_; }
  std::chrono::hours validity() const { return validity_; }  // of what the authority signs
  trust::KeyAndCertificate server() const;
  // Where trust::save has put the server's key and certificate.
  const std::filesystem::path& directory() const { return directory_; }

  // Why the server's certificate is not the one that it should be.
  std::optional<std::string> remark() const;

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
  std::optional<Error> overdue_;  // why it could not be replaced
};

}  // namespace berth::controld
