#include "controld/api/call.h"

#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>

#include <utility>

#include "base/check.h"
#include "codec/message_json.h"

namespace berth::controld::api {
namespace {

// Callers who count send no more than 64 KiB unasked.
constexpr std::size_t kEarlyInputBytesMax = 1u << 20;

}  // namespace

std::string json_of(const Message& message) { return codec::message_json(message); }

Answer::Answer(std::unique_ptr<Message> message) : message_(std::move(message)) {}
Answer::Answer(std::string json, const Message& form) : json_(std::move(json)), form_(&form) {}
Answer::~Answer() = default;

const Message& Answer::message() const {
  if (form_ != nullptr) {
    std::call_once(made_, [this] {
      message_.reset(form_->New());
      const auto status = google::protobuf::util::JsonStringToMessage(json_, message_.get());
      CHECK(status.ok(), "JSON of ours is not what it should be");
    });
  }
  return *message_;
}

const std::string& Answer::json() const {
  if (form_ == nullptr) std::call_once(made_, [this] { json_ = json_of(*message_); });
  return json_;
}

bool Call::send(AnswerPtr answer, std::size_t bytes) {
  std::function<void()> wake;
  bool has_room = false;
  {
    const std::lock_guard lock(mutex_);
    if (end_) return false;
    has_room =
        queue_.size() < queued_max_ && (queue_.empty() || bytes <= kQueuedBytesMax - queued_bytes_);
    if (has_room) {
      queue_.emplace_back(std::move(answer), bytes);
      queued_bytes_ += bytes;
      wake = wake_;
    }
  }
  if (!has_room) {
    fail({Code::Exhausted, "cut off: what was sent was not read in time"});
    return false;
  }
  if (wake) wake();
  return true;
}

void Call::finish() { end({}, false); }

void Call::answer(AnswerPtr only) {
  if (send(std::move(only))) finish();
}

void Call::fail(Error error, Particulars particulars) {
  end({std::move(error), std::move(particulars)}, true);
}

void Call::abandon() { end({}, true); }

void Call::end(End end, bool drop_queue) {
  std::function<void()> wake;
  std::function<void()> over;
  std::deque<std::pair<AnswerPtr, std::size_t>> dropped;
  {
    const std::lock_guard lock(mutex_);
    if (drop_queue) queue_.swap(dropped);
    if (drop_queue) queued_bytes_ = 0;
    if (end_) return;
    end_ = std::move(end);
    wake = wake_;
    over = std::exchange(over_, nullptr);
    drained_ = nullptr;
    input_ = nullptr;
  }
  if (over) over();
  if (wake) wake();
}

Call::Call(Caller caller, std::size_t queued_max)
    : caller_(std::move(caller)), queued_max_(queued_max) {}
Call::~Call() = default;

void Call::when_drained(std::function<void()> then) {
  {
    const std::lock_guard lock(mutex_);
    if (end_) return;
    if (!queue_.empty()) {
      drained_ = std::move(then);
      return;
    }
  }
  then();
}

void Call::when_over(std::function<void()> then) {
  {
    const std::lock_guard lock(mutex_);
    if (!end_) {
      over_ = std::move(then);
      return;
    }
  }
  then();
}

void Call::when_taken(Taken then) {
  const std::lock_guard lock(mutex_);
  if (!end_) taken_ = std::make_shared<const Taken>(std::move(then));
}

bool Call::may_stand_still() const {
  const std::lock_guard lock(mutex_);
  return taken_ != nullptr;
}

void Call::when_input(Input take) {
  std::unique_lock lock(mutex_);
  while (!early_input_.empty() && !end_) {
    const auto message = std::move(early_input_.front());
    early_input_.pop_front();
    lock.unlock();
    take(message.get());
    lock.lock();
  }
  if (!end_) input_ = std::make_shared<const Input>(std::move(take));
}

bool Call::is_over() const {
  const std::lock_guard lock(mutex_);
  return end_.has_value();
}

std::optional<Error> Call::failure() const {
  const std::lock_guard lock(mutex_);
  return end_ ? end_->error : std::nullopt;
}

Call::Next Call::next() {
  std::function<void()> drained;
  std::shared_ptr<const Taken> taken;
  std::size_t bytes = 0;
  Next result;
  {
    const std::lock_guard lock(mutex_);
    if (!queue_.empty()) {
      result = std::move(queue_.front().first);
      bytes = queue_.front().second;
      queued_bytes_ -= bytes;
      queue_.pop_front();
      taken = taken_;
      if (queue_.empty()) drained = std::exchange(drained_, nullptr);
    } else if (end_) {
      result = *end_;
    }
  }
  if (drained) drained();
  if (taken && bytes > 0) (*taken)(bytes);
  return result;
}

void Call::set_wake(std::function<void()> wake) {
  std::function<void()> now;
  {
    const std::lock_guard lock(mutex_);
    wake_ = std::move(wake);
    if (end_ || !queue_.empty()) now = wake_;
  }
  if (now) now();
}

void Call::input(const Message* message) {
  std::shared_ptr<const Input> take;
  bool too_much = false;
  {
    const std::lock_guard lock(mutex_);
    take = input_;
    if (!take && !end_) too_much = !keep_input(message);
  }
  if (take) (*take)(message);
  if (too_much) fail({Code::Exhausted, "more input came than can be kept; wait for credit"});
}

// With the lock held. The callee may still be on its way to where it asks for input.
bool Call::keep_input(const Message* message) {
  early_bytes_ += message != nullptr ? message->ByteSizeLong() : 0;
  if (early_bytes_ > kEarlyInputBytesMax) return false;
  std::unique_ptr<Message> copy(message != nullptr ? message->New() : nullptr);
  if (copy) copy->CopyFrom(*message);
  early_input_.push_back(std::move(copy));
  return true;
}

}  // namespace berth::controld::api
