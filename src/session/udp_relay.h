#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>

#include "base/time.h"
#include "session/datagrams.h"
#include "session/endpoint.h"
#include "session/fd.h"
#include "session/gateway.h"
#include "session/poller.h"

namespace berth::session {

// The datagrams of one forward. Each client has a flow, a socket of its own to the target, by which
// answers find back; it ends when nothing has passed for a while. When there are too many, the one
// that was quiet for longest gives way. What cannot be passed on at once is lost, as datagrams are.
//
// Belongs to a poller: everything happens with its lock held.
class UdpRelay {
 public:
  struct Config {
    std::size_t flows_max = 0;
    Duration quiet_max{};
    std::function<Fd()> connect;    // a socket that is connected with the target; may fail
    std::function<void()> changed;  // there is another flow, or one less
  };
  UdpRelay(Poller& poller, Fd socket, Traffic& traffic, Config config);

  [[nodiscard]] bool start();

  // From now on only clients that have a flow are heard.
  void refuse_new() { refuses_ = true; }

  // Ends the flows that were quiet for too long; when the next may be.
  std::optional<Time> tend(Time now);

 private:
  struct Flow {
    Flow(UdpRelay& relay, Fd socket, const Path& from)
        : target(relay.poller_, std::move(socket),
                 [this, &relay](auto) { relay.hear_target(*this); }),
          client(from) {}

    Watch target;
    Path client;
    Time last{};
    std::list<Flow>::iterator self;
  };

  void hear_clients();
  void pass_on(const Path& client, const char* bytes, std::size_t size);
  Flow* flow_of(const Path& client);
  Flow* make_flow(const Path& client);
  void hear_target(Flow& flow);
  void touch(Flow& flow);
  void end_quietest();

  Poller& poller_;
  Watch socket_;
  Traffic& traffic_;
  const Config config_;
  bool refuses_ = false;
  std::list<Flow> flows_;  // quiet for longest first
  std::map<SocketAddress, Flow*> by_client_;
};

}  // namespace berth::session
