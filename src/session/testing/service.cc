#include "session/testing/service.h"

#include <cstdlib>

#include "base/check.h"
#include "model/application.h"

namespace berth::session::testing {
namespace {

std::filesystem::path new_directory() {
  std::string name = std::filesystem::temp_directory_path() / "berth-session-XXXXXX";
  CHECK(::mkdtemp(name.data()) != nullptr, "a directory");
  return name;
}

SessionCallbacks telling(Told& told) {
  using Key = model::InstanceKey;
  return {
      .connected = [&told](const Key&) { told.add("connected"); },
      .disconnected = [&told](const Key&) { told.add("disconnected"); },
      .opened =
          [&told](const Key&, const std::string& session, const std::string& problem) {
            told.add("opened " + session + (problem.empty() ? "" : ": " + problem));
          },
      .closed = [&told](const Key&, const std::string& session) { told.add("closed " + session); },
      .pinged = [&told](const Key&) { told.add("pinged"); },
      .clients =
          [&told](const Key&, const std::string& session, std::uint32_t count) {
            told.add("clients " + session + " " + std::to_string(count));
          },
  };
}

std::unique_ptr<SessionService> made_service(SessionService::Config config, Told& told) {
  auto made = SessionService::open(config, telling(told));
  CHECK(made.has_value(), "a service");
  return *std::move(made);
}

}  // namespace

model::InstanceKey instance(std::uint32_t number) {
  return model::pool_instance({"games", "echo"}, number);
}

Service::Service(SessionService::Config config)
    : directory_(new_directory()),
      path(directory_ / "socket"),
      service(made_service(config, told)) {
  CHECK(service->serve(key, path, token).has_value(), "it is served");
}

Service::~Service() {
  service.reset();
  std::filesystem::remove_all(directory_);
}

void Service::restart() {
  service.reset();
  service = made_service({}, told);
  CHECK(service->serve(key, path, token).has_value(), "it is served");
}

}  // namespace berth::session::testing
