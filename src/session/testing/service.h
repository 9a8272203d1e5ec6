#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "session/session_service.h"
#include "session/testing/peers.h"

namespace berth::session::testing {

// "@games/echo/7".
model::InstanceKey instance(std::uint32_t number);

// A service that serves one instance, in a directory that goes with it.
class Service {
 public:
  explicit Service(SessionService::Config config = {});
  ~Service();

  Stream dial() const { return Stream::connect_unix(path); }
  std::string path_of(const std::string& name) const { return directory_ / name; }
  // As another life of the agent finds it.
  void restart();

 private:
  std::filesystem::path directory_;

 public:
  const model::InstanceKey key = instance(7);
  const std::string path;
  const std::string token = "secret";
  Told told;
  std::unique_ptr<SessionService> service;
};

}  // namespace berth::session::testing
