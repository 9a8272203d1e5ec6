#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/instance.h"
#include "model/run.h"
#include "runtime/files/run_directory.h"
#include "runtime/runtime.h"
#include "runtime/shim/files.h"
#include "runtime/shim/launch.h"

namespace berth::runtime {

template <class T>
using Started = tl::expected<T, model::Problem>;

// A run that is alive now.
struct LiveRun {
  RunRecord record;
  RunDirectory directory;
  pid_t shim = -1;
  pid_t program = -1;
};

// The runs of one runtime, each under a shim of its own, which outlives us. What is known of a run
// is in its directory; here is only what this life of the agent adds: which ends have been told.
//
// A run ends when its shim does. One thread waits for all of them, and is the only one to tell the
// listener. It also looks whether shims do what they are there for: one that stands still is told
// to go on, one that does not hear that it shall stop its program is killed, and the agent ends
// what it has left. Safe to use from several threads.
//
// Each run costs one descriptor. Without any left a run is looked at from time to time instead.
class Supervisor {
 public:
  struct Config {
    RuntimeSpec runtime;
    std::filesystem::path state_dir;
    std::filesystem::path shim;
    std::string tag = {};
    Duration between_looks = 5s;  // at shims that have nothing to do
  };

  Supervisor(Config config, RunListener& listener);
  Supervisor(const Supervisor&) = delete;
  ~Supervisor();  // what runs goes on

  Result<std::vector<model::FoundRun>> list();

  // `prepare` says what to launch, given the run's directory. It may take its time: a stop is heard
  // meanwhile.
  using Prepare = std::function<Started<shim::Launch>(const RunDirectory& directory)>;
  Started<void> start(const model::FoundRun& found, const Prepare& prepare);

  void stop(const model::InstanceKey& key, const model::RunId& run, Duration grace);
  void forget(const model::InstanceKey& key, const model::RunId& run);

  // The newest run of an instance that is alive.
  std::optional<LiveRun> find(const model::InstanceKey& key) const;
  std::vector<LiveRun> live() const;
  std::vector<model::InstanceKey> running() const;

 private:
  using Name = std::pair<model::InstanceKey, model::RunId>;
  using Clock = std::chrono::steady_clock;
  enum class Phase {
    Starting,
    Found,  // an earlier life of the agent has begun to start it, and it does not run yet
    Running,
    Ended
  };
  struct Entry {
    RunRecord record;
    RunDirectory directory;
    Phase phase = Phase::Starting;
    shim::Fd shim_handle = {};
    pid_t shim = -1;
    pid_t program = -1;
    std::optional<Duration> stop_grace = {};
    Clock::time_point begun_at = Clock::now();  // to start, or to be looked at
    Clock::time_point stop_told_at = {};
    bool is_launched = false;    // starting: its preparation is done
    bool was_asked = false;      // the program, by us, to end
    bool was_killed = false;     // its shim, by us
    model::Problem remark = {};  // as it was told
    Duration remark_at{};        // since its begin: when the next is due
  };
  // An end that the thread has to tell.
  struct End {
    Name name;
    std::int32_t code = 0;
    model::Problem problem;
  };

  Started<void> launch(const model::FoundRun& found, const RunDirectory& directory,
                       const Prepare& prepare);
  Started<void> begin(const Name& name, const model::FoundRun& found,
                      const RunDirectory& directory);
  void start_failed(const Name& name);
  void remove_told_of(const model::InstanceKey& key);
  void remove(const RunDirectory& directory, const model::InstanceKey& key) const;

  // With the mutex held:
  void adopt(const RunDirectory& directory, const RunRecord& record);
  void watch(const Name& name, Entry& entry);
  bool open_handle(Entry& entry);
  void signal_stop(const Name& name, Entry& entry);
  void tell_to_stop(const Name& name, Entry& entry);
  static void signal_shim(const Entry& entry, pid_t shim, int number);
  std::vector<Name> names_to_look_at(Clock::time_point now);
  model::Problem look_at(const Name& name, Entry& entry, Clock::time_point now);
  model::Problem look_at_start(Entry& entry, Clock::time_point now) const;
  model::Problem look_at_shim(const Entry& entry, pid_t shim) const;
  void intervene(Entry& entry, pid_t shim, Clock::time_point now);
  void end_soon(const Name& name);
  void say_soon(End end);

  void wake();

  void wait_for_ends();
  int look_again_ms() const;
  void look();
  void tell_started();
  void take(std::uint64_t token);
  void tell_queued();
  End how_it_ended(const Name& name);
  void tell(const End& end);

  const Config config_;
  RunListener& listener_;
  const std::string boot_;

  std::mutex telling_;  // taken before the other: between two ends that are told, or while listing
  mutable std::mutex mutex_;
  std::map<Name, Entry> entries_;  // those whose end has not been told
  std::set<Name> told_;            // those that have ended; their directories are still there
  std::map<std::uint64_t, Name> watched_;
  std::uint64_t next_token_ = 1;
  std::set<Name> coming_;    // of phase Found, unless they have ended since
  std::set<Name> attended_;  // that start, shall end, or had a remark made on them
  Clock::time_point next_look_ = Clock::now();
  Clock::time_point next_look_at_all_ = Clock::now();
  std::deque<Name> ended_;   // found to have ended
  std::deque<End> unknown_;  // asked to stop, and not there
  bool closing_ = false;

  shim::Fd epoll_;
  shim::Fd wake_;
  std::thread thread_;
};

}  // namespace berth::runtime
