#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <variant>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace berth::controld {

// What callers are told who want a change while the store cannot be written.
Error refusal_for(const Error& trouble);

// A transaction of the shell's own keys. `make` looks at the store and gives what to change;
// `done` is told when that is durable, or why it is not. Both from the thread of the writer.
struct StoreCall {
  std::function<Result<std::vector<store::Change>>(const store::Store&)> make;
  std::function<void(Result<void>)> done;
};

// The thread that owns the store: does one thing after the other, in the order in which it was
// told. Safe to use from any thread.
class StoreWriter {
 public:
  // Writes only while the fence holds, if there is one. `ended` is called when the outcome of a
  // commit can be taken.
  StoreWriter(store::Store& store, std::optional<store::Fence> fence, std::function<void()> ended);
  // What it was told before is done.
  ~StoreWriter();

  StoreWriter(const StoreWriter&) = delete;
  StoreWriter& operator=(const StoreWriter&) = delete;

  // REQUIRES: the outcome of the one before was taken. The batch must stay until this one's is.
  void commit(const std::vector<store::Change>& batch);
  void call(StoreCall call);

  struct Outcome {
    Result<void> result;
    double seconds = 0;
  };
  // Nullopt: no commit has ended since the last one that was taken.
  std::optional<Outcome> take_outcome();

  // Waits until all that it was told is done.
  void wait();

 private:
  using Job = std::variant<const std::vector<store::Change>*, StoreCall>;

  void put(Job job);
  void run();
  void perform(const std::vector<store::Change>* batch);
  void perform(const StoreCall& call);

  store::Store& store_;
  const std::optional<store::Fence> fence_;
  const std::function<void()> ended_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  std::optional<Outcome> outcome_;
  bool is_busy_ = false;
  bool stopping_ = false;
  std::thread thread_;  // the last: it uses the others
};

}  // namespace berth::controld
