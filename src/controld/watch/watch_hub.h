#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "controld/api/call.h"
#include "controld/events/event_log.h"
#include "controld/planning/desired_documents.h"
#include "controld/watch/topics.h"
#include "controld/watch/views.h"
#include "controld/watch/watch_history.h"
#include "model/manifest.h"

namespace berth::controld {

// Tells watchers of changes. Each gets first everything, in pieces as it reads, then `synced`, then
// the changes since. Who does not read is cut off when its queue is full; nobody waits for it. If
// changes come faster than messages can be made of them, all are cut off, and may begin anew.
//
// Who is told revisions may come back with the last one it has seen, and gets what came after
// instead of everything, as far as that is known: a while after the last of them has gone nothing
// is recorded any more.
//
// A thread of its own makes the messages, each once for all watchers, so that the loop only hands
// over plain values. Safe to call from any thread; the order of calls is kept.
class WatchHub {
 public:
  static constexpr std::size_t kPendingMax = 65'536;
  static constexpr std::size_t kTasksMax = 10'000;  // that wait for the hub's thread
  static constexpr Duration kRecordedFor = 60s;     // when nobody watches any more

  explicit WatchHub(std::size_t pending_max = kPendingMax);
  ~WatchHub();

  struct Watcher {
    api::CallPtr call;
    std::string about;  // see `is_about`
    Topics topics = default_topics();
    bool told_revisions = false;
    std::optional<std::uint64_t> after = std::nullopt;  // instead of everything
    // Of an apply call: only these instances, as its own kind of message, and no `synced`.
    std::optional<std::set<model::InstanceKey>> only = std::nullopt;
  };
  struct Everything {
    std::vector<InstanceView> instances;
    std::vector<NodeView> nodes;
    model::Manifest documents = {};
    std::vector<model::SessionStatus> sessions = {};
    std::vector<PoolView> pools = {};
  };

  // To be called before what follows `everything` is published, and after what it shows, so that no
  // change is missed and none is told twice.
  void add(Watcher watcher, Everything everything);

  // While it is held somebody is about to be added, who would hear of changes.
  std::shared_ptr<void> expect();

  // Runs the task in its turn with what was added and published before.
  void in_order(std::function<void()> task) { post(std::move(task)); }

  // Whether anybody would hear of changes, now or when it comes back.
  bool wants_changes() const;
  std::size_t watchers() const { return watchers_count_; }

  struct Changes {
    std::vector<InstanceView> instances;
    std::vector<NodeView> nodes;
    std::vector<LoggedEvent> events;
    std::vector<DocumentChange> documents = {};
    std::vector<model::SessionStatus> sessions = {};
    std::vector<PoolView> pools = {};
  };
  void publish(Changes changes);

  // Ends all watches.
  void stop();

 private:
  bool is_recording() const;
  struct Subscription {
    Watcher watcher;
    Everything everything;
    std::uint64_t revision = 0;  // of everything
    std::size_t told = 0;        // of everything
    bool synced = false;
    std::deque<api::AnswerPtr> pending;  // changes, until it is synced
  };

  void run();
  void post(std::function<void()> task);
  bool is_overrun();
  void cut_off_everybody();
  void subscribe(std::shared_ptr<Subscription> subscription);
  void go_on(Subscription& subscription);
  void tell_more(std::uint64_t id);
  bool tell_piece(Subscription& subscription);
  void deliver(const Changes& changes);
  void deliver(const DocumentChange& change);
  void tell(WatchHistory::Entry& entry);
  void tell_callers(const InstanceView& view);
  void offer(Subscription& subscription, const api::AnswerPtr& answer) const;
  void remove(std::uint64_t id);

  const std::size_t pending_max_;
  std::atomic<std::size_t> watchers_count_ = 0;
  std::atomic<std::size_t> expected_count_ = 0;
  std::atomic<Time> recorded_until_ = Time{};

  // Of the hub's thread.
  std::map<std::uint64_t, std::shared_ptr<Subscription>> subscriptions_;
  std::uint64_t last_id_ = 0;
  WatchHistory history_;

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::function<void()>> tasks_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace berth::controld
