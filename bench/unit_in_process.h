#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/temporary_directory.h"
#include "control/controller.h"
#include "model/protocol.h"
#include "store/sqlite/sqlite_store.h"

namespace berth::bench {

// What a control plane does, without threads and sockets between its parts: every step is committed
// to a store on disk before anything else, every message is turned into bytes and read from bytes.
// The agents are stand-ins that start everything at once and report it as real ones do, in several
// reports; what they need for it is not counted. Virtual time.
class UnitInProcess {
 public:
  // In seconds: of this thread's processor, so that other programs are not in the figures, but on
  // the wall where the disk is waited for.
  struct Spent {
    double deciding = 0;  // Controller::step
    double storing = 0;   // encoding of records, and the transactions
    double sending = 0;   // encoding of commands
    double reading = 0;   // decoding of reports
    double longest = 0;   // of all steps, the one that was decided on for longest

    double total() const { return deciding + storing + sending + reading; }
  };

  // Alike nodes, connected, with room for everything.
  explicit UnitInProcess(std::uint32_t nodes);

  // Asks for so many instances of one item and returns when the call is answered for good.
  void deploy(std::uint32_t instances);

  // Asks for more, and returns when everybody has heard of it; whether all of it has a place.
  bool apply(std::vector<model::Document> documents);

  // A report of what the node is used for beside what it runs.
  void report_load(const model::NodeId& node, const model::Usage& system);

  // A report of one instance, or of all of the node.
  void report_state(const model::InstanceKey& key, model::InstanceState state);
  void report_fully(const model::NodeId& node);

  // Lets the node come back on a new connection; its next report must be a full one.
  void connect(const model::NodeId& node);

  // Lets what every instance of the node uses be another than at the last report.
  void use_more(const model::NodeId& node);

  const control::Controller& controller() const { return controller_; }
  const Spent& spent() const { return spent_; }
  void reset_spent() { spent_ = {}; }

 private:
  struct StandIn {
    control::ConnectionId connection = 0;
    std::uint64_t revision = 0;
    model::CommandNumber acted;
    std::map<model::InstanceKey, model::ReportedStatus> statuses;
  };

  void step(control::Event event);
  std::optional<Time> step(std::span<const control::Event> events);
  void receive(const model::NodeId& node, model::Report report);
  void carry_out(const std::string& command, const model::NodeId& node);
  model::Report next_report(StandIn& agent) const;
  std::string encoded(const control::Outgoing& outgoing);
  void deliver_all();

  TemporaryDirectory directory_;
  store::SqliteStore store_;
  control::Controller controller_;
  std::map<model::NodeId, StandIn> agents_;
  std::map<model::InstanceKey, model::NodeId> places_;
  std::vector<std::pair<model::NodeId, std::string>> commands_;  // not delivered yet
  bool finished_ = false;
  std::size_t refused_ = 0;  // by the last call
  Time now_{};
  Spent spent_;
};

}  // namespace berth::bench
