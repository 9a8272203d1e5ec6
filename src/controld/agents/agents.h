#pragma once

#include <functional>
#include <string>

#include "controld/agents/stream_relay.h"
#include "controld/identity/receipts.h"
#include "controld/identity/server_identity.h"
#include "controld/loop/loop.h"
#include "link/server_end.h"
#include "shell/workers.h"

namespace berth::controld {

// Turns what agents say into facts for the loop, pieces for the streams and new certificates. What
// is invalid closes the stream of its agent. Called from the threads of the link.
class Agents {
 public:
  // What can be done with a connection.
  struct Links {
    std::function<void(std::uint64_t connection, v1::ToAgent message)> send;
    std::function<void(std::uint64_t connection, const std::string& why)> disconnect;
  };

  Agents(Loop& loop, StreamRelay& streams, shell::Workers& workers, const ServerIdentity& identity,
         const Receipts& receipts, Links links);

  link::ServerEndListener listener();

 private:
  void connected(const std::string& node, std::uint64_t connection, const std::string& address,
                 const v1::Hello& hello);
  void disconnected(const std::string& node, std::uint64_t connection);
  bool received(const std::string& node, std::uint64_t connection, const v1::FromAgent& message);
  bool reported(const std::string& node, std::uint64_t connection, const v1::Report& report);
  void renew(const std::string& node, std::uint64_t connection, const std::string& request);

  Loop& loop_;
  StreamRelay& streams_;
  shell::Workers& workers_;
  const ServerIdentity& identity_;
  const Receipts& receipts_;
  const Links links_;
};

}  // namespace berth::controld
