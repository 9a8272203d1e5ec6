#include "controld/loop/loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <type_traits>
#include <utility>

#include "controld/loop/persistence.h"
#include "shell/clock.h"
#include "shell/log.h"

namespace berth::controld {
namespace {

using shell::LogLevel;

constexpr Duration kFullBoxWait = 10ms;    // until facts can be stepped again
constexpr std::size_t kJoinedMax = 1'000;  // steps that are kept as one

const Error kStopping{Code::Unavailable, "the control plane is stopping"};
const Error kReplaced{Code::Unavailable, "another control plane has the store now"};
const Error kBusy{Code::Unavailable, "too much is waiting for the control plane; try again"};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class Fact>
constexpr bool kIsAboutSessions = std::is_same_v<Fact, control::OpenSessionCall> ||
                                  std::is_same_v<Fact, control::CloseSessionCall> ||
                                  std::is_same_v<Fact, control::SessionCallerGone>;

// Nullopt: nobody waits for an answer to it that has to be durable.
std::optional<control::CallId> call_of(const control::Event& event) {
  return std::visit(
      [](const auto& fact) -> std::optional<control::CallId> {
        using Fact = std::decay_t<decltype(fact)>;
        if constexpr (requires { fact.call; } && !kIsAboutSessions<Fact>) {
          return fact.call;
        } else {
          return std::nullopt;
        }
      },
      event);
}

// It is decided, and cannot be taken back; but it counts only once it is durable.
Error kept_waiting(const Error& trouble) {
  const bool is_full = trouble.code == Code::Exhausted;
  return {Code::NotDurable,
          fmt::format("not durable yet: the store cannot be written: {}. It is taken, and carried "
                      "out when {} again; if the control plane ends before, it has to be asked for "
                      "again",
                      trouble.message, is_full ? "there is room" : "that is possible")};
}

// What the core has refused will not be carried out.
Error answer_in_trouble(const control::Reply& reply, const Error& trouble) {
  const bool is_refused = std::holds_alternative<Error>(reply.answer);
  return is_refused ? refusal_for(trouble) : kept_waiting(trouble);
}

}  // namespace

void Histogram::add(double seconds) {
  const auto bound = std::ranges::lower_bound(kBounds, seconds);
  ++counts[static_cast<std::size_t>(bound - kBounds.begin())];
  sum += seconds;
  ++total;
}

Loop::Loop(store::Store& store, control::Config config, control::Durable restored, Ports ports,
           LoopLimits limits, std::optional<store::Fence> fence)
    : ports_(std::move(ports)),
      limits_(limits),
      mailbox_(limits.mailbox),
      controller_(config, std::move(restored)),
      outbox_(limits.outbox),
      writer_(store, std::move(fence), [this] { mailbox_.wake(); }) {}

void Loop::run() {
  step();
  write();
  while (!mailbox_.closed()) {
    // What the box holds beyond that stays in it: it is bounded.
    const bool has_room = facts_.size() < limits_.mailbox;
    if (has_room) sort_in(take(next_turn()));
    if (!has_room) mailbox_.wait_for_close(shell::now() + kFullBoxWait);
    if (!mailbox_.closed()) turn();
  }
  finish_writing();
  write_last_words();
  dismiss_everybody();
}

void Loop::turn() {
  look_after(writer_.take_outcome());
  write();
  if (const auto why = trouble()) refuse_waiting_calls(refusal_for(*why));
  const bool is_due =
      (wake_at_ && *wake_at_ <= shell::now()) || (is_held_back_ && !outbox_.is_behind());
  if (!outbox_.is_full() && (!facts_.empty() || is_due)) step();
  write();
  pass_on_store_calls();
  run_looks();
}

// Nullopt: when something comes, or a commit has ended.
std::optional<Time> Loop::next_turn() const {
  std::optional<Time> next = outbox_.is_full() ? std::nullopt : wake_at_;
  const auto no_later_than = [&](Time when) { next = std::min(next.value_or(when), when); };
  if (!facts_.empty() && !outbox_.is_full()) no_later_than(shell::now());
  const bool is_in_trouble = trouble().has_value();
  if (is_in_trouble && !outbox_.is_under_way()) no_later_than(retry_at_);
  if (!is_in_trouble && outbox_.is_under_way()) no_later_than(commit_overdue_at_);
  // Also where that is over by now: it was not when it was last looked whether to write.
  const bool has_batch = !outbox_.is_under_way() && outbox_.has_changes();
  if (has_batch && !is_in_trouble && awaited_calls_ > 0) no_later_than(gathers_until_);
  return next;
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
bool Loop::post(Reader look) { return put(std::move(look)); }
bool Loop::post(StoreCall call) {
  if (trouble()) return false;
  return put(std::move(call));
}

void Loop::call(const std::function<control::Event(control::CallId)>& make, ReplyTaker reply,
                ReplyReader look) {
  control::CallId id = 0;
  std::optional<Error> refusal;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) refusal = kStopping;
    if (trouble_) refusal = refusal_for(*trouble_);
    id = ++last_call_;
    if (!refusal) callers_.emplace(id, Caller{reply, std::move(look)});
  }
  if (refusal) {
    reply(*refusal);
    return;
  }
  if (!put(make(id))) answer(id, mailbox_.closed() ? kStopping : kBusy);
}

control::CallId Loop::call_session(const std::function<control::Event(control::CallId)>& make,
                                   SessionReplyTaker reply) {
  control::CallId id = 0;
  bool is_stopped = false;
  {
    const std::lock_guard lock(mutex_);
    id = ++last_call_;
    is_stopped = stopped_;
    if (!is_stopped) session_callers_.emplace(id, reply);
  }
  if (is_stopped) {
    reply(kStopping);
  } else if (!put(make(id))) {
    answer_session(id, mailbox_.closed() ? kStopping : kBusy);
  }
  return id;
}

// If the box is full the core is not told: then its deadline ends what nobody waits for.
void Loop::abandon_session_call(control::CallId call) {
  {
    const std::lock_guard lock(mutex_);
    if (session_callers_.erase(call) == 0) return;
  }
  (void)put(control::SessionCallerGone{call});
}

void Loop::answer_session(control::CallId call, const SessionAnswer& answer) {
  SessionReplyTaker reply;
  {
    const std::lock_guard lock(mutex_);
    const auto found = session_callers_.find(call);
    if (found == session_callers_.end()) return;
    reply = std::move(found->second);
    session_callers_.erase(found);
  }
  reply(answer);
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
      looks_.emplace_back([query = std::move(*query)](const control::Controller& controller) {
        query(controller);
        return Telling();
      });
    } else if (auto* look = std::get_if<Reader>(&item)) {
      looks_.push_back(std::move(*look));
    } else {
      store_calls_.push_back(std::move(std::get<StoreCall>(item)));
    }
  }
}

void Loop::step() {
  const auto started = std::chrono::steady_clock::now();
  const std::vector<control::Event> batch = std::exchange(facts_, {});
  const auto calls = static_cast<std::size_t>(std::ranges::count_if(
      batch, [](const control::Event& event) { return call_of(event).has_value(); }));
  awaited_calls_ -= std::min(awaited_calls_, calls);
  is_held_back_ = outbox_.is_behind();
  control::Effects effects = controller_.step(
      shell::now(), batch, is_held_back_ ? control::Pace::HeldBack : control::Pace::GoOn);
  {
    const std::lock_guard lock(mutex_);
    stats_.step_seconds.add(seconds_since(started));
  }
  wake_at_ = effects.wake_at;
  leave_at_once(effects);
  look_for_callers(effects);
  Sealed sealed;
  if (effects.tell_when_durable) sealed.revision = controller_.durable().counters.revision;
  sealed.publish.push_back(ports_.stepped(controller_, effects));
  std::vector<store::Change> changes = to_changes(std::exchange(effects.writes, {}));
  sealed.effects = std::move(effects);
  seal(std::move(changes), std::move(sealed));
  let_leave();
}

// What is durable nowhere waits for no disk.
void Loop::leave_at_once(control::Effects& effects) {
  for (const control::PoolOutgoing& outgoing : std::exchange(effects.pool_commands, {})) {
    ports_.send_pool(outgoing);
  }
  ports_.tell_sessions(controller_, effects);
  effects.session_changes.clear();
  effects.pools_changed.clear();
  for (const control::SessionReply& reply : std::exchange(effects.session_replies, {})) {
    answer_session(reply.call, reply.answer);
  }
}

// A step that has nothing to make durable leaves with the one before it, and is kept with that:
// else calls for sessions would fill the outbox while the disk is slow. Not behind answers, which
// must leave before what follows them is told.
void Loop::seal(std::vector<store::Change> changes, Sealed sealed) {
  const bool may_join = changes.empty() && !outbox_.waiting().empty() &&
                        outbox_.waiting().back().publish.size() < kJoinedMax &&
                        outbox_.waiting().back().effects.replies.empty() &&
                        outbox_.waiting().back().tellings.empty() &&
                        outbox_.waiting().back().store_calls.empty();
  if (!may_join) return outbox_.seal(std::move(changes), std::move(sealed));
  Sealed& last = outbox_.waiting().back();
  const auto append = [](auto& to, auto& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  append(last.effects.commands, sealed.effects.commands);
  append(last.effects.replies, sealed.effects.replies);
  append(last.publish, sealed.publish);
  last.revision = std::max(last.revision, sealed.revision);
}

void Loop::look_for_callers(const control::Effects& effects) {
  for (const control::Reply& reply : effects.replies) {
    ReplyReader look;
    {
      const std::lock_guard lock(mutex_);
      const auto found = callers_.find(reply.call);
      if (found != callers_.end()) look = found->second.look;
    }
    if (look) look(controller_, reply.answer);
  }
}

// Some of those who were answered at once have not asked again yet, and may.
bool Loop::is_gathering() const {
  return awaited_calls_ > 0 && shell::now() < gathers_until_ && !trouble();
}

// Hands the writer what has gathered, unless it is busy with the batch before.
void Loop::write() {
  if (is_gathering() || (trouble() && shell::now() < retry_at_)) return;
  const auto* batch = outbox_.begin_commit();
  if (batch == nullptr) return;
  commit_overdue_at_ = shell::now() + limits_.commit_overdue;
  writer_.commit(*batch);
}

void Loop::look_after(const std::optional<StoreWriter::Outcome>& outcome) {
  if (!outcome) return look_for_overdue_commit();
  outcome->result ? end_commit(outcome->seconds) : fail_commit(outcome->result.error());
}

void Loop::end_commit(double seconds) {
  outbox_.commit_done();
  {
    const std::lock_guard lock(mutex_);
    stats_.commit_seconds.add(seconds);
  }
  clear_trouble();
  awaited_calls_ = let_leave();
  gather_for(seconds);
}

// Where several are answered at once, they mostly ask again at once. The first of them would have
// the next commit for itself, and all others would wait for two. One alone is not waited for, and
// nobody for longer than the commit would have taken that is put off.
void Loop::gather_for(double seconds) {
  if (awaited_calls_ < 2) awaited_calls_ = 0;
  const auto time = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  gathers_until_ = shell::now() + std::min(time, limits_.gather_max);
}

void Loop::fail_commit(const Error& why) {
  outbox_.commit_failed();
  {
    const std::lock_guard lock(mutex_);
    ++stats_.commit_failures;
  }
  set_trouble(why);
  tell_those_who_wait(why);
  retry_at_ = shell::now() + limits_.retry_commit_after;
  if (why.code != Code::Conflict) return;
  shell::log(LogLevel::Error, "another control plane has the store now; this one stops");
  is_replaced_ = true;
  mailbox_.close();
}

// It may end well yet, but nobody can say when.
void Loop::look_for_overdue_commit() {
  if (!outbox_.is_under_way() || trouble() || shell::now() < commit_overdue_at_) return;
  const auto waited = std::chrono::duration_cast<std::chrono::seconds>(limits_.commit_overdue);
  const Error why{Code::Unavailable, fmt::format("it has not answered for {} s", waited.count())};
  set_trouble(why);
  tell_those_who_wait(why);
}

// How many callers are answered.
std::size_t Loop::let_leave() {
  std::size_t answered = 0;
  while (const std::optional<Sealed> sealed = outbox_.leave()) {
    perform(*sealed);
    for (const control::Reply& reply : sealed->effects.replies) {
      const bool is_first = !std::holds_alternative<control::Finished>(reply.answer);
      if (is_first) ++answered;
    }
  }
  return answered;
}

void Loop::perform(const Sealed& sealed) {
  for (const control::Outgoing& outgoing : sealed.effects.commands) ports_.send(outgoing);
  for (const Publishing& publish : sealed.publish) {
    if (publish) publish();
  }
  for (const control::Reply& reply : sealed.effects.replies) answer(reply.call, reply.answer);
  for (const Telling& tell : sealed.tellings) tell(std::nullopt);
  for (const StoreCall& call : sealed.store_calls) writer_.call(call);
  if (sealed.revision) facts_.emplace_back(control::WritesDurable{*sealed.revision});
}

void Loop::answer(control::CallId call, const Answer& answer) {
  Caller caller;
  {
    const std::lock_guard lock(mutex_);
    const auto found = callers_.find(call);
    if (found == callers_.end()) return;  // it did not want more than it got
    caller = std::move(found->second);
    callers_.erase(found);
  }
  const bool more_may_follow = std::holds_alternative<control::Accepted>(answer);
  if (!caller.reply(answer) || !more_may_follow) return;
  const std::lock_guard lock(mutex_);
  callers_.emplace(call, std::move(caller));
}

// While nothing becomes durable, nobody is kept waiting for that.
void Loop::run_looks() {
  const bool is_durable = outbox_.waiting().empty();
  const std::optional<Error> doubt = is_durable ? std::nullopt : trouble();
  for (const Reader& look : std::exchange(looks_, {})) {
    Telling tell = look(controller_);
    if (!tell) continue;
    const bool waits = !is_durable && !doubt;
    waits ? outbox_.waiting().back().tellings.push_back(std::move(tell)) : tell(doubt);
  }
}

void Loop::pass_on_store_calls() {
  const bool waits = !outbox_.waiting().empty();
  for (StoreCall& call : std::exchange(store_calls_, {})) {
    waits ? outbox_.waiting().back().store_calls.push_back(std::move(call))
          : writer_.call(std::move(call));
  }
}

void Loop::tell_those_who_wait(const Error& trouble) {
  for (Sealed& sealed : outbox_.waiting()) {
    for (const control::Reply& reply : sealed.effects.replies) {
      answer(reply.call, answer_in_trouble(reply, trouble));
    }
    for (const Telling& tell : std::exchange(sealed.tellings, {})) tell(trouble);
    for (const StoreCall& call : std::exchange(sealed.store_calls, {})) {
      call.done(refusal_for(trouble));
    }
  }
}

void Loop::refuse_waiting_calls(const Error& why) {
  std::erase_if(facts_, [&](const control::Event& fact) {
    const auto call = call_of(fact);
    if (call) answer(*call, why);
    return call.has_value();
  });
  for (const StoreCall& call : std::exchange(store_calls_, {})) call.done(why);
}

void Loop::set_trouble(const Error& trouble) {
  bool is_new = false;
  {
    const std::lock_guard lock(mutex_);
    is_new = !trouble_;
    trouble_ = trouble;
  }
  if (!is_new) return;
  shell::log(LogLevel::Error, "the store cannot be written", {{"error", trouble.message}});
}

void Loop::clear_trouble() {
  bool was_there = false;
  {
    const std::lock_guard lock(mutex_);
    was_there = std::exchange(trouble_, std::nullopt).has_value();
  }
  if (was_there) shell::log(LogLevel::Info, "the store can be written again");
}

// All that was decided, unless it cannot be written; what could not be is tried once more.
void Loop::finish_writing() {
  writer_.wait();
  look_after(writer_.take_outcome());
  while (!is_replaced_) {
    const auto* batch = outbox_.begin_commit();
    if (batch == nullptr) return;
    writer_.commit(*batch);
    writer_.wait();
    look_after(writer_.take_outcome());
    if (trouble()) return;
  }
}

// What cannot be written is only less exact after the next start. Nothing may follow a batch that
// is missing.
void Loop::write_last_words() {
  if (!outbox_.waiting().empty()) return;
  std::vector<store::Change> changes = to_changes(controller_.last_writes(shell::now()));
  if (changes.empty()) return;
  outbox_.seal(std::move(changes), {});
  finish_writing();
}

void Loop::dismiss_everybody() {
  const Error& why = is_replaced_ ? kReplaced : kStopping;
  std::map<control::CallId, Caller> callers;
  std::map<control::CallId, SessionReplyTaker> session_callers;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    callers.swap(callers_);
    session_callers.swap(session_callers_);
  }
  for (const auto& [id, caller] : callers) caller.reply(why);
  for (const auto& [id, reply] : session_callers) reply(why);
  sort_in(take(shell::now()));
  refuse_waiting_calls(why);
  if (const auto doubt = trouble()) tell_those_who_wait(*doubt);
  run_looks();
  writer_.wait();  // for what it was called for
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
