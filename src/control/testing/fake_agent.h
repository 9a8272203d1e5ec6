#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "control/testing/builders.h"
#include "control/testing/fake_pool.h"
#include "model/protocol.h"

namespace berth::control {

// An agent that keeps to the protocol and runs everything at once and well, unless it is told
// otherwise. It answers each command with one report, as the real one does.
class FakeAgent {
 public:
  explicit FakeAgent(model::NodeInfo node = a_node()) : info(std::move(node)) {}

  model::NodeInfo info;
  std::optional<model::Usage> usage;
  model::CommandNumber acted;
  std::optional<model::Receipt> receipt;  // of the last command that had one
  std::map<model::InstanceKey, model::ReportedStatus> statuses;
  std::optional<model::NodeNetwork> network;               // as it was last told
  std::map<model::InstanceKey, int> starts;                // how often each was started
  std::map<model::InstanceKey, model::SavedState> handed;  // states that came with commands
  std::map<model::InstanceKey, std::string> heard;         // digests that commands have named
  std::map<model::InstanceKey, std::map<std::string, std::string>> variables;  // of the last start
  // What it runs, as it was told.
  const std::map<model::InstanceKey, model::InstanceSpec>& wanted() const { return wanted_; }

  FakePool pool;

  bool answers = true;           // by itself; else only when the test says so
  bool knows_preparing = true;   // else it is of an earlier release
  bool prepares_slowly = false;  // what it shall prepare is fetched until the test says otherwise
  bool starts_slowly = false;    // what it starts stays activating until the test says otherwise
  bool stops_slowly = false;     // what it stops stays listed until the test says otherwise
  std::set<std::string> broken_versions;  // what it starts of these fails at once
  std::set<model::InstanceKey> erased;    // whose data it was told to erase

  // Carries out the command if it may, and says so.
  model::Report answer(const model::Command& command);

  model::Report answer(const model::PoolCommand& command);

  model::Report full();

  // What has changed since the last report; a heartbeat if nothing has.
  model::Report changes();

  void become(model::NodeInfo node);
  void set(const model::InstanceKey& key, model::InstanceState state, model::Problem problem = {});
  // It has done what it was for.
  void finish(const model::InstanceKey& key);
  void drop(const model::InstanceKey& key);
  // Goes with the next report. Its digest is "of-" and the content.
  void save(const model::InstanceKey& key, const std::string& content);
  void save_too_large(const model::InstanceKey& key);
  // Something that was there before anybody told it to be.
  void find(model::ReportedStatus status);
  // It starts anew with an empty disk: nothing runs, and no command was ever carried out.
  void lose_everything();

  std::uint64_t revision() const { return revision_; }
  void skip_a_revision() { ++revision_; }

 private:
  model::Report begin(std::uint64_t revision) const;

  void clear_changes();

  void carry_out(const model::Command& command);

  void run(const model::InstanceSpec& spec);

  void pause_or_resume(const model::InstanceSpec& spec);

  bool is_already_there(const model::InstanceSpec& spec) const;

  void stop(const model::InstanceKey& key);

  // Services that nobody wants; components are left alone.
  void stop_strangers();

  std::uint64_t revision_ = 0;
  std::map<model::InstanceKey, model::InstanceSpec> wanted_;
  std::set<model::InstanceKey> changed_;
  bool node_changed_ = false;
  std::vector<model::SavedState> saved_;
};

}  // namespace berth::control
