#include "controld/identity/server_identity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <iterator>
#include <utility>

#include "trust/files.h"

namespace berth::controld {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

Error lost_key(const fs::path& directory, std::string_view what) {
  const std::string state = directory.parent_path().string();
  return {Code::Damaged,
          fmt::format(
              "{0}: {1}. This unit has an authority: its nodes and users trust nobody else, so no "
              "new one is made. Put {0} back from a backup of it. If there is none, the unit can "
              "only be given a new authority, and every node and user has to join again: berth "
              "store repair --new-authority --directory {2}",
              directory.string(), what, state)};
}

// The authority's certificate is in the store too; only the key cannot be had again.
bool put_certificate_back(const fs::path& directory, const std::string& certificate) {
  const std::string key = text_of(trust::files_in(directory).key);
  return trust::check_pair({key, certificate}) &&
         trust::save(directory, {{key, certificate}, certificate});
}

bool has_any_file(const fs::path& directory) {
  std::error_code error;
  const trust::CredentialFiles files = trust::files_in(directory);
  return fs::exists(files.key, error) || fs::exists(files.certificate, error) ||
         fs::exists(files.authority, error);
}

Result<trust::Authority> load_authority(const fs::path& directory, const trust::Credentials& known,
                                        const std::string& certificate_on_record) {
  trust::Authority authority = TRY(trust::Authority::load(known.own));
  const auto on_record = trust::look_at(certificate_on_record);
  if (on_record && on_record->fingerprint != authority.fingerprint()) {
    return lost_key(directory, fmt::format("this is authority {}, and the store is of a unit with "
                                           "authority {}",
                                           authority.fingerprint(), on_record->fingerprint));
  }
  return authority;
}

Result<trust::Authority> load_or_make_authority(const fs::path& directory, trust::WallTime now,
                                                const AuthorityOnRecord& on_record) {
  const std::string certificate = on_record.certificate.value_or("");
  auto known = trust::load(directory);
  if (!known && put_certificate_back(directory, certificate)) known = trust::load(directory);
  if (known) return load_authority(directory, *known, certificate);
  const bool was_given_up = on_record.certificate && certificate.empty();
  const bool is_on_record = !certificate.empty() || (on_record.has_nodes && !was_given_up);
  if (is_on_record || has_any_file(directory)) {
    const bool is_missing = known.error().code == Code::NotFound;
    return lost_key(directory, is_missing ? "the key of the authority, or its certificate, is gone"
                                          : "the key and the certificate of the authority cannot "
                                            "be used");
  }
  trust::Authority authority = TRY(trust::Authority::make(now));
  TRY(trust::save(directory, {authority.pem(), authority.pem().certificate}));
  return authority;
}

}  // namespace

ServerIdentity::ServerIdentity(trust::Authority authority, std::filesystem::path directory,
                               std::vector<std::string> hosts, std::chrono::hours validity)
    : authority_(std::move(authority)),
      directory_(std::move(directory)),
      hosts_(std::move(hosts)),
      validity_(validity) {}

Result<std::unique_ptr<ServerIdentity>> ServerIdentity::open(const std::filesystem::path& directory,
                                                             std::vector<std::string> hosts,
                                                             trust::WallTime now,
                                                             std::chrono::hours validity,
                                                             const AuthorityOnRecord& on_record) {
  trust::Authority authority = TRY(load_or_make_authority(directory / "authority", now, on_record));
  std::unique_ptr<ServerIdentity> identity(
      new ServerIdentity(std::move(authority), directory / "server", std::move(hosts), validity));
  TRY(identity->load_or_make(now));
  return identity;
}

bool ServerIdentity::is_on_record(const std::filesystem::path& directory) {
  std::error_code error;
  return std::filesystem::exists(directory / "authority", error);
}

trust::KeyAndCertificate ServerIdentity::server() const {
  const std::lock_guard lock(mutex_);
  return server_;
}

std::string ServerIdentity::hosts_text() const {
  return fmt::format("{}\n", fmt::join(hosts_, "\n"));
}

// What cannot be read is made anew: unlike the authority's, nobody else relies on this certificate.
// One that is outdated is better than none: a disk that is full must not keep us from starting.
Result<void> ServerIdentity::load_or_make(trust::WallTime now) {
  const auto known = trust::load(directory_);
  if (!known || known->authority != authority_.pem().certificate) return make(now);
  server_ = known->own;
  const auto view = trust::look_at(known->own.certificate);
  const bool is_right =
      text_of(directory_ / "hosts") == hosts_text() && view && !trust::wants_renewal(*view, now);
  if (is_right) return {};
  if (const auto made = make(now); !made) overdue_ = made.error();
  return {};
}

std::optional<std::string> ServerIdentity::remark() const {
  const std::lock_guard lock(mutex_);
  if (!overdue_) return std::nullopt;
  return "the server's certificate should be replaced, and the old one is used on: " +
         overdue_->message;
}

Result<void> ServerIdentity::make(trust::WallTime now) {
  trust::KeyAndCertificate fresh;
  fresh.key = trust::make_key();
  const std::string request = TRY(trust::make_request(fresh.key));
  fresh.certificate =
      TRY(authority_.sign(request, {trust::Role::Server, "berthd"}, validity_, now, hosts_));
  TRY(trust::save(directory_, {fresh, authority_.pem().certificate}));
  TRY(trust::write_secret(directory_ / "hosts", hosts_text()));
  const std::lock_guard lock(mutex_);
  server_ = std::move(fresh);
  overdue_.reset();
  return {};
}

Result<bool> ServerIdentity::renew_if_needed(trust::WallTime now) {
  const auto view = trust::look_at(server().certificate);
  if (view && !trust::wants_renewal(*view, now) && !remark()) return false;
  TRY(make(now));
  return true;
}

}  // namespace berth::controld
