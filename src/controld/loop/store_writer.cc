#include "controld/loop/store_writer.h"

#include <chrono>
#include <utility>

namespace berth::controld {

Error refusal_for(const Error& trouble) {
  const Code code = trouble.code == Code::Exhausted ? Code::Exhausted : Code::Unavailable;
  return {code, "nothing can be changed, because the store cannot be written: " + trouble.message};
}

StoreWriter::StoreWriter(store::Store& store, std::optional<store::Fence> fence,
                         std::function<void()> ended)
    : store_(store),
      fence_(std::move(fence)),
      ended_(std::move(ended)),
      thread_([this] { run(); }) {}

StoreWriter::~StoreWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void StoreWriter::commit(const std::vector<store::Change>& batch) { put(&batch); }
void StoreWriter::call(StoreCall call) { put(std::move(call)); }

void StoreWriter::put(Job job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_all();
}

std::optional<StoreWriter::Outcome> StoreWriter::take_outcome() {
  const std::lock_guard lock(mutex_);
  return std::exchange(outcome_, std::nullopt);
}

void StoreWriter::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return jobs_.empty() && !is_busy_; });
}

void StoreWriter::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    is_busy_ = true;
    lock.unlock();
    std::visit([this](const auto& what) { perform(what); }, job);
    lock.lock();
    is_busy_ = false;
    changed_.notify_all();
  }
}

void StoreWriter::perform(const std::vector<store::Change>* batch) {
  const auto started = std::chrono::steady_clock::now();
  Result<void> result = store_.commit_if(fence_, *batch);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  {
    const std::lock_guard lock(mutex_);
    outcome_ = Outcome{std::move(result), took.count()};
  }
  ended_();
}

void StoreWriter::perform(const StoreCall& call) {
  const auto changes = call.make(store_);
  if (!changes) return call.done(changes.error());
  const Result<void> committed = store_.commit_if(fence_, *changes);
  call.done(committed ? committed : Result<void>(refusal_for(committed.error())));
}

}  // namespace berth::controld
