#include "agentd/renewal.h"

#include <utility>

#include "shell/log.h"

namespace berth::agentd {
namespace {

using shell::LogLevel;

}  // namespace

Renewal::Renewal(trust::Credentials credentials, RenewalOutlets outlets)
    : outlets_(std::move(outlets)),
      credentials_(std::move(credentials)),
      thread_(1h, [this] { turn(); }) {}

void Renewal::connected(std::uint64_t connection) {
  {
    const std::lock_guard lock(mutex_);
    connection_ = connection;
  }
  thread_.hurry();
}

void Renewal::disconnected() {
  const std::lock_guard lock(mutex_);
  connection_.reset();
}

void Renewal::renewed(std::string certificate_pem) {
  {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(certificate_pem);
  }
  thread_.hurry();
}

void Renewal::turn() {
  std::unique_lock lock(mutex_);
  const auto connection = connection_;
  const auto answer = std::exchange(answer_, std::nullopt);
  lock.unlock();
  if (!answer) {
    if (connection) ask(*connection);
  } else if (new_key_) {
    if (const auto taken = take(*new_key_, *answer); !taken) {
      shell::log(LogLevel::Error, "the new certificate cannot be used",
                 {{"error", taken.error().message}});
    }
    new_key_.reset();
  }
}

void Renewal::ask(std::uint64_t connection) {
  const auto seen = trust::look_at(credentials_.own.certificate);
  if (!seen || !trust::wants_renewal(*seen, outlets_.now())) return;
  if (!new_key_) new_key_ = trust::make_key();
  auto request = trust::make_request(*new_key_);
  if (!request) {
    return shell::log(LogLevel::Error, "no new certificate can be asked for",
                      {{"error", request.error().message}});
  }
  v1::FromAgent message;
  message.mutable_renew()->set_request(*std::move(request));
  outlets_.send(connection, std::move(message));
  shell::log(LogLevel::Info, "asked for a new certificate");
}

Result<void> Renewal::take(const std::string& key, const std::string& certificate_pem) {
  const trust::CertificateView seen = TRY(trust::look_at(certificate_pem));
  const trust::CertificateView before = TRY(trust::look_at(credentials_.own.certificate));
  if (seen.common_name != before.common_name) {
    return invalid_input("it is for " + seen.common_name + ", not for " + before.common_name);
  }
  trust::Credentials renewed{{key, certificate_pem}, credentials_.authority};
  TRY(trust::check_pair(renewed.own));
  TRY(outlets_.save(renewed));
  credentials_ = std::move(renewed);
  outlets_.use(credentials_.own);
  shell::log(LogLevel::Info, "the certificate was renewed");
  return {};
}

}  // namespace berth::agentd
