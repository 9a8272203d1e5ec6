#pragma once

#include <google/protobuf/message.h>

#include <functional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "berth/v1/api.pb.h"
#include "client/endpoint.h"

// The API of berthd for programs on this side of the wire: HTTP/1.1 and JSON, over a unix socket or
// TLS with certificates on both sides. Not thread-safe; every call has a connection of its own.
namespace berth::client {

using google::protobuf::Message;

enum class Method { Get, Post, Delete };

struct Request {
  Method method = Method::Get;
  std::string path;               // encoded, with its query
  const Message* body = nullptr;  // nullptr: none
};

// Called about ten times a second while waiting; false gives up the wait.
using Tick = std::function<bool()>;

struct ExecSession {
  v1::ExecInput first;  // what to run
  int input = -1;       // a file descriptor that is read to its end; -1: no input
  std::function<void(const v1::Output&)> on_output;
  // The size of our terminal, asked at the start and whenever it changes; empty: there is none.
  std::function<void(v1::ExecInput&)> window;
};

class Client {
 public:
  struct Options {
    Duration connect_timeout = 5s;
    Duration answer_timeout = 60s;  // of a call, and until a stream begins
  };

  explicit Client(Endpoint endpoint, Options options);
  explicit Client(Endpoint endpoint) : Client(std::move(endpoint), Options()) {}

  const Endpoint& endpoint() const { return endpoint_; }

  // The error is the server's own; Unavailable with advice if there is no server, or no answer in
  // time.
  Result<void> call(const Request& request, Message& response) const;

  // Server-sent events: fills `each` and calls on_message, until that or the tick says false (which
  // is no error) or the server ends the stream. Unavailable: the connection broke.
  Result<void> stream(const Request& request, Message& each,
                      const std::function<bool()>& on_message, const Tick& tick = {}) const;

  // Runs a command in an instance over a WebSocket until it ends; its exit code.
  Result<int> exec(const std::string& path, const ExecSession& session) const;

 private:
  Endpoint endpoint_;
  Options options_;
};

// The typed forms.
template <class M>
Result<M> call(const Client& client, const Request& request) {
  M response;
  TRY(client.call(request, response));
  return response;
}

template <class M>
Result<void> stream(const Client& client, const Request& request,
                    const std::function<bool(const M&)>& on_message, const Tick& tick = {}) {
  M each;
  return client.stream(
      request, each, [&] { return on_message(each); }, tick);
}

}  // namespace berth::client
