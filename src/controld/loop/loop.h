#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "control/controller.h"
#include "controld/loop/outbox.h"
#include "controld/loop/store_writer.h"
#include "shell/mailbox.h"
#include "store/store.h"

namespace berth::controld {

// Durations counted by upper bounds, as Prometheus wants them.
struct Histogram {
  static constexpr std::array kBounds{0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0};

  std::array<std::uint64_t, kBounds.size() + 1> counts{};  // each its own bucket, not cumulated
  double sum = 0;
  std::uint64_t total = 0;

  void add(double seconds);
};

struct LoopStats {
  Histogram step_seconds;
  Histogram commit_seconds;
  std::uint64_t commit_failures = 0;
  std::uint64_t mailbox_depth = 0;
};

struct LoopLimits {
  std::size_t mailbox = 100'000;
  Duration retry_commit_after = 500ms;
  Duration commit_overdue = 10s;  // from then on the store counts as one that cannot be written
  Duration gather_max = 5ms;      // before a commit, for those who come again
  OutboxLimits outbox = {};
};

// The thread that owns the controller. All others post to its mailbox: facts, calls, queries. It
// drains the box into one batch and steps; a writer makes the changes durable meanwhile, those of
// several steps as one transaction while it is busy. What a step does leaves when its changes and
// those of all steps before it are durable, in the order of the steps: nothing is acknowledged
// before, and nobody is shown a decision that could still be lost. Sessions and pools are not
// durable anywhere: commands about them, answers to who calls for a session, and what is told of
// them leave at once, also while the store is in trouble.
//
// A commit that fails (a full disk) is tried again until it works or the loop is stopped. Until
// then nothing is performed. Who called for what cannot be made durable is told so and not kept
// waiting; further calls that change something are refused at once, and whoever looks is answered:
// from a state that the disk has not seen yet. So it is while a commit takes too long. Facts are
// stepped until the outbox is full, then they wait, and the box is bounded.
//
// A commit that fails because the fence does not hold is not tried again: another has the store.
// Nothing leaves any more, everybody is told, and the loop has stopped.
//
// Everything but `run` may be called from any thread.
class Loop {
 public:
  // Tells somebody what was seen: that it is durable, or why that is in doubt; Conflict if it never
  // will be. From the thread of the loop; must return quickly.
  using Telling = std::function<void(const std::optional<Error>& doubt)>;
  // Tells the world of a step that is durable. The same.
  using Publishing = std::function<void()>;

  // What is performed, always from the thread of the loop; must return quickly.
  struct Ports {
    std::function<void(const control::Outgoing&)> send;
    // Right after the step, whatever is durable.
    std::function<void(const control::PoolOutgoing&)> send_pool = [](const auto&) {};
    // The same: tells the world of sessions and pools.
    std::function<void(const control::Controller&, const control::Effects&)> tell_sessions =
        [](const auto&, const auto&) {};
    // After each step: looks at what is to be told of it.
    std::function<Publishing(const control::Controller&, const control::Effects&)> stepped;
  };

  // With a fence nothing is written to the store once that does not hold any more.
  Loop(store::Store& store, control::Config config, control::Durable restored, Ports ports,
       LoopLimits limits = {}, std::optional<store::Fence> fence = std::nullopt);

  // Until `stop`, or until another has the store. What was decided is written by then, if it can
  // be; who still waits for a reply is told that there will be none.
  void run();
  void stop();

  // False: too much is waiting, or the loop has stopped. Let go of who sent it.
  [[nodiscard]] bool post(control::Event fact);

  // Run between two steps: for what shows what nodes report, or nothing to anybody.
  using Query = std::function<void(const control::Controller&)>;
  [[nodiscard]] bool post(Query query);

  // The same for what shows what is asked for or decided: that is told when it is durable, or
  // cannot be made so.
  using Reader = std::function<Telling(const control::Controller&)>;
  [[nodiscard]] bool post(Reader look);

  // In its turn with the changes of the steps before it.
  [[nodiscard]] bool post(StoreCall call);

  // Asks for a change. `reply` is called from the thread of the loop, or at once from this one if
  // the call cannot be taken; if it returns true it gets what follows Accepted too.
  using Answer = decltype(control::Reply::answer);
  using ReplyTaker = std::function<bool(const Answer&)>;
  // Sees the controller as it is right after the step that answers, before `reply` is called.
  using ReplyReader = std::function<void(const control::Controller&, const Answer&)>;
  void call(const std::function<control::Event(control::CallId)>& make, ReplyTaker reply,
            ReplyReader look = {});

  // Asks for a session, or for its end: with an event that is answered by a SessionReply. `reply`
  // is called once, as above; nothing waits for the store. The id is for `abandon_session_call`.
  using SessionAnswer = decltype(control::SessionReply::answer);
  using SessionReplyTaker = std::function<void(const SessionAnswer&)>;
  control::CallId call_session(const std::function<control::Event(control::CallId)>& make,
                               SessionReplyTaker reply);
  // Nobody waits for the answer any more: `reply` is not called, unless it just is.
  void abandon_session_call(control::CallId call);

  // Why nothing can be made durable at present.
  std::optional<Error> trouble() const;

  LoopStats stats() const;

 private:
  using Item = std::variant<control::Event, Query, Reader, StoreCall>;

  struct Caller {
    ReplyTaker reply;
    ReplyReader look;
  };
  // What leaves when a step is durable.
  struct Sealed {
    control::Effects effects;  // without the writes
    std::vector<Publishing> publish = {};
    std::optional<std::uint64_t> revision =
        {};                              // of which the core wants to know that it is durable
    std::vector<Telling> tellings = {};  // to those who have looked right after it
    std::vector<StoreCall> store_calls = {};
  };

  [[nodiscard]] bool put(Item item);
  std::vector<Item> take(std::optional<Time> until);
  std::optional<Time> next_turn() const;
  void sort_in(std::vector<Item> items);
  void turn();

  void step();
  void seal(std::vector<store::Change> changes, Sealed sealed);
  void leave_at_once(control::Effects& effects);
  void answer_session(control::CallId call, const SessionAnswer& answer);
  void look_for_callers(const control::Effects& effects);
  void look_after(const std::optional<StoreWriter::Outcome>& outcome);
  void end_commit(double seconds);
  void fail_commit(const Error& why);
  void look_for_overdue_commit();
  void write();
  std::size_t let_leave();
  bool is_gathering() const;
  void gather_for(double seconds);
  void perform(const Sealed& sealed);
  void answer(control::CallId call, const Answer& answer);
  void run_looks();
  void pass_on_store_calls();
  void tell_those_who_wait(const Error& trouble);
  void refuse_waiting_calls(const Error& why);
  void finish_writing();
  void write_last_words();
  void dismiss_everybody();
  void set_trouble(const Error& trouble);
  void clear_trouble();

  const Ports ports_;
  const LoopLimits limits_;
  shell::Mailbox<Item> mailbox_;
  std::atomic<std::uint64_t> depth_ = 0;

  // Of the loop's thread.
  control::Controller controller_;
  std::vector<control::Event> facts_;
  std::vector<Reader> looks_;
  std::vector<StoreCall> store_calls_;
  std::optional<Time> wake_at_;
  bool is_held_back_ = false;  // the last step was: it goes on when the writer has caught up
  Outbox<Sealed> outbox_;
  Time retry_at_{};                // of a commit that has failed
  Time commit_overdue_at_{};       // of the one under way
  Time gathers_until_{};           // the next one does not begin before, unless all have come again
  std::size_t awaited_calls_ = 0;  // who may come again
  bool is_replaced_ = false;       // another has the store

  mutable std::mutex mutex_;  // guards what follows
  std::map<control::CallId, Caller> callers_;
  std::map<control::CallId, SessionReplyTaker> session_callers_;
  control::CallId last_call_ = 0;
  std::optional<Error> trouble_;
  LoopStats stats_;
  bool stopped_ = false;

  StoreWriter writer_;  // the last: it wakes the loop, and writes what is in the outbox
};

}  // namespace berth::controld
