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
#include "shell/mailbox.h"
#include "store/store.h"

namespace berth::controld {

// What callers are told who want a change while the store cannot be written.
Error refusal_for(const Error& trouble);

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
};

// The thread that owns the controller. All others post to its mailbox: facts, calls, queries. It
// drains the box into one batch, steps, commits the writes of the step as one transaction (so what
// came during a commit shares the next one), and only then performs the effects: nothing is
// acknowledged before it is durable.
//
// A commit that fails (a full disk) is tried again until it works or the loop is stopped. Until
// then nothing is performed. Who called for what cannot be made durable is told so and not kept
// waiting; further calls that change something are refused at once, facts wait in the box, and
// queries are answered: from a state that the disk has not seen yet.
//
// Everything but `run` may be called from any thread.
class Loop {
 public:
  // What is performed, always from the thread of the loop; must return quickly.
  struct Ports {
    std::function<void(const control::Outgoing&)> send;
    // After each step whose writes are durable, with what is left of its effects.
    std::function<void(const control::Controller&, const control::Effects&)> stepped;
  };

  Loop(store::Store& store, control::Config config, control::Durable restored, Ports ports,
       LoopLimits limits = {});

  // Until `stop`. Who still waits for a reply then is told that there will be none.
  void run();
  void stop();

  // False: too much is waiting, or the loop has stopped. Let go of who sent it.
  [[nodiscard]] bool post(control::Event fact);

  // Run between two steps.
  using Query = std::function<void(const control::Controller&)>;
  [[nodiscard]] bool post(Query query);

  // A transaction of the shell's own keys. `make` looks at the store and gives what to change;
  // `done` is told when that is durable, or why it is not.
  struct StoreCall {
    std::function<Result<std::vector<store::Change>>(const store::Store&)> make;
    std::function<void(Result<void>)> done;
  };
  [[nodiscard]] bool post(StoreCall call);

  // Asks for a change. `reply` is called from the thread of the loop, or at once from this one if
  // the call cannot be taken; if it returns true it gets what follows Accepted too.
  using Answer = decltype(control::Reply::answer);
  using ReplyTaker = std::function<bool(const Answer&)>;
  void call(const std::function<control::Event(control::CallId)>& make, ReplyTaker reply);

  // Why nothing can be made durable at present.
  std::optional<Error> trouble() const;

  LoopStats stats() const;

 private:
  using Item = std::variant<control::Event, Query, StoreCall>;

  [[nodiscard]] bool put(Item item);
  std::vector<Item> take(std::optional<Time> until);
  void sort_in(std::vector<Item> items);

  void step();
  void write_last_words();
  bool make_durable(const control::Effects& effects);
  void hold_on(Time until);
  void perform(const control::Effects& effects);
  void answer(control::CallId call, const Answer& answer);
  void run_queries();
  void run_store_calls();
  void refuse_waiting_calls(const Error& why);
  void dismiss_everybody();
  void set_trouble(std::optional<Error> trouble);

  store::Store& store_;
  const Ports ports_;
  const LoopLimits limits_;
  shell::Mailbox<Item> mailbox_;
  std::atomic<std::uint64_t> depth_ = 0;

  // Of the loop's thread.
  control::Controller controller_;
  std::vector<control::Event> facts_;
  std::vector<Query> queries_;
  std::vector<StoreCall> store_calls_;
  std::optional<Time> wake_at_;
  bool is_durable_ = true;  // all that was decided

  mutable std::mutex mutex_;  // guards what follows
  std::map<control::CallId, ReplyTaker> takers_;
  control::CallId last_call_ = 0;
  std::optional<Error> trouble_;
  LoopStats stats_;
  bool stopped_ = false;
};

}  // namespace berth::controld
