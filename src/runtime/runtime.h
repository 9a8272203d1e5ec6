#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/instance.h"
#include "model/run.h"
#include "model/runtime.h"
#include "runtime/probing/probe.h"

// How instances are really run on this machine.
namespace berth::runtime {

// What a runtime tells, from any of its threads. Must return quickly.
class RunListener {
 public:
  virtual ~RunListener() = default;

  // The run is over, by itself or because it was stopped. Told exactly once per run, in the order
  // in which it happened. `problem` is set where more is known than the code (OutOfMemory).
  virtual void exited(const model::InstanceKey& key, const model::RunId& run,
                      std::int32_t exit_code, const model::Problem& problem) = 0;

  // What is to be said of a run that has not ended: what its start waits for, or what is wrong
  // although it runs. Nothing: not any more.
  virtual void remarked(const model::InstanceKey& key, const model::RunId& run,
                        const model::Problem& remark) {
    static_cast<void>(key);
    static_cast<void>(run);
    static_cast<void>(remark);
  }

  // A run that was listed as one that is still starting runs now.
  virtual void started(const model::InstanceKey& key, const model::RunId& run) {
    static_cast<void>(key);
    static_cast<void>(run);
  }
};

// What an instance has used: processor time since its start, memory now, and bytes that have come
// and gone over a network of its own since its start; 0 if it shares that of the machine.
struct Consumption {
  std::chrono::microseconds cpu_time{};
  Bytes ram;
  std::int64_t received = 0;
  std::int64_t sent = 0;
};

// A program that runs inside of an instance, connected to a caller.
class ExecSession {
 public:
  virtual ~ExecSession() = default;  // kills what still runs

  // How much the program has taken when that is all, or when `wait` has passed. An error: it takes
  // no input any more.
  virtual Result<std::size_t> write(std::string_view input, Duration wait) = 0;
  virtual void close_input() = 0;
  virtual void resize(std::uint16_t rows, std::uint16_t columns) = 0;
};

struct ExecRequest {
  std::vector<std::string> command;
  bool terminal = false;
  std::uint16_t rows = 24;
  std::uint16_t columns = 80;
};

struct ExecListener {
  std::function<void(std::string_view output, bool from_stderr)> output;
  std::function<void(std::int32_t exit_code)> ended;  // the last call
};

// One way of running instances. Its methods may block, and may be called by several threads at once
// for different instances; calls for one instance come one after the other. What it starts outlives
// it: another life of the agent finds it again by `list`.
class Runtime {
 public:
  virtual ~Runtime() = default;

  // What it is and offers. Whether it is Ready only `probe` says.
  virtual model::Runtime describe() const = 0;

  // Finds out whether instances can be started here and connected. It is asked every second or so,
  // by one thread at a time: what is dear is done only when there is a reason to. Whoever starts
  // programs for it kills them at the deadline, with their whole process group.
  virtual ProbeResult probe(Duration deadline) = 0;

  // Something has changed that may help, settings perhaps: what has not worked is tried again by
  // the next probe, however long it would have been left alone.
  virtual void reconsider() {}

  // All runs that are running, or that an earlier life of the agent has begun to start, or whose
  // end has not been told yet. From now on their ends are told, always by another thread than the
  // caller's, and none while this lists: a run in the list has not been told of, and one that has
  // been is not in it. The listener must not wait for the caller.
  virtual Result<std::vector<model::FoundRun>> list() = 0;

  // Whether all that the instance is made of is on this machine. Looks, and waits for nobody.
  virtual bool is_prepared(const model::InstanceSpec& spec) {
    static_cast<void>(spec);
    return true;
  }

  // Brings it here, if there is anything to fetch, which may take minutes. May be called for an
  // instance that runs, and beside all other calls.
  virtual tl::expected<void, model::Problem> prepare(const model::InstanceSpec& spec) {
    static_cast<void>(spec);
    return {};
  }

  // Returns when it runs; its program may end right after. The problem's reason is a token.
  virtual tl::expected<void, model::Problem> start(const model::InstanceSpec& spec,
                                                   const model::RunId& run) = 0;

  // Ends a run, or a start that is under way: politely, and after `grace` finally. Does not wait;
  // the listener is told when it is over, at once if there is no such run.
  virtual void stop(const model::InstanceKey& key, const model::RunId& run, Duration grace) = 0;

  // The end of this run has been taken in for good. Without it the end is told to the next life of
  // the agent once more, unless it was stopped or the instance has been started again since.
  virtual void forget(const model::InstanceKey& key, const model::RunId& run) {
    static_cast<void>(key);
    static_cast<void>(run);
  }

  // The instance stands still and uses no processor, until it is resumed or stopped. It is no error
  // if it is so already; to resume what was never paused costs next to nothing. NotFound: it does
  // not run here.
  virtual Result<void> pause(const model::InstanceKey& key) = 0;
  virtual Result<void> resume(const model::InstanceKey& key) = 0;

  // The agent is about to end: what takes long gives up, starts and probes too. What runs goes on.
  virtual void leave() {}

  virtual std::map<model::InstanceKey, Consumption> measure() = 0;
  // The instances that run now: cheaper than measuring them.
  virtual std::vector<model::InstanceKey> running() const { return {}; }

  virtual Result<std::unique_ptr<ExecSession>> exec(const model::InstanceKey& key,
                                                    const ExecRequest& request,
                                                    ExecListener listener) = 0;

  // The program of a health check. It runs where the instance does.
  virtual Result<std::unique_ptr<ExecSession>> exec_check(const model::InstanceKey& key,
                                                          const ExecRequest& request,
                                                          ExecListener listener) {
    return exec(key, request, std::move(listener));
  }
};

}  // namespace berth::runtime
