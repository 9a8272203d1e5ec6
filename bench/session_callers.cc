#include "bench/session_callers.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "bench/bench.h"
#include "link/credentials.h"

namespace berth::bench {
namespace {

Caller caller_at(const std::string& address, const trust::Credentials& who) {
  ::grpc::SslCredentialsOptions options;
  options.pem_root_certs = who.authority;
  options.pem_private_key = who.own.key;
  options.pem_cert_chain = who.own.certificate;
  ::grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride("berthd");
  return v1::Berth::NewStub(
      ::grpc::CreateCustomChannel(address, ::grpc::SslCredentials(options), arguments));
}

void expect(const ::grpc::Status& status, const char* what) {
  if (status.ok()) return;
  throw std::runtime_error(fmt::format("{}: {}", what, status.error_message()));
}

std::string name_of(std::size_t number) { return fmt::format("s{}", number); }

// Counts what is under way, and remembers what went wrong.
class Window {
 public:
  explicit Window(std::size_t most) : most_(most) {}

  void enter() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return under_way_ < most_; });
    ++under_way_;
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    --under_way_;
    changed_.notify_one();
  }
  void wait_for_all() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return under_way_ == 0; });
  }

 private:
  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t under_way_ = 0;
};

// One call by gRPC's own threads; gone when it is done.
template <class Request, class Response>
struct AsyncCall {
  ::grpc::ClientContext context;
  Request request;
  Response response;
};

}  // namespace

Caller caller_of(const RealUnit& unit) { return caller_at(unit.grpc(), unit.administrator()); }

// --- The empty call.

class EmptyServer::Service final : public v1::Berth::CallbackService {
  ::grpc::ServerUnaryReactor* GetVersion(::grpc::CallbackServerContext* context,
                                         const v1::GetVersionRequest*, v1::Version*) override {
    ::grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(::grpc::Status::OK);
    return reactor;
  }
};

EmptyServer::EmptyServer(const RealUnit& unit)
    : unit_(unit), service_(std::make_unique<Service>()) {
  ::grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", link::server_credentials(unit.server_identity()), &port_);
  builder.RegisterService(service_.get());
  server_ = builder.BuildAndStart();
  if (!server_) throw std::runtime_error("the empty server does not start");
}

EmptyServer::~EmptyServer() { server_->Shutdown(std::chrono::system_clock::now()); }

Caller EmptyServer::caller() const {
  return caller_at(fmt::format("127.0.0.1:{}", port_), unit_.administrator());
}

double rate_of_empty(const Caller& caller, std::size_t count, std::size_t at_once) {
  return rate_of(count, at_once, [&](std::size_t, Done done) {
    auto call = std::make_shared<AsyncCall<v1::GetVersionRequest, v1::Version>>();
    caller->async()->GetVersion(&call->context, &call->request, &call->response,
                                [call, done](const ::grpc::Status&) { done(); });
  });
}

std::vector<double> time_empty(const Caller& caller, std::size_t count, double per_second) {
  return time_paced(count, per_second, [&](std::size_t) {
    ::grpc::ClientContext context;
    v1::Version version;
    expect(caller->GetVersion(&context, {}, &version), "empty call");
  });
}

// --- Timing.

Latency latency_of(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  const auto at = [&](double share) {
    return seconds.at(static_cast<std::size_t>(share * static_cast<double>(seconds.size() - 1)));
  };
  return {at(0.5), at(0.99)};
}

std::vector<double> time_paced(std::size_t count, double per_second,
                               const std::function<void(std::size_t)>& call,
                               const std::function<void(std::size_t)>& after) {
  std::vector<double> seconds;
  const auto begin = Clock::now();
  for (std::size_t i = 0; i < count; ++i) {
    const std::chrono::duration<double> turn(static_cast<double>(i) / per_second);
    std::this_thread::sleep_until(begin + std::chrono::duration_cast<Clock::duration>(turn));
    const auto start = Clock::now();
    call(i);
    seconds.push_back(seconds_since(start));
    if (after) after(i);
  }
  return seconds;
}

double rate_of(std::size_t count, std::size_t at_once,
               const std::function<void(std::size_t, Done)>& begin) {
  Window window(at_once);
  const auto start = Clock::now();
  for (std::size_t i = 0; i < count; ++i) {
    window.enter();
    begin(i, [&window] { window.leave(); });
  }
  window.wait_for_all();
  return static_cast<double>(count) / seconds_since(start);
}

// --- Sessions.

v1::OpenSessionRequest SessionCalls::request_of(std::size_t number) const {
  v1::OpenSessionRequest request;
  request.set_namespace_(ns_);
  request.set_application(application_);
  request.set_name(name_of(number));
  return request;
}

void SessionCalls::open(std::size_t number) {
  ::grpc::ClientContext context;
  v1::Session session;
  expect(caller_->OpenSession(&context, request_of(number), &session), "open");
}

void SessionCalls::close(std::size_t number, How how) {
  ::grpc::ClientContext context;
  v1::CloseSessionRequest request;
  request.set_namespace_(ns_);
  request.set_name(name_of(number));
  request.set_now(how == How::Now);
  v1::Session session;
  expect(caller_->CloseSession(&context, request, &session), "close");
}

double SessionCalls::rate_of_calls(std::size_t first, std::size_t count, std::size_t at_once) {
  std::atomic<std::size_t> failed = 0;
  const double rate = rate_of(count, at_once, [&](std::size_t i, Done done) {
    auto call = std::make_shared<AsyncCall<v1::OpenSessionRequest, v1::Session>>();
    call->request = request_of(first + i);
    caller_->async()->OpenSession(&call->context, &call->request, &call->response,
                                  [call, done, &failed](const ::grpc::Status& status) {
                                    if (!status.ok()) ++failed;
                                    done();
                                  });
  });
  if (failed > 0) throw std::runtime_error(fmt::format("{} opens failed", failed.load()));
  return rate;
}

double SessionCalls::rate_of_stream(std::size_t first, std::size_t count, std::size_t at_once) {
  ::grpc::ClientContext context;
  const auto stream = caller_->OpenSessions(&context);
  Window window(at_once);
  std::string failure;
  std::thread reader([&] {
    v1::OpenSessionsReply reply;
    while (stream->Read(&reply)) {
      if (reply.has_failure()) failure = reply.failure().message();
      window.leave();
    }
  });
  const auto start = Clock::now();
  for (std::size_t i = 0; i < count; ++i) {
    window.enter();
    v1::OpenSessionsRequest request;
    request.set_id(i);
    *request.mutable_open() = request_of(first + i);
    stream->Write(request);
  }
  window.wait_for_all();
  const double seconds = seconds_since(start);
  stream->WritesDone();
  reader.join();
  expect(stream->Finish(), "stream of opens");
  if (!failure.empty()) throw std::runtime_error("open: " + failure);
  return static_cast<double>(count) / seconds;
}

void SessionCalls::close_all(std::size_t first, std::size_t count) {
  constexpr std::size_t kClosesAtOnce = 64;
  rate_of(count, kClosesAtOnce, [&](std::size_t i, Done done) {
    auto call = std::make_shared<AsyncCall<v1::CloseSessionRequest, v1::Session>>();
    call->request.set_namespace_(ns_);
    call->request.set_name(name_of(first + i));
    caller_->async()->CloseSession(&call->context, &call->request, &call->response,
                                   [call, done](const ::grpc::Status&) { done(); });
  });
}

}  // namespace berth::bench
