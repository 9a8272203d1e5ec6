#include "controld/server_identity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <iterator>
#include <utility>

#include "trust/files.h"

namespace berth::controld {
namespace {

Result<trust::Authority> load_or_make_authority(const std::filesystem::path& directory,
                                                trust::WallTime now) {
  const auto known = trust::load(directory);
  if (known) return trust::Authority::load(known->own);
  if (known.error().code != Code::NotFound) return known.error();
  trust::Authority authority = TRY(trust::Authority::make(now));
  TRY(trust::save(directory, {authority.pem(), authority.pem().certificate}));
  return authority;
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
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
                                                             std::chrono::hours validity) {
  trust::Authority authority = TRY(load_or_make_authority(directory / "authority", now));
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
Result<void> ServerIdentity::load_or_make(trust::WallTime now) {
  const auto known = trust::load(directory_);
  if (!known || known->authority != authority_.pem().certificate) return make(now);
  if (text_of(directory_ / "hosts") != hosts_text()) return make(now);
  const auto view = trust::look_at(known->own.certificate);
  if (!view || trust::wants_renewal(*view, now)) return make(now);
  server_ = known->own;
  return {};
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
  return {};
}

Result<bool> ServerIdentity::renew_if_needed(trust::WallTime now) {
  const auto view = trust::look_at(server().certificate);
  if (view && !trust::wants_renewal(*view, now)) return false;
  TRY(make(now));
  return true;
}

}  // namespace berth::controld
