#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/context.h"
#include "agent/pool/pool_session.h"
#include "agent/runtimes.h"
#include "agent/standstill.h"
#include "model/pool.h"

namespace berth::agent {

// One instance of a pool: it is furnished, started once, serves sessions, may stand still
// meanwhile, and ends once. Nothing starts it again.
class PoolInstance {
 public:
  explicit PoolInstance(const model::StartPoolInstance& told);
  // It was started in an earlier life of the agent.
  PoolInstance(const Context& context, const model::RuntimeId& runtime,
               const model::FoundRun& found);

  const model::InstanceKey& key() const { return spec_.key; }
  const model::RuntimeId& runtime() const { return spec_.runtime; }

  // --- Told.
  void stop(const Context& context, Duration grace, const model::Problem& reason);
  void set_pausing(model::Pausing pausing);
  // Whether somebody waits to hear that it is as it was told to be, and it is, or cannot be.
  bool take_awaited();
  void open(const model::SessionSpec& session);
  void close(Time now, const model::CloseSession& close);

  // --- Heard.
  void furnished(const Furnished& event);
  void prepared() { is_prepared_ = true; }
  void prepare_failed(const Context& context, const model::Problem& problem);
  void started(const Context& context);
  void start_failed(const Context& context, const model::Problem& problem);
  void exited(const Context& context, const Exited& event);
  void pausing_set(const Context& context, const PausingSet& event);
  void app_connected(Time now);
  void app_pinged(Time now) { last_word_ = now; }
  // nullptr: there is none by that name.
  PoolSession* find(const model::SessionRef& ref);
  PoolSession* find_live(const std::string& name);

  // Does what is next, as far as the runtimes let it.
  void advance(const Context& context, const Runtimes& runtimes);
  std::optional<Time> due() const;

  bool is_gone() const { return phase_ == Phase::Gone; }
  bool is_running() const { return phase_ == Phase::Running || phase_ == Phase::Stopping; }

  model::ReportedPoolInstance report() const;
  const std::map<model::SessionRef, PoolSession>& sessions() const { return sessions_; }
  // Sessions that have changed since this was last asked. Those that are over are forgotten by
  // that.
  std::vector<model::ReportedSession> take_changed(Time now);

 private:
  enum class Phase { Bare, Waiting, Preparing, Starting, Running, Stopping, Gone };

  bool has_app() const { return options_.service; }
  bool serves() const;
  bool stands_still() const;
  std::size_t live_sessions() const;
  PoolSession::Host host() const;
  void ask_to_stop(const Context& context, Duration grace);
  void furnish(const Context& context);
  void try_start(const Context& context, const Runtimes& runtimes);
  void look_after_run(const Context& context);
  void advance_sessions(const Context& context);
  void end_after_last_session(const Context& context);
  void lose_sessions(const model::Problem& reason);
  void end(const Context& context, model::Problem problem);
  void keep_note(const Context& context);

  model::InstanceSpec spec_;
  std::uint64_t edition_ = 0;
  model::SessionOptions options_;
  model::RunId run_;
  Phase phase_ = Phase::Bare;
  bool is_asked_ = false;    // to be furnished, or for its image
  bool is_awaited_ = false;  // that it stands still, or goes on
  bool is_prepared_ = false;
  bool app_is_there_ = false;  // it has connected once
  bool has_served_ = false;
  std::string token_;
  std::vector<model::SessionPort> ports_;
  model::Pausing pausing_ = model::Pausing::Running;
  bool was_found_paused_ = false;  // by this life of the agent, and was not woken since
  Standstill standstill_;
  std::optional<Time> overdue_;    // of a start or a stop that is not answered
  std::optional<Time> last_word_;  // of its app
  Duration stop_grace_{};
  model::Problem problem_;
  std::map<model::SessionRef, PoolSession> sessions_;
  std::set<model::SessionRef> changed_;
  bool is_noted_ = false;  // what is kept beside the run is as it is now
};

}  // namespace berth::agent
