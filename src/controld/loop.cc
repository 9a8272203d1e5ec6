#include "controld/loop.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "controld/persistence.h"
#include "shell/clock.h"
#include "shell/log.h"

namespace berth::controld {
namespace {

using shell::LogLevel;

const Error kStopping{Code::Unavailable, "the control plane is stopping"};
const Error kBusy{Code::Unavailable, "too much is waiting for the control plane; try again"};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Nullopt: nobody waits for an answer to it.
std::optional<control::CallId> call_of(const control::Event& event) {
  return std::visit(
      [](const auto& fact) -> std::optional<control::CallId> {
        if constexpr (requires { fact.call; }) {
          return fact.call;
        } else {
          return std::nullopt;
        }
      },
      event);
}

}  // namespace

Error refusal_for(const Error& trouble) {
  const Code code = trouble.code == Code::Exhausted ? Code::Exhausted : Code::Unavailable;
  return {code, "nothing can be changed, because the store cannot be written: " + trouble.message};
}

namespace {

// It is decided, and cannot be taken back; but it counts only once it is durable.
Error kept_waiting(const Error& trouble) {
  Error error = refusal_for(trouble);
  error.message +=
      "; this request is carried out when there is room again, or can be repeated then";
  return error;
}

}  // namespace

void Histogram::add(double seconds) {
  const auto bound = std::ranges::lower_bound(kBounds, seconds);
  ++counts[static_cast<std::size_t>(bound - kBounds.begin())];
  sum += seconds;
  ++total;
}

Loop::Loop(store::Store& store, control::Config config, control::Durable restored, Ports ports,
           LoopLimits limits)
    : store_(store),
      ports_(std::move(ports)),
      limits_(limits),
      mailbox_(limits.mailbox),
      controller_(config, std::move(restored)) {}

void Loop::run() {
  step();
  while (!mailbox_.closed()) {
    sort_in(take(wake_at_));
    if (mailbox_.closed()) break;
    const bool is_due = wake_at_ && *wake_at_ <= shell::now();
    if (!facts_.empty() || is_due) step();
    run_store_calls();
    run_queries();
  }
  write_last_words();
  dismiss_everybody();
}

// What cannot be written is only less exact after the next start. Nothing may follow a batch that
// is missing.
void Loop::write_last_words() {
  if (!is_durable_) return;
  const std::vector<control::Write> writes = controller_.last_writes(shell::now());
  if (writes.empty()) return;
  const Result<void> committed = store_.commit(to_changes(writes));
  if (committed) return;
  shell::log(LogLevel::Warning, "what is left of times that run out cannot be written down",
             {{"error", committed.error().message}});
}

void Loop::stop() { mailbox_.close(); }

bool Loop::put(Item item) {
  depth_.fetch_add(1, std::memory_order_relaxed);
  if (mailbox_.post(std::move(item))) return true;
  depth_.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

bool Loop::post(control::Event fact) { return put(std::move(fact)); }
bool Loop::post(Query query) { return put(std::move(query)); }
bool Loop::post(StoreCall call) {
  if (trouble()) return false;
  return put(std::move(call));
}

void Loop::call(const std::function<control::Event(control::CallId)>& make, ReplyTaker reply) {
  control::CallId id = 0;
  std::optional<Error> refusal;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) refusal = kStopping;
    if (trouble_) refusal = refusal_for(*trouble_);
    id = ++last_call_;
    if (!refusal) takers_.emplace(id, reply);
  }
  if (refusal) {
    reply(*refusal);
    return;
  }
  if (!put(make(id))) answer(id, mailbox_.closed() ? kStopping : kBusy);
}

std::vector<Loop::Item> Loop::take(std::optional<Time> until) {
  std::vector<Item> items = mailbox_.take(until);
  depth_.fetch_sub(items.size(), std::memory_order_relaxed);
  return items;
}

void Loop::sort_in(std::vector<Item> items) {
  for (Item& item : items) {
    if (auto* fact = std::get_if<control::Event>(&item)) {
      facts_.push_back(std::move(*fact));
    } else if (auto* query = std::get_if<Query>(&item)) {
      queries_.push_back(std::move(*query));
    } else {
      store_calls_.push_back(std::move(std::get<StoreCall>(item)));
    }
  }
}

void Loop::step() {
  const auto started = std::chrono::steady_clock::now();
  const std::vector<control::Event> batch = std::exchange(facts_, {});
  const control::Effects effects = controller_.step(shell::now(), batch);
  {
    const std::lock_guard lock(mutex_);
    stats_.step_seconds.add(seconds_since(started));
  }
  wake_at_ = effects.wake_at;
  is_durable_ = make_durable(effects);
  if (is_durable_) perform(effects);
}

// The same batch until it is durable. False: the loop was stopped before.
bool Loop::make_durable(const control::Effects& effects) {
  if (effects.writes.empty()) return true;
  const std::vector<store::Change> changes = to_changes(effects.writes);
  while (!mailbox_.closed()) {
    const auto started = std::chrono::steady_clock::now();
    const Result<void> committed = store_.commit(changes);
    if (committed) {
      const std::lock_guard lock(mutex_);
      stats_.commit_seconds.add(seconds_since(started));
    }
    set_trouble(committed ? std::nullopt : std::optional(committed.error()));
    if (committed) return true;
    for (const control::Reply& reply : effects.replies)
      answer(reply.call, kept_waiting(*trouble()));
    hold_on(shell::now() + limits_.retry_commit_after);
  }
  return false;
}

// Waits, and answers whom it can. What the box holds beyond that stays in it: it is bounded.
void Loop::hold_on(Time until) {
  while (!mailbox_.closed() && shell::now() < until) {
    refuse_waiting_calls(refusal_for(*trouble()));
    run_queries();
    if (facts_.size() < limits_.mailbox) {
      sort_in(take(until));
    } else {
      std::this_thread::sleep_until(shell::to_steady(until));
    }
  }
}

void Loop::refuse_waiting_calls(const Error& why) {
  std::erase_if(facts_, [&](const control::Event& fact) {
    const auto call = call_of(fact);
    if (call) answer(*call, why);
    return call.has_value();
  });
  for (StoreCall& call : std::exchange(store_calls_, {})) call.done(why);
}

void Loop::set_trouble(std::optional<Error> trouble) {
  std::optional<Error> before;
  {
    const std::lock_guard lock(mutex_);
    if (trouble) ++stats_.commit_failures;
    before = std::exchange(trouble_, trouble);
  }
  if (trouble && !before) {
    shell::log(LogLevel::Error, "the store cannot be written; trying again until it works",
               {{"error", trouble->message}});
  } else if (!trouble && before) {
    shell::log(LogLevel::Info, "the store can be written again");
  }
}

void Loop::perform(const control::Effects& effects) {
  for (const control::Outgoing& outgoing : effects.commands) ports_.send(outgoing);
  ports_.stepped(controller_, effects);
  for (const control::Reply& reply : effects.replies) answer(reply.call, reply.answer);
}

void Loop::answer(control::CallId call, const Answer& answer) {
  ReplyTaker taker;
  {
    const std::lock_guard lock(mutex_);
    const auto found = takers_.find(call);
    if (found == takers_.end()) return;  // it did not want more than it got
    taker = std::move(found->second);
    takers_.erase(found);
  }
  const bool more_may_follow = std::holds_alternative<control::Accepted>(answer);
  if (!taker(answer) || !more_may_follow) return;
  const std::lock_guard lock(mutex_);
  takers_.emplace(call, std::move(taker));
}

void Loop::run_queries() {
  for (const Query& query : std::exchange(queries_, {})) query(controller_);
}

void Loop::run_store_calls() {
  for (StoreCall& call : std::exchange(store_calls_, {})) {
    const auto changes = call.make(store_);
    if (!changes) {
      call.done(changes.error());
      continue;
    }
    const Result<void> committed = store_.commit(*changes);
    call.done(committed ? committed : Result<void>(refusal_for(committed.error())));
  }
}

void Loop::dismiss_everybody() {
  std::map<control::CallId, ReplyTaker> takers;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    takers.swap(takers_);
  }
  for (const auto& [id, taker] : takers) taker(kStopping);
  sort_in(take(shell::now()));
  for (StoreCall& call : std::exchange(store_calls_, {})) call.done(kStopping);
  run_queries();
}

std::optional<Error> Loop::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

LoopStats Loop::stats() const {
  const std::lock_guard lock(mutex_);
  LoopStats stats = stats_;
  stats.mailbox_depth = depth_.load(std::memory_order_relaxed);
  return stats;
}

}  // namespace berth::controld
