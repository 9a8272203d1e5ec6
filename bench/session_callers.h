#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/real_unit.h"
#include "berth/v1/api.grpc.pb.h"

// Who calls the API over gRPC, and what a call costs there that does nothing.
namespace berth::bench {

// Over a channel of its own.
using Caller = std::unique_ptr<v1::Berth::Stub>;

// As an administrator of the unit.
Caller caller_of(const RealUnit& unit);

// A server of the same kind as that of the API, with the same certificate, that answers GetVersion
// with nothing and cannot do anything else.
class EmptyServer {
 public:
  explicit EmptyServer(const RealUnit& unit);
  ~EmptyServer();

  Caller caller() const;

 private:
  class Service;

  const RealUnit& unit_;
  int port_ = 0;
  std::unique_ptr<Service> service_;
  std::unique_ptr<grpc::Server> server_;
};

struct Latency {
  double p50 = 0;  // seconds
  double p99 = 0;
};
Latency latency_of(std::vector<double> seconds);

// One at a time, each begun when its turn has come: what each has taken. `after` follows each, and
// is not counted.
std::vector<double> time_paced(std::size_t count, double per_second,
                               const std::function<void(std::size_t)>& call,
                               const std::function<void(std::size_t)>& after = {});

// So many under way at any time: calls per second. Each says when it is done, from any thread.
using Done = std::function<void()>;
double rate_of(std::size_t count, std::size_t at_once,
               const std::function<void(std::size_t, Done)>& begin);

// Calls that do nothing, to a server as that of the API.
double rate_of_empty(const Caller& caller, std::size_t count, std::size_t at_once);
std::vector<double> time_empty(const Caller& caller, std::size_t count, double per_second);

// Opens sessions of an application, and closes them.
class SessionCalls {
 public:
  SessionCalls(Caller caller, std::string ns, std::string application)
      : caller_(std::move(caller)), ns_(std::move(ns)), application_(std::move(application)) {}

  // Sessions are named by numbers. Waits for the answer.
  void open(std::size_t number);
  enum class How { Gently, Now };
  void close(std::size_t number, How how = How::Gently);

  // Numbers from `first` on: opens per second, by calls or over a stream.
  double rate_of_calls(std::size_t first, std::size_t count, std::size_t at_once);
  double rate_of_stream(std::size_t first, std::size_t count, std::size_t at_once);
  void close_all(std::size_t first, std::size_t count);

 private:
  v1::OpenSessionRequest request_of(std::size_t number) const;

  const Caller caller_;
  const std::string ns_;
  const std::string application_;
};

}  // namespace berth::bench
