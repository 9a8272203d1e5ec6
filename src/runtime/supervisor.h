#pragma once

#include <sys/types.h>

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
#include "runtime/run_directory.h"
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
// listener. Safe to use from several threads.
class Supervisor {
 public:
  struct Config {
    RuntimeSpec runtime;
    std::filesystem::path state_dir;
    std::filesystem::path shim;
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

  // With the mutex held:
  void adopt(const RunDirectory& directory, const RunRecord& record);
  void watch(const Name& name, Entry& entry);
  void signal_stop(Entry& entry);
  void end_soon(const Name& name);
  void say_soon(End end);

  void wake();

  void wait_for_ends();
  int look_again_ms() const;
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
  std::deque<Name> ended_;   // found to have ended
  std::deque<End> unknown_;  // asked to stop, and not there
  bool closing_ = false;

  shim::Fd epoll_;
  shim::Fd wake_;
  std::thread thread_;
};

}  // namespace berth::runtime
