#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "agent/context.h"
#include "agent/preparation.h"
#include "agent/restart.h"
#include "agent/run.h"
#include "base/time.h"
#include "model/instance.h"
#include "model/records.h"

namespace berth::agent {

// The state machine of one instance, wanted or only found. It keeps every run of the instance that
// may be alive, on whichever runtime; a run is started only when there is none, which is what makes
// "never two at once" true. Facts only record; `advance` decides, and may be called at any time.
class Instance {
 public:
  explicit Instance(model::InstanceKey key) : key_(std::move(key)) {}

  // Begins with another generation of what is wanted, or with the first; what happened to the one
  // before is forgotten.
  void begin(const model::WantedRecord& wanted);

  // --- Facts. Those about a run that is not known are late or repeated, and ignored.
  void found(const Context& context, const model::RuntimeId& runtime, const FoundRun& found);
  // The runtime has listed all that it runs: what it has confirmed before and lists no longer is
  // gone. What was never confirmed may still be on its way.
  void listed(const Context& context, const model::RuntimeId& runtime,
              const std::set<RunId>& listed);
  void prepared(const Prepared& answer);
  void prepare_failed(const Context& context, const model::WantedRecord* wanted,
                      const PrepareFailed& answer);
  void started(const Context& context, const RunId& run);
  void start_failed(const Context& context, const RunId& run, const model::Problem& problem);
  void exited(const Context& context, const Exited& event);
  void check_begun(const Context& context, const CheckBegun& event);
  void checked(const Context& context, const HealthChecked& answer);
  void pausing_set(const Context& context, const PausingSet& answer);
  void stop_withheld(const Context& context, const RunId& run);
  void remarked(const Context& context, const Remarked& event);

  // --- Decisions. `wanted` is nullptr for an instance that shall not run.

  // Adopts found runs, stops those that are not wanted, and does what is overdue: repeats stops,
  // gives up starts, checks health, pauses and resumes.
  // A state that was handed waits for a new run: an older one has not gone on from it, however
  // alike it is.
  enum class Unwanted { Stopped, Kept };
  enum class GoesOnFrom { WhatIsThere, HandedState };
  void advance(const Context& context, const model::WantedRecord* wanted, Unwanted unwanted,
               GoesOnFrom from);

  // The end of the run that was wanted, if there was one since the last call.
  std::optional<Ending> take_ending();
  void finish(const Context& context, const Ending& ending);
  void back_off(const Context& context, const model::RestartPolicy& policy, const Ending& ending);

  bool wants_preparing(Time now, const model::WantedRecord* wanted) const;
  void prepare(const Context& context, const model::WantedRecord& wanted);
  // The same of what is to come, and whether that can be started at once.
  Preparation* wants_successor(Time now, const model::WantedRecord* wanted);
  bool is_successor_there(const model::WantedRecord* wanted) const;
  // All is there for one that is only to be prepared, as far as anybody knows.
  bool is_prepared(const model::WantedRecord* wanted) const;
  bool wants_start(Time now, const model::WantedRecord* wanted) const;
  // `state`: what it shall go on from, if that is not what is there.
  void start(const Context& context, const model::WantedRecord& wanted,
             const model::SavedState* state);
  void refuse(const Context& context, std::optional<model::Problem> refusal);
  // What is wrong with it although it runs; whether that is news.
  bool complain(std::optional<model::Problem> complaint);

  // --- Questions.
  bool is_running() const { return !runs_.empty(); }
  // Its runtime has said that a run of what is wanted has started.
  bool has_begun(const model::WantedRecord& wanted) const;
  // A run of an earlier life is being stopped: nobody was told yet that it is there.
  bool is_leftover() const;
  // The shared resources that its runs hold; or only those runs that are being stopped or replaced.
  enum class Which { All, Leaving };
  std::set<std::string> resources_of(Which which) const;
  std::optional<model::ReportedStatus> status(const model::WantedRecord* wanted) const;
  std::optional<Time> due(Time now) const;

 private:
  using Runs = std::map<RunId, Run>;

  Run* find(const RunId& run);
  void adopt(const Context& context, const model::WantedRecord& wanted, GoesOnFrom from);
  bool must_prepare(const model::WantedRecord& wanted) const;
  void advance_preparing(const Context& context, const model::WantedRecord* wanted);
  void note_preparing(const Context& context, const Preparation& preparation) const;
  void stop_unwanted(const Context& context, const model::WantedRecord* wanted);
  void watch(const Context& context, const model::WantedRecord& wanted, Run& run);
  void watch_health(const Context& context, const model::WantedRecord& wanted, Run& run);
  void check(const Context& context, const model::WantedRecord& wanted, Run& run);
  void pause_or_resume(const Context& context, const model::WantedRecord& wanted, Run& run);
  void do_overdue(const Context& context, const model::WantedRecord* wanted, Run& run);
  void stop(const Context& context, Run& run, std::optional<Cause> blamed_for);
  void end(const Context& context, const RunId& id, Ending ending);

  const Run* current(const model::WantedRecord& wanted) const;
  model::ReportedStatus status_of_wanted(const model::WantedRecord& wanted) const;
  model::ReportedStatus status_of_unwanted() const;
  model::ReportedStatus status_of_successor(const model::WantedRecord& wanted) const;
  // What became of the version that is to be replaced.
  std::string present_in_words(const model::WantedRecord& wanted) const;

  model::InstanceKey key_;
  Runs runs_;
  std::optional<Ending> ending_;

  // Of the wanted generation; all is forgotten when another one comes.
  model::CommandNumber generation_;
  std::uint32_t next_attempt_ = 0;
  Preparation preparation_;
  Backoff backoff_;
  std::uint32_t restarts_ = 0;
  std::optional<Time> restart_at_;         // exactly while waiting for a restart
  std::optional<model::Problem> problem_;  // how the last run ended, until the next starts
  std::optional<model::Problem> refusal_;  // why it may not be started now
  std::optional<std::int32_t> exit_code_;
  std::optional<model::Problem> complaint_;

  bool is_outdated_ = false;  // there is a successor
  Preparation next_preparation_;
};

}  // namespace berth::agent
