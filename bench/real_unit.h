#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bench/instant_pool.h"
#include "bench/temporary_directory.h"
#include "client/client.h"
#include "link/agent_end.h"
#include "model/protocol.h"
#include "trust/files.h"

// A real berthd with real programs around it, on this machine. Whatever does not work ends the
// benchmark with an exception.
namespace berth::bench {

// A program that was started here and ends with its object.
class Program {
 public:
  Program(const std::string& name, std::vector<std::string> arguments,
          const std::filesystem::path& log);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

// What the kernel says of a process.
struct Footprint {
  double anonymous_mib = 0;
  double resident_mib = 0;
  double cpu_seconds = 0;
  double written_bytes = 0;
};
Footprint footprint_of(pid_t pid);

// A control plane below a temporary directory.
class RealUnit {
 public:
  RealUnit();

  // Ends berthd and starts it again with what it has stored; seconds until it answers.
  double restart();

  pid_t control_pid() const { return control_->pid(); }
  const std::filesystem::path& directory() const { return directory_.path(); }
  client::Client client() const;

  // host:port of the agents' link, and the credentials of a new node.
  link::AgentEndConfig link_for(const std::string& node) const;

  // host:port of the API and the link, and who may call it.
  const std::string& grpc() const { return grpc_; }
  trust::Credentials administrator() const { return join("admin", "bench"); }
  // Where berthd has its certificate.
  std::filesystem::path server_identity() const { return directory() / "control" / "server"; }

  // Until so many can be reached.
  void wait_for_nodes(int count) const;

  // A real berth-agent without networks, that finds images in the directory of the unit.
  std::unique_ptr<Program> start_agent(const std::string& node,
                                       const std::string& runtimes = "process") const;

 private:
  std::string token_for(const std::string& role, const std::string& name) const;
  trust::Credentials join(const std::string& role, const std::string& name) const;
  void start_control(const std::string& grpc, const std::string& https);

  const TemporaryDirectory directory_;
  std::unique_ptr<Program> control_;
  std::string grpc_;
  std::string https_;
};

// An agent that carries out commands at once and runs nothing, over the real link.
class InstantAgent {
 public:
  InstantAgent(const RealUnit& unit, const std::string& node);

  // Says that the state of one of its instances has changed.
  void report(const model::InstanceKey& key, model::InstanceState state);
  // Says that its runtime is ready, or is not.
  void report(model::Readiness readiness);
  void beat();

  std::vector<model::InstanceKey> instances() const;

 private:
  void connected(std::uint64_t connection);
  void carry_out(std::uint64_t connection, const v1::ToAgent& message);
  void carry_out(const v1::PoolCommand& message);
  void send_full();
  void send(model::Report report);

  mutable std::mutex mutex_;
  std::uint64_t connection_ = 0;
  std::uint64_t revision_ = 0;
  model::NodeInfo node_;
  model::CommandNumber acted_;
  std::map<model::InstanceKey, model::ReportedStatus> statuses_;
  InstantPool pool_{InstantPool::Keeps::Sessions};
  std::unique_ptr<link::AgentEnd> end_;  // last: its threads use all of the above
};

}  // namespace berth::bench
