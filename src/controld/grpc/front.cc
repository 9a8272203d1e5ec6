#include "controld/grpc/front.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "berth/v1/api.grpc.pb.h"
#include "controld/api/methods.h"
#include "link/peer.h"

namespace berth::controld {
namespace {

using api::CallPtr;
using api::Message;

::grpc::StatusCode status_code_of(Code code) {
  switch (code) {
    case Code::InvalidInput: return ::grpc::StatusCode::INVALID_ARGUMENT;
    case Code::NotFound: return ::grpc::StatusCode::NOT_FOUND;
    case Code::Conflict: return ::grpc::StatusCode::FAILED_PRECONDITION;
    case Code::Unavailable: return ::grpc::StatusCode::UNAVAILABLE;
    case Code::Exhausted: return ::grpc::StatusCode::RESOURCE_EXHAUSTED;
    // As with time that is up: it may have been done.
    case Code::NotDurable: return ::grpc::StatusCode::DEADLINE_EXCEEDED;
    case Code::Damaged: return ::grpc::StatusCode::DATA_LOSS;
    case Code::Internal: return ::grpc::StatusCode::INTERNAL;
  }
  return ::grpc::StatusCode::UNKNOWN;
}

::grpc::Status status_of(const api::Call::End& end) {
  if (!end.error) return ::grpc::Status::OK;
  if (end.particulars.http_status == 403) {
    return {::grpc::StatusCode::PERMISSION_DENIED, end.error->message};
  }
  return {status_code_of(end.error->code), end.error->message};
}

// For programs: when to try again, and a word where the status says too little.
void add_trailer(::grpc::CallbackServerContext& context, const api::Particulars& particulars) {
  if (!particulars.word.empty()) context.AddTrailingMetadata("berth-code", particulars.word);
  if (!particulars.retry_after) return;
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(*particulars.retry_after);
  context.AddTrailingMetadata("retry-after-ms", std::to_string(wait.count()));
}

api::Caller caller_of(const ::grpc::CallbackServerContext& context) {
  return {.identity = trust::parse_identity(link::common_name_of(context)),
          .address = context.peer()};
}

// OK, or why the caller may not.
::grpc::Status permission(const api::Caller& caller, const api::Method& method) {
  switch (api::refusal_of(caller, method)) {
    case api::Refusal::None: return ::grpc::Status::OK;
    case api::Refusal::NoIdentity:
      return {::grpc::StatusCode::UNAUTHENTICATED, "a certificate of this unit is needed"};
    case api::Refusal::NotAllowed: break;
  }
  return {::grpc::StatusCode::PERMISSION_DENIED,
          trust::to_string(*caller.identity) + " may not call " + std::string(method.name)};
}

// One call: carries what the API puts into it to gRPC. It lives until gRPC is done with it, and
// while somebody is just waking it.
template <class Reactor>
class Carrier : public Reactor, public std::enable_shared_from_this<Carrier<Reactor>> {
 public:
  explicit Carrier(::grpc::CallbackServerContext& context)
      : context_(context), call_(std::make_shared<api::Call>(caller_of(context))) {}

  const CallPtr& call() const { return call_; }

  void begin() {
    self_ = this->shared_from_this();
    call_->set_wake([weak = this->weak_from_this()] {
      if (const auto self = weak.lock()) self->pump();
    });
  }

  void OnCancel() override { call_->abandon(); }
  void OnDone() override {
    call_->abandon();
    call_->set_wake(nullptr);
    const auto last = std::move(self_);
  }

  // Refuses the call if its caller may not make it.
  bool check(const api::Method& method) {
    const ::grpc::Status status = permission(call_->caller(), method);
    if (status.ok()) return true;
    finish(status);
    return false;
  }

 protected:
  virtual void pump() = 0;

  void finish(const ::grpc::Status& status) {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(finished_, true)) return;
    }
    this->Finish(status);
  }

  ::grpc::CallbackServerContext& context_;
  const CallPtr call_;
  std::mutex mutex_;
  bool finished_ = false;

 private:
  std::shared_ptr<Carrier> self_;
};

class Unary final : public Carrier<::grpc::ServerUnaryReactor> {
 public:
  Unary(::grpc::CallbackServerContext& context, Message& response)
      : Carrier(context), response_(response) {}

 private:
  void pump() override {
    ::grpc::Status status;
    {
      const std::lock_guard lock(mutex_);
      if (finished_) return;
      const api::Call::Next next = call_->next();
      if (const auto* answer = std::get_if<api::AnswerPtr>(&next)) {
        response_.CopyFrom((*answer)->message());
      } else if (const auto* end = std::get_if<api::Call::End>(&next)) {
        status = status_of(*end);
        add_trailer(context_, end->particulars);
      } else {
        return;
      }
      finished_ = true;
    }
    Finish(status);
  }

  Message& response_;
};

// What streams to the caller; with or without a stream from it.
template <class Reactor, class Response>
class Writer : public Carrier<Reactor> {
 public:
  using Carrier<Reactor>::Carrier;

  void OnWriteDone(bool ok) override {
    {
      const std::lock_guard lock(this->mutex_);
      writing_ = nullptr;
    }
    if (!ok) this->call_->abandon();
    pump();
  }

 private:
  void pump() override {
    ::grpc::Status status;
    const Response* message = nullptr;
    {
      const std::lock_guard lock(this->mutex_);
      if (this->finished_) return;
      if (writing_ != nullptr) {
        // Who was cut off because it does not read would keep us in this write for ever.
        const auto failure = this->call_->failure();
        if (failure && failure->code == Code::Exhausted) this->context_.TryCancel();
        return;
      }
      const api::Call::Next next = this->call_->next();
      if (const auto* answer = std::get_if<api::AnswerPtr>(&next)) {
        writing_ = *answer;
        message = static_cast<const Response*>(&writing_->message());
      } else if (const auto* end = std::get_if<api::Call::End>(&next)) {
        status = status_of(*end);
        this->finished_ = true;
      } else {
        return;
      }
    }
    message != nullptr ? this->StartWrite(message) : this->Finish(status);
  }

  api::AnswerPtr writing_;
};

// With a stream from the caller too: the first message begins the call, the others are its input.
template <class Request, class Response>
class Exchange final : public Writer<::grpc::ServerBidiReactor<Request, Response>, Response> {
 public:
  Exchange(::grpc::CallbackServerContext& context, const api::Services& services,
           const api::Method& method)
      : Writer<::grpc::ServerBidiReactor<Request, Response>, Response>(context),
        services_(services),
        method_(method) {}

  void read_on() { this->StartRead(&input_); }

  void OnReadDone(bool ok) override {
    if (!ok) {
      if (begun_) {
        this->call_->input(nullptr);
      } else {
        this->call_->fail(invalid_input("the first message must say what is asked for"));
      }
      return;
    }
    if (std::exchange(begun_, true)) {
      this->call_->input(&input_);
    } else {
      method_.run(services_, input_, this->call_);
    }
    this->StartRead(&input_);
  }

 private:
  const api::Services& services_;
  const api::Method& method_;
  Request input_;
  bool begun_ = false;
};

class Front final : public v1::Berth::CallbackService {
 public:
  explicit Front(const api::Services& services) : services_(services) {}

  using Context = ::grpc::CallbackServerContext;
  using UnaryReactor = ::grpc::ServerUnaryReactor;
  template <class Response>
  using WriteReactor = ::grpc::ServerWriteReactor<Response>;

  WriteReactor<v1::ApplyEvent>* Apply(Context* context, const v1::ApplyRequest* request) override {
    return stream<v1::ApplyEvent>("Apply", context, request);
  }
  UnaryReactor* Plan(Context* context, const v1::PlanRequest* request,
                     google::protobuf::Struct* response) override {
    return unary("Plan", context, request, response);
  }
  UnaryReactor* Why(Context* context, const v1::WhyRequest* request,
                    google::protobuf::Struct* response) override {
    return unary("Why", context, request, response);
  }
  UnaryReactor* GetCluster(Context* context, const v1::GetClusterRequest* request,
                           v1::Cluster* response) override {
    return unary("GetCluster", context, request, response);
  }
  UnaryReactor* ListDocuments(Context* context, const v1::ListDocumentsRequest* request,
                              v1::Documents* response) override {
    return unary("ListDocuments", context, request, response);
  }
  UnaryReactor* ListInstances(Context* context, const v1::ListInstancesRequest* request,
                              v1::Instances* response) override {
    return unary("ListInstances", context, request, response);
  }
  UnaryReactor* ListNodes(Context* context, const v1::ListNodesRequest* request,
                          v1::Nodes* response) override {
    return unary("ListNodes", context, request, response);
  }
  UnaryReactor* ListEvents(Context* context, const v1::ListEventsRequest* request,
                           v1::Events* response) override {
    return unary("ListEvents", context, request, response);
  }
  WriteReactor<v1::WatchEvent>* Watch(Context* context, const v1::WatchRequest* request) override {
    return stream<v1::WatchEvent>("Watch", context, request);
  }
  UnaryReactor* Delete(Context* context, const v1::DeleteRequest* request,
                       v1::Revision* response) override {
    return unary("Delete", context, request, response);
  }
  UnaryReactor* Cordon(Context* context, const v1::NodeRequest* request,
                       v1::Revision* response) override {
    return unary("Cordon", context, request, response);
  }
  UnaryReactor* Uncordon(Context* context, const v1::NodeRequest* request,
                         v1::Revision* response) override {
    return unary("Uncordon", context, request, response);
  }
  WriteReactor<v1::ApplyEvent>* Rebalance(Context* context,
                                          const v1::RebalanceRequest* request) override {
    return stream<v1::ApplyEvent>("Rebalance", context, request);
  }
  UnaryReactor* Drain(Context* context, const v1::DrainRequest* request,
                      v1::Revision* response) override {
    return unary("Drain", context, request, response);
  }
  UnaryReactor* PauseInstance(Context* context, const v1::InstanceRequest* request,
                              v1::Revision* response) override {
    return unary("PauseInstance", context, request, response);
  }
  UnaryReactor* ResumeInstance(Context* context, const v1::InstanceRequest* request,
                               v1::Revision* response) override {
    return unary("ResumeInstance", context, request, response);
  }
  UnaryReactor* AcceptStore(Context* context, const v1::AcceptStoreRequest* request,
                            v1::Revision* response) override {
    return unary("AcceptStore", context, request, response);
  }
  UnaryReactor* AdoptStore(Context* context, const v1::AdoptStoreRequest* request,
                           v1::Revision* response) override {
    return unary("AdoptStore", context, request, response);
  }
  UnaryReactor* PreviewAdoption(Context* context, const v1::PreviewAdoptionRequest* request,
                                v1::Adoption* response) override {
    return unary("PreviewAdoption", context, request, response);
  }
  UnaryReactor* ForgetNode(Context* context, const v1::NodeRequest* request,
                           v1::Revision* response) override {
    return unary("ForgetNode", context, request, response);
  }
  WriteReactor<v1::Output>* Logs(Context* context, const v1::LogsRequest* request) override {
    return stream<v1::Output>("Logs", context, request);
  }
  ::grpc::ServerBidiReactor<v1::ExecInput, v1::Output>* Exec(Context* context) override {
    return exchange<v1::ExecInput, v1::Output>("Exec", context);
  }
  UnaryReactor* OpenSession(Context* context, const v1::OpenSessionRequest* request,
                            v1::Session* response) override {
    return unary("OpenSession", context, request, response);
  }
  ::grpc::ServerBidiReactor<v1::OpenSessionsRequest, v1::OpenSessionsReply>* OpenSessions(
      Context* context) override {
    return exchange<v1::OpenSessionsRequest, v1::OpenSessionsReply>("OpenSessions", context);
  }
  UnaryReactor* CloseSession(Context* context, const v1::CloseSessionRequest* request,
                             v1::Session* response) override {
    return unary("CloseSession", context, request, response);
  }
  UnaryReactor* GetSession(Context* context, const v1::GetSessionRequest* request,
                           v1::Session* response) override {
    return unary("GetSession", context, request, response);
  }
  UnaryReactor* ListSessions(Context* context, const v1::ListSessionsRequest* request,
                             v1::Sessions* response) override {
    return unary("ListSessions", context, request, response);
  }
  UnaryReactor* CreateJoinToken(Context* context, const v1::CreateJoinTokenRequest* request,
                                v1::JoinToken* response) override {
    return unary("CreateJoinToken", context, request, response);
  }
  UnaryReactor* Join(Context* context, const v1::JoinRequest* request,
                     v1::JoinReply* response) override {
    return unary("Join", context, request, response);
  }
  UnaryReactor* GetVersion(Context* context, const v1::GetVersionRequest* request,
                           v1::Version* response) override {
    return unary("GetVersion", context, request, response);
  }

 private:
  template <class CarrierType>
  CarrierType* run(std::string_view name, const Message& request,
                   const std::shared_ptr<CarrierType>& carrier) {
    const api::Method& method = *api::find_method(name);
    carrier->begin();
    if (carrier->check(method)) method.run(services_, request, carrier->call());
    return carrier.get();
  }

  UnaryReactor* unary(std::string_view name, Context* context, const Message* request,
                      Message* response) {
    return run(name, *request, std::make_shared<Unary>(*context, *response));
  }

  template <class Response>
  WriteReactor<Response>* stream(std::string_view name, Context* context, const Message* request) {
    return run(name, *request,
               std::make_shared<Writer<WriteReactor<Response>, Response>>(*context));
  }

  template <class Request, class Response>
  ::grpc::ServerBidiReactor<Request, Response>* exchange(std::string_view name, Context* context) {
    const api::Method& method = *api::find_method(name);
    const auto carrier = std::make_shared<Exchange<Request, Response>>(*context, services_, method);
    carrier->begin();
    if (carrier->check(method)) carrier->read_on();
    return carrier.get();
  }

  const api::Services& services_;
};

}  // namespace

std::unique_ptr<::grpc::Service> make_grpc_front(const api::Services& services) {
  return std::make_unique<Front>(services);
}

}  // namespace berth::controld
