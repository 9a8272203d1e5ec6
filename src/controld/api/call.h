#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/result.h"
#include "base/time.h"
#include "trust/certificate.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace berth::controld::api {

using google::protobuf::Message;

// One message to a caller, in both forms that callers speak. Each form is made when it is first
// asked for, once, however many callers get it. Safe to use from any thread.
class Answer {
 public:
  explicit Answer(std::unique_ptr<Message> message);
  // Of JSON that is ready, with its own order of fields; `form` is an empty message of its type.
  Answer(std::string json, const Message& form);
  ~Answer();

  const Message& message() const;
  const std::string& json() const;

 private:
  mutable std::once_flag made_;
  mutable std::unique_ptr<Message> message_;
  mutable std::string json_;
  const Message* form_ = nullptr;
};
using AnswerPtr = std::shared_ptr<const Answer>;

template <class M>
AnswerPtr answer_of(M message) {
  return std::make_shared<const Answer>(std::make_unique<M>(std::move(message)));
}

std::string json_of(const Message& message);

// What an error says beyond its code and message.
struct Particulars {
  std::string word;     // a name of its own for programs: "Busy"
  int http_status = 0;  // 0: that of the code
  std::optional<Duration> retry_after = {};
  std::string about = {};  // the name of `what`: "session"
  AnswerPtr what = nullptr;
};

// Who calls. Without an identity: anybody.
struct Caller {
  std::optional<trust::Identity> identity;
  std::string address;
};

// The answering side of one call: the API puts messages in, a front takes them out and writes them
// to the caller. Bounded: a caller who does not read is cut off, never waited for. Safe to use from
// any thread; no function is called with a lock held.
class Call {
 public:
  static constexpr std::size_t kQueuedMax = 65'536;
  static constexpr std::size_t kQueuedBytesMax = 64 << 20;  // of those who say how large they are

  explicit Call(Caller caller, std::size_t queued_max = kQueuedMax);
  ~Call();

  const Caller& caller() const { return caller_; }

  // --- For the API.

  // False: the call is over, or just was because its queue is full. `bytes`: of what is nobody
  // else's, and so costs memory while it waits.
  bool send(AnswerPtr answer, std::size_t bytes = 0);
  void finish();
  void answer(AnswerPtr only);  // send and finish
  // At once: what is queued is dropped.
  void fail(Error error, Particulars particulars = {});

  // When the queue is empty, now or later; once.
  void when_drained(std::function<void()> then);
  // When the call is over, for whatever reason; once.
  void when_over(std::function<void()> then);
  // Whenever the front has taken a message that had a size, with that size. Who asks for it sends
  // no more than what was taken leaves room for; so this caller may stand still as long as it
  // likes.
  using Taken = std::function<void(std::size_t bytes)>;
  void when_taken(Taken then);
  // What the caller sends after its request; nullptr: nothing follows. What came before anybody
  // asked for it is handed over first, in its order.
  using Input = std::function<void(const Message*)>;
  void when_input(Input take);

  bool is_over() const;
  bool may_stand_still() const;
  // Why it failed, if it did.
  std::optional<Error> failure() const;

  // --- For the front.

  struct End {
    std::optional<Error> error;
    Particulars particulars = {};  // of the error
  };
  using Next = std::variant<std::monostate, AnswerPtr, End>;  // monostate: nothing at present
  Next next();

  // Called whenever `next` may have something; at once if it has.
  void set_wake(std::function<void()> wake);
  void input(const Message* message);
  // The caller has gone.
  void abandon();

 private:
  void end(End end, bool drop_queue);
  bool keep_input(const Message* message);

  const Caller caller_;
  const std::size_t queued_max_;
  mutable std::mutex mutex_;
  std::deque<std::pair<AnswerPtr, std::size_t>> queue_;
  std::size_t queued_bytes_ = 0;
  std::optional<End> end_;
  std::function<void()> wake_;
  std::function<void()> drained_;
  std::function<void()> over_;
  std::shared_ptr<const Taken> taken_;
  std::shared_ptr<const Input> input_;
  std::deque<std::unique_ptr<const Message>> early_input_;  // nullptr: nothing follows
  std::size_t early_bytes_ = 0;
};
using CallPtr = std::shared_ptr<Call>;

}  // namespace berth::controld::api
