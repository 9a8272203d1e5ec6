#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "controld/loop/outbox.h"
#include "sim/disk.h"
#include "sim/draw.h"
#include "sim/stage.h"
#include "store/store.h"

namespace berth::sim {

// The loop of a daemon around its core: drain the mailbox, step, commit, perform. It steps on while
// the disk is slow, for as many steps as its outbox takes, and performs what is durable. It can be
// killed at any moment, and what was not durable is lost then. When a commit fails it is tried
// again later, unless the daemon says what may be done nevertheless.
template <class Event, class Effects>
class Daemon {
 public:
  // Without further steps while one is not durable.
  Daemon(Stage& stage, std::string name, Random random,
         controld::OutboxLimits limits = {.steps = 1})
      : stage_(stage),
        name_(std::move(name)),
        random_(random),
        disk_(random_.fork()),
        limits_(limits),
        outbox_(limits) {}
  virtual ~Daemon() = default;

  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  bool up() const { return up_; }
  // What its clock is ahead of the world's.
  Duration clock_offset() const { return offset_; }
  Time changed_at() const { return changed_at_; }  // last came up or went down
  Disk& disk() { return disk_; }
  const Disk& disk() const { return disk_; }

  void start() {
    if (up_) return;
    up_ = true;
    ++life_;
    changed_at_ = stage_.now();
    // Zero is arbitrary: each process has its own, far from those of the others.
    offset_ = std::chrono::hours(random_.between(-20'000, 20'000));
    stage_.trace.line(stage_.now(), name_, "! starts");
    boot();
    step_soon();
  }

  void kill() {
    if (!up_) return;
    up_ = false;
    ++life_;
    changed_at_ = stage_.now();
    stage_.trace.line(stage_.now(), name_, "! dies{}", batch_ ? " while committing" : "");
    if (batch_) disk_.crash_in(*batch_);
    forget_unwritten();
    mailbox_.clear();
    step_due_ = owes_step_ = false;
    died();
  }

  void kill_for(Duration down) {
    kill();
    stage_.queue.after(down, [this] { start(); });
  }

  // The same by a power cut, which also shows what its disk is worth. False: it has lied.
  bool lose_power_for(Duration down) {
    kill();
    stage_.queue.after(down, [this] { start(); });
    return disk_.cut_power();
  }

  // Dies in the middle of its next commit, and comes back.
  void kill_in_next_commit(Duration down) { kill_in_commit_ = down; }

  void post(Event event) {
    if (!up_) return;
    mailbox_.push_back(std::move(event));
    step_soon();
  }

 protected:
  // The same, before all that waits.
  void post_first(const std::vector<Event>& events) {
    mailbox_.insert(mailbox_.begin(), events.begin(), events.end());
    step_soon();
  }

  // Restores the core from the disk.
  virtual void boot() = 0;
  virtual void died() = 0;
  virtual Effects step_core(Time now, std::span<const Event> batch) = 0;
  virtual std::vector<store::Change> changes_of(const Effects& effects) = 0;
  virtual void committed(const Effects& effects) = 0;
  virtual void perform(const Effects& effects) = 0;
  // Right after a step: what waits for nothing to be durable.
  virtual void perform_at_once(const Effects&) {}
  virtual bool skips_commit() { return false; }
  // The batch could not be made durable: does what may be done of it nevertheless, and sees to it
  // that a later step writes it. False: nothing may, and the same batch is tried again.
  // REQUIRES: one step at a time.
  virtual bool goes_on_without(const Effects&, const Error&) { return false; }

  Stage& stage_;
  std::string name_;
  Random random_;
  Disk disk_;

 private:
  static constexpr Duration kCommitRetry = 500ms;

  // Runs the task unless the process has died until then.
  void within_life(Duration delay, Queue::Task task) {
    stage_.queue.after(delay, [this, life = life_, task = std::move(task)] {
      if (life == life_) task();
    });
  }

  void step_soon() {
    if (step_due_ || outbox_.is_full()) return;
    step_due_ = true;
    within_life(draw(random_, 20us, 300us), [this] {
      step_due_ = false;
      step();
    });
  }

  void step() {
    owes_step_ = outbox_.is_full();
    if (owes_step_) return;
    const std::vector<Event> batch = std::exchange(mailbox_, {});
    Effects effects = step_core(stage_.now() + offset_, batch);
    if (effects.wake_at) wake_at(*effects.wake_at - offset_);
    perform_at_once(effects);
    std::vector<store::Change> changes = changes_of(effects);
    for (const store::Change& change : changes) stage_.trace.bytes(change.value.value_or(""));
    outbox_.seal(std::move(changes), std::move(effects));
    let_leave();
    write();
  }

  void write() {
    if (waits_to_retry_ || batch_) return;
    batch_ = outbox_.begin_commit();
    if (!batch_) return;
    if (kill_in_commit_) return kill_for(*std::exchange(kill_in_commit_, std::nullopt));
    within_life(disk_.latency(), [this] { end_commit(); });
  }

  void end_commit() {
    if (!skips_commit()) {
      if (const Result<void> done = disk_.commit(*batch_); !done) return fail_commit(done.error());
    }
    batch_ = nullptr;
    outbox_.commit_done();
    let_leave();
    write();
    go_on();
  }

  void fail_commit(const Error& why) {
    ++stage_.counts.failed_commits;
    stage_.trace.line(stage_.now(), name_, "! commit fails: {}", why.message);
    batch_ = nullptr;
    outbox_.commit_failed();
    if (goes_on_without(outbox_.waiting().front(), why)) {
      forget_unwritten();
      step_again_later();
      return go_on();
    }
    waits_to_retry_ = true;
    within_life(kCommitRetry, [this] {
      waits_to_retry_ = false;
      write();
    });
  }

  void let_leave() {
    while (const std::optional<Effects> effects = outbox_.leave()) {
      committed(*effects);
      perform(*effects);
    }
  }

  void forget_unwritten() {
    batch_ = nullptr;
    waits_to_retry_ = false;
    outbox_ = controld::Outbox<Effects>(limits_);
  }

  // Each step tries it, too: only the last one needs to wait.
  void step_again_later() {
    within_life(kCommitRetry, [this, retry = ++last_retry_] {
      if (retry == last_retry_) step_soon();
    });
  }

  void go_on() {
    if (owes_step_ || !mailbox_.empty()) step_soon();
  }

  void wake_at(Time when) {
    const std::uint64_t wake = ++last_wake_;
    within_life(std::max(when - stage_.now(), Duration(1ms)), [this, wake] {
      if (wake == last_wake_ && !step_due_) step();
    });
  }

  bool up_ = false;
  std::uint64_t life_ = 0;
  Time changed_at_{};
  Duration offset_{};
  std::vector<Event> mailbox_;
  const controld::OutboxLimits limits_;
  controld::Outbox<Effects> outbox_;
  const std::vector<store::Change>* batch_ = nullptr;  // being committed
  std::optional<Duration> kill_in_commit_;
  bool step_due_ = false;
  bool owes_step_ = false;  // its time has come while the outbox was full
  bool waits_to_retry_ = false;
  std::uint64_t last_wake_ = 0;
  std::uint64_t last_retry_ = 0;
};

}  // namespace berth::sim
