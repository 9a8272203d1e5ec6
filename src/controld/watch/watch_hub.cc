#include "controld/watch/watch_hub.h"

#include <fmt/format.h>

#include <utility>

#include "codec/manifest.h"
#include "controld/api/messages.h"
#include "shell/clock.h"

namespace berth::controld {
namespace {

constexpr std::size_t kPiece = 256;  // of everything, that is queued at a time

std::string name_of(const InstanceView& view) {
  return "instance/" + model::to_string(view.status.key);
}
std::string name_of(const NodeView& view) { return "node/" + view.id.value(); }
std::string name_of(const model::SessionStatus& status) {
  return "session/" + model::to_string(status.ref.key);
}
std::string name_of(const PoolView& view) {
  return "application/" + model::to_string(view.application);
}
std::string name_of(const model::DocumentKind& kind, const std::string& id) {
  return std::string(kind.singular) + "/" + id;
}

api::AnswerPtr answer_for(const InstanceView& view) {
  v1::WatchEvent event;
  *event.mutable_instance() = api::to_message(view);
  return api::answer_of(std::move(event));
}
api::AnswerPtr status_for(const InstanceView& view) {
  v1::ApplyEvent event;
  *event.mutable_status() = api::to_message(view);
  return api::answer_of(std::move(event));
}
api::AnswerPtr answer_for(const NodeView& view) {
  v1::WatchEvent event;
  *event.mutable_node() = api::to_message(view);
  return api::answer_of(std::move(event));
}
api::AnswerPtr answer_for(const LoggedEvent& logged) {
  v1::WatchEvent event;
  *event.mutable_event() = api::to_message(logged);
  return api::answer_of(std::move(event));
}
api::AnswerPtr answer_for(const model::SessionStatus& status) {
  v1::WatchEvent event;
  *event.mutable_session() = api::to_message(status);
  return api::answer_of(std::move(event));
}
api::AnswerPtr answer_for(const PoolView& view) {
  v1::WatchEvent event;
  *event.mutable_pool() = api::to_message(view);
  return api::answer_of(std::move(event));
}
api::AnswerPtr answer_for(const model::Document& document) {
  return std::make_shared<const api::Answer>(
      fmt::format(R"({{"document":{}}})", codec::to_json(document)),
      v1::WatchEvent::default_instance());
}
api::AnswerPtr answer_for(const DocumentChange& change, std::uint64_t revision) {
  if (change.document) {
    return std::make_shared<const api::Answer>(
        fmt::format(R"({{"document":{},"revision":"{}"}})", codec::to_json(*change.document),
                    revision),
        v1::WatchEvent::default_instance());
  }
  v1::WatchEvent event;
  event.mutable_gone()->set_kind(std::string(change.kind->name));
  event.mutable_gone()->set_name(change.id);
  event.set_revision(revision);
  return api::answer_of(std::move(event));
}
api::AnswerPtr synced(const WatchHub::Watcher& watcher, std::uint64_t revision) {
  v1::WatchEvent event;
  event.set_synced(true);
  if (watcher.told_revisions) event.set_revision(revision);
  return api::answer_of(std::move(event));
}

bool wants(const WatchHub::Watcher& watcher, std::string_view topic, std::string_view name) {
  return !watcher.only && watcher.topics.contains(topic) && is_about(name, watcher.about);
}

template <class Views>
void keep_wanted(const WatchHub::Watcher& watcher, std::string_view topic, Views& views) {
  std::erase_if(views, [&](const auto& view) {
    return !watcher.only && !wants(watcher, topic, name_of(view));
  });
}

const Error kTooSlow{Code::Exhausted, "cut off: changes came faster than they were read"};

Error too_old(std::uint64_t revision) {
  return {Code::Conflict, fmt::format("what came after revision {} is not known any more: watch "
                                      "anew, without `after`",
                                      revision)};
}

}  // namespace

WatchHub::WatchHub(std::size_t pending_max)
    : pending_max_(pending_max), thread_([this] { run(); }) {}

WatchHub::~WatchHub() { stop(); }

void WatchHub::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  arrived_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void WatchHub::post(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    tasks_.push_back(std::move(task));
  }
  arrived_.notify_one();
}

void WatchHub::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    arrived_.wait(lock, [this] { return stopped_ || !tasks_.empty(); });
    if (stopped_) break;
    const auto task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
  lock.unlock();
  for (const auto& [id, subscription] : std::exchange(subscriptions_, {})) {
    subscription->watcher.call->fail({Code::Unavailable, "the control plane is stopping"});
  }
}

bool WatchHub::wants_changes() const { return expected_count_ > 0 || is_recording(); }

bool WatchHub::is_recording() const {
  return watchers_count_ > 0 || shell::now() < recorded_until_.load();
}

void WatchHub::add(Watcher watcher, Everything everything) {
  if (!is_recording()) post([this] { history_.begin_anew(); });
  ++watchers_count_;
  auto subscription = std::make_shared<Subscription>();
  keep_wanted(watcher, kInstancesTopic, everything.instances);
  keep_wanted(watcher, kNodesTopic, everything.nodes);
  keep_wanted(watcher, kSessionsTopic, everything.sessions);
  keep_wanted(watcher, kPoolsTopic, everything.pools);
  std::erase_if(everything.documents, [&](const model::Document& document) {
    const model::DocumentKind& kind = model::kind_of(document);
    return !wants(watcher, kind.plural, name_of(kind, model::id_of(document)));
  });
  subscription->watcher = std::move(watcher);
  subscription->everything = std::move(everything);
  post([this, subscription] { subscribe(subscription); });
}

std::shared_ptr<void> WatchHub::expect() {
  ++expected_count_;
  return {nullptr, [this](void*) { --expected_count_; }};
}

void WatchHub::subscribe(std::shared_ptr<Subscription> subscription) {
  const std::uint64_t id = ++last_id_;
  const api::CallPtr call = subscription->watcher.call;
  subscription->revision = history_.revision();
  const auto added = subscriptions_.emplace(id, std::move(subscription)).first;
  call->when_over([this, id] { post([this, id] { remove(id); }); });
  if (added->second->watcher.after) {
    go_on(*added->second);
  } else {
    tell_more(id);
  }
}

void WatchHub::go_on(Subscription& subscription) {
  const Watcher& watcher = subscription.watcher;
  if (!history_.reaches(*watcher.after)) return watcher.call->fail(too_old(*watcher.after));
  for (WatchHistory::Entry& entry : history_.entries()) {
    const bool is_new = entry.revision > *watcher.after;
    if (is_new && wants(watcher, entry.topic, entry.name)) watcher.call->send(numbered(entry));
  }
  watcher.call->send(synced(watcher, history_.revision()));
  subscription.synced = true;
}

// False: there is no more.
bool WatchHub::tell_piece(Subscription& subscription) {
  const auto& [instances, nodes, documents, sessions, pools] = subscription.everything;
  const std::size_t all =
      nodes.size() + instances.size() + documents.size() + sessions.size() + pools.size();
  api::Call& call = *subscription.watcher.call;
  for (std::size_t piece = 0; piece < kPiece && subscription.told < all; ++piece) {
    std::size_t next = subscription.told++;
    if (next < nodes.size()) {
      call.send(answer_for(nodes[next]));
    } else if ((next -= nodes.size()) < instances.size()) {
      call.send(subscription.watcher.only ? status_for(instances[next])
                                          : answer_for(instances[next]));
    } else if ((next -= instances.size()) < documents.size()) {
      call.send(answer_for(documents[next]));
    } else if ((next -= documents.size()) < sessions.size()) {
      call.send(answer_for(sessions[next]));
    } else {
      call.send(answer_for(pools[next - sessions.size()]));
    }
  }
  return subscription.told < all;
}

// The next piece of everything, as soon as the last one has been read.
void WatchHub::tell_more(std::uint64_t id) {
  const auto found = subscriptions_.find(id);
  if (found == subscriptions_.end()) return;
  Subscription& subscription = *found->second;
  api::Call& call = *subscription.watcher.call;
  if (tell_piece(subscription)) {
    call.when_drained([this, id] { post([this, id] { tell_more(id); }); });
    return;
  }
  if (!subscription.watcher.only) call.send(synced(subscription.watcher, subscription.revision));
  for (api::AnswerPtr& change : std::exchange(subscription.pending, {})) {
    call.send(std::move(change));
  }
  subscription.synced = true;
  subscription.everything = {};
}

void WatchHub::publish(Changes changes) {
  if (!wants_changes()) return;
  if (changes.instances.empty() && changes.nodes.empty() && changes.events.empty() &&
      changes.documents.empty() && changes.sessions.empty() && changes.pools.empty()) {
    return;
  }
  if (is_overrun()) return cut_off_everybody();
  post([this, shared = std::make_shared<const Changes>(std::move(changes))] { deliver(*shared); });
}

bool WatchHub::is_overrun() {
  const std::lock_guard lock(mutex_);
  return tasks_.size() >= kTasksMax;
}

// Nobody may miss a change and go on: all that was to be told is dropped, and all who were to hear
// it are.
void WatchHub::cut_off_everybody() {
  post([this] {
    history_.begin_anew();
    for (const auto& [id, subscription] : subscriptions_)
      subscription->watcher.call->fail(kTooSlow);
  });
}

void WatchHub::deliver(const Changes& changes) {
  for (const NodeView& view : changes.nodes) {
    tell(history_.add(std::string(kNodesTopic), name_of(view), answer_for(view)));
  }
  for (const InstanceView& view : changes.instances) {
    tell(history_.add(std::string(kInstancesTopic), name_of(view), answer_for(view)));
    tell_callers(view);
  }
  for (const DocumentChange& change : changes.documents) deliver(change);
  for (const model::SessionStatus& status : changes.sessions) {
    tell(history_.add(std::string(kSessionsTopic), name_of(status), answer_for(status)));
  }
  for (const PoolView& view : changes.pools) {
    tell(history_.add(std::string(kPoolsTopic), name_of(view), answer_for(view)));
  }
  for (const LoggedEvent& event : changes.events) {
    tell(history_.add(std::string(kEventsTopic), event.about, answer_for(event)));
  }
}

void WatchHub::deliver(const DocumentChange& change) {
  auto& entry =
      history_.add(std::string(change.kind->plural), name_of(*change.kind, change.id), nullptr);
  entry.numbered = answer_for(change, entry.revision);
  tell(entry);
}

void WatchHub::tell(WatchHistory::Entry& entry) {
  for (const auto& [id, subscription] : subscriptions_) {
    const Watcher& watcher = subscription->watcher;
    if (!wants(watcher, entry.topic, entry.name)) continue;
    offer(*subscription, watcher.told_revisions ? numbered(entry) : entry.plain);
  }
}

// Those who applied or rebalanced, and wait.
void WatchHub::tell_callers(const InstanceView& view) {
  api::AnswerPtr status;
  for (const auto& [id, subscription] : subscriptions_) {
    const Watcher& watcher = subscription->watcher;
    if (!watcher.only || !watcher.only->contains(view.status.key)) continue;
    if (status == nullptr) status = status_for(view);
    offer(*subscription, status);
  }
}

void WatchHub::offer(Subscription& subscription, const api::AnswerPtr& answer) const {
  api::Call& call = *subscription.watcher.call;
  if (subscription.synced) {
    call.send(answer);
  } else if (subscription.pending.size() < pending_max_) {
    subscription.pending.push_back(answer);
  } else {
    call.fail(kTooSlow);
  }
}

void WatchHub::remove(std::uint64_t id) {
  const auto found = subscriptions_.find(id);
  if (found == subscriptions_.end()) return;
  if (found->second->watcher.told_revisions) recorded_until_ = shell::now() + kRecordedFor;
  subscriptions_.erase(found);
  --watchers_count_;
}

}  // namespace berth::controld
