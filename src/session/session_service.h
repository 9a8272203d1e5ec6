#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/alarms.h"
#include "base/result.h"
#include "base/time.h"
#include "model/ids.h"
#include "session/poller.h"

namespace berth::session {

// What apps say; all of them must be there. Called by the service's thread, which may call the
// service. What was on its way when an instance was ended may still be told.
struct SessionCallbacks {
  using Key = model::InstanceKey;

  // It has shown its token; and it has gone. In turns.
  std::function<void(const Key&)> connected;
  std::function<void(const Key&)> disconnected;
  // Once for each open. With a problem it has failed, and the session is forgotten.
  std::function<void(const Key&, const std::string& session, const std::string& problem)> opened;
  // As it was told to, or by itself, or instead of opening it: the session is forgotten.
  std::function<void(const Key&, const std::string& session)> closed;
  std::function<void(const Key&)> pinged;  // not more than once a second
  // When it has changed, while the session is open or being closed.
  std::function<void(const Key&, const std::string& session, std::uint32_t count)> clients;
};

// How the apps of a node's instances learn which sessions they serve: each instance has a unix
// socket and a token of its own, and sees nothing of the others.
//
// What an app shall know is kept until it is connected, and told again when it comes back. Nobody
// waits for an app: one that stands still, floods us or talks nonsense harms only itself.
//
// Safe to use from several threads.
class SessionService {
 public:
  struct Config {
    std::size_t strangers_max = 8;  // of one instance: connections that have not shown the token
    Duration hello_within = 10s;
    Duration accept_pause = 200ms;            // for who connects over and over
    std::int64_t bytes_per_second = 1 << 20;  // that are listened to; see AppConnection
  };

  static Result<std::unique_ptr<SessionService>> open(Config config, SessionCallbacks callbacks);
  ~SessionService();  // the sockets stay, and refuse who connects

  // Listens at a socket that everybody may write to: what an earlier life has left there is
  // replaced. So a container must be given the socket's directory: a mount of the socket itself
  // would go on showing the one that was replaced. Conflict: it is served already.
  Result<void> serve(const model::InstanceKey& key, const std::filesystem::path& socket,
                     std::string token);
  // Disconnects it, removes the socket and forgets its sessions.
  void end(const model::InstanceKey& key);

  // Of an instance that is not served: nothing. One that is known is nothing new; one that is being
  // closed is opened again when it is closed.
  void open(const model::InstanceKey& key, const std::string& session, std::string data);
  // The app may know of one that we do not, from an earlier life: it is told in any case.
  void close(const model::InstanceKey& key, const std::string& session, Duration grace);

 private:
  class Served;
  using News = std::function<void(const SessionCallbacks&)>;

  SessionService(Config config, SessionCallbacks callbacks, std::unique_ptr<Poller> poller);

  Served* find(const model::InstanceKey& key);
  std::optional<Time> tend(Time now);
  void deliver();

  const Config config_;
  const SessionCallbacks callbacks_;
  const std::unique_ptr<Poller> poller_;

  // With the poller's lock.
  std::map<model::InstanceKey, std::unique_ptr<Served>> served_;
  Alarms<model::InstanceKey> alarms_;
  std::vector<News> news_;  // in order
};

}  // namespace berth::session
