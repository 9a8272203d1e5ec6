#include "controld/watch_hub.h"

#include <utility>

#include "controld/api/messages.h"

namespace berth::controld {
namespace {

constexpr std::size_t kPiece = 256;  // of everything, that is queued at a time

std::string name_of(const InstanceView& view) {
  return "instance/" + model::to_string(view.status.key);
}
std::string name_of(const NodeView& view) { return "node/" + view.id.value(); }

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
api::AnswerPtr synced() {
  v1::WatchEvent event;
  event.set_synced(true);
  return api::answer_of(std::move(event));
}

const Error kTooSlow{Code::Exhausted, "cut off: changes came faster than they were read"};

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

void WatchHub::add(Watcher watcher, Everything everything) {
  ++watchers_count_;
  auto subscription = std::make_shared<Subscription>();
  std::erase_if(everything.instances,
                [&](const auto& view) { return !is_about(name_of(view), watcher.about); });
  std::erase_if(everything.nodes,
                [&](const auto& view) { return !is_about(name_of(view), watcher.about); });
  subscription->watcher = std::move(watcher);
  subscription->everything = std::move(everything);
  post([this, subscription] { subscribe(subscription); });
}

std::shared_ptr<void> WatchHub::expect() {
  ++watchers_count_;
  return {nullptr, [this](void*) { --watchers_count_; }};
}

void WatchHub::subscribe(std::shared_ptr<Subscription> subscription) {
  const std::uint64_t id = ++last_id_;
  const api::CallPtr call = subscription->watcher.call;
  subscriptions_.emplace(id, std::move(subscription));
  call->when_over([this, id] { post([this, id] { remove(id); }); });
  tell_more(id);
}

// The next piece of everything, as soon as the last one has been read.
void WatchHub::tell_more(std::uint64_t id) {
  const auto found = subscriptions_.find(id);
  if (found == subscriptions_.end()) return;
  Subscription& subscription = *found->second;
  api::Call& call = *subscription.watcher.call;
  const auto& [instances, nodes] = subscription.everything;
  for (std::size_t piece = 0; piece < kPiece; ++piece, ++subscription.told) {
    const std::size_t next = subscription.told;
    if (next == nodes.size() + instances.size()) break;
    if (next < nodes.size()) {
      call.send(answer_for(nodes[next]));
    } else {
      const InstanceView& view = instances[next - nodes.size()];
      call.send(subscription.watcher.only ? status_for(view) : answer_for(view));
    }
  }
  if (subscription.told < nodes.size() + instances.size()) {
    call.when_drained([this, id] { post([this, id] { tell_more(id); }); });
    return;
  }
  if (!subscription.watcher.only) call.send(synced());
  for (api::AnswerPtr& change : std::exchange(subscription.pending, {})) {
    call.send(std::move(change));
  }
  subscription.synced = true;
  subscription.everything = {};
}

void WatchHub::publish(Changes changes) {
  if (!has_watchers()) return;
  if (changes.instances.empty() && changes.nodes.empty() && changes.events.empty()) return;
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
    for (const auto& [id, subscription] : subscriptions_)
      subscription->watcher.call->fail(kTooSlow);
  });
}

void WatchHub::deliver(const Changes& changes) {
  for (const NodeView& view : changes.nodes) {
    const std::string name = name_of(view);
    const api::AnswerPtr answer = answer_for(view);
    for (const auto& [id, subscription] : subscriptions_) {
      const Watcher& watcher = subscription->watcher;
      if (!watcher.only && is_about(name, watcher.about)) offer(*subscription, answer);
    }
  }
  for (const InstanceView& view : changes.instances) deliver(view);
  for (const LoggedEvent& event : changes.events) {
    const api::AnswerPtr answer = answer_for(event);
    for (const auto& [id, subscription] : subscriptions_) {
      const Watcher& watcher = subscription->watcher;
      const bool wants = watcher.events && is_about(event.about, watcher.about);
      if (wants) offer(*subscription, answer);
    }
  }
}

void WatchHub::deliver(const InstanceView& view) {
  const std::string name = name_of(view);
  const api::AnswerPtr answer = answer_for(view);
  api::AnswerPtr status;
  for (const auto& [id, subscription] : subscriptions_) {
    const Watcher& watcher = subscription->watcher;
    if (!watcher.only) {
      if (is_about(name, watcher.about)) offer(*subscription, answer);
    } else if (watcher.only->contains(view.status.key)) {
      if (status == nullptr) status = status_for(view);
      offer(*subscription, status);
    }
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
  if (subscriptions_.erase(id) > 0) --watchers_count_;
}

}  // namespace berth::controld
