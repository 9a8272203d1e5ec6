#include "controld/grpc/front.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>
#include <gtest/gtest.h>

#include <set>

#include "berth/v1/api.grpc.pb.h"
#include "controld/testing/plane.h"
#include "link/credentials.h"

namespace berth::controld {
namespace {

class GrpcFront : public testing::Test {
 protected:
  GrpcFront() : front_(make_grpc_front(plane_.services())) {
    ::grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", link::server_credentials(plane_.identity().directory()),
                             &port_);
    builder.RegisterService(front_.get());
    server_ = builder.BuildAndStart();
  }
  ~GrpcFront() override { server_->Shutdown(std::chrono::system_clock::now()); }

  std::unique_ptr<v1::Berth::Stub> stub(trust::Role role) { return stub({role, "kim"}); }

  std::unique_ptr<v1::Berth::Stub> stub(const trust::Identity& identity) {
    const trust::Authority& authority = plane_.identity().authority();
    ::grpc::SslCredentialsOptions options;
    options.pem_root_certs = authority.pem().certificate;
    options.pem_private_key = trust::make_key();
    options.pem_cert_chain =
        *authority.sign(*trust::make_request(options.pem_private_key), identity,
                        std::chrono::hours(1), std::chrono::system_clock::now());
    return v1::Berth::NewStub(::grpc::CreateChannel("localhost:" + std::to_string(port_),
                                                    ::grpc::SslCredentials(options)));
  }

  Plane plane_{Plane::Options{.with_https = true}};
  std::unique_ptr<::grpc::Service> front_;
  int port_ = 0;
  std::unique_ptr<::grpc::Server> server_;
};

TEST_F(GrpcFront, AnswersCalls) {
  plane_.add_node("n1");
  ::grpc::ClientContext context;
  v1::Nodes nodes;
  const auto status = stub(trust::Role::Viewer)->ListNodes(&context, {}, &nodes);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(nodes.nodes_size(), 1);
  EXPECT_EQ(nodes.nodes(0).name(), "n1");
}

TEST_F(GrpcFront, PlansAreStructs) {
  ::grpc::ClientContext context;
  google::protobuf::Struct plan;
  ASSERT_TRUE(stub(trust::Role::Viewer)->Plan(&context, {}, &plan).ok());
  EXPECT_TRUE(plan.fields().contains("placements"));
}

TEST_F(GrpcFront, RolesAreTheSameAsByHttp) {
  ::grpc::ClientContext context;
  v1::NodeRequest request;
  request.set_node("n1");
  v1::Revision revision;
  EXPECT_EQ(stub(trust::Role::Viewer)->Cordon(&context, request, &revision).error_code(),
            ::grpc::StatusCode::PERMISSION_DENIED);
  ::grpc::ClientContext another;
  EXPECT_EQ(stub(trust::Role::Admin)->Cordon(&another, request, &revision).error_code(),
            ::grpc::StatusCode::NOT_FOUND);
}

TEST_F(GrpcFront, StreamsWatches) {
  plane_.add_node("n1");
  ::grpc::ClientContext context;
  const auto viewer = stub(trust::Role::Viewer);
  const auto watch = viewer->Watch(&context, {});
  v1::WatchEvent event;
  ASSERT_TRUE(watch->Read(&event));
  EXPECT_EQ(event.node().name(), "n1");
  ASSERT_TRUE(watch->Read(&event));
  EXPECT_TRUE(event.synced());
  context.TryCancel();
  EXPECT_FALSE(watch->Read(&event));
  EXPECT_FALSE(watch->Finish().ok());
  while (plane_.hub().watchers() > 0) std::this_thread::yield();
}

TEST_F(GrpcFront, AppliesAndWaits) {
  plane_.add_node("n1");
  v1::ApplyRequest request;
  request.set_wait(true);
  v1::SourceFile& file = *request.add_files();
  file.set_name("f");
  file.set_text(
      "apiVersion: berth/v1\nkind: Item\nmetadata: {name: web}\n"
      "spec: {version: 1, images: [{command: [x]}]}\n---\n"
      "apiVersion: berth/v1\nkind: Deployment\nmetadata: {name: base}\n"
      "spec: {run: [{item: web}]}\n");
  ::grpc::ClientContext context;
  const auto admin = stub(trust::Role::Admin);
  const auto events = admin->Apply(&context, request);
  v1::ApplyEvent event;
  ASSERT_TRUE(events->Read(&event));
  EXPECT_GT(event.accepted().revision(), 0u);
  while (!event.has_finished()) ASSERT_TRUE(events->Read(&event));
  EXPECT_FALSE(event.finished().timed_out());
  EXPECT_TRUE(events->Finish().ok());
}

TEST_F(GrpcFront, AClientOpensSessionsOfItsNamespacesOnly) {
  const auto client = stub({trust::Role::Client, "lobby", {"default"}});
  v1::OpenSessionRequest request;
  request.set_application("echo");
  v1::Session session;
  ::grpc::ClientContext own;
  EXPECT_EQ(client->OpenSession(&own, request, &session).error_code(),
            ::grpc::StatusCode::NOT_FOUND);
  request.set_namespace_("games");
  ::grpc::ClientContext others;
  EXPECT_EQ(client->OpenSession(&others, request, &session).error_code(),
            ::grpc::StatusCode::PERMISSION_DENIED);
  ::grpc::ClientContext nodes;
  v1::Nodes listed;
  EXPECT_EQ(client->ListNodes(&nodes, {}, &listed).error_code(),
            ::grpc::StatusCode::PERMISSION_DENIED);
  ::grpc::ClientContext list;
  v1::Sessions sessions;
  EXPECT_TRUE(client->ListSessions(&list, {}, &sessions).ok());
}

TEST_F(GrpcFront, ManySessionsAreOpenedOnOneStream) {
  const auto admin = stub(trust::Role::Admin);
  ::grpc::ClientContext context;
  const auto stream = admin->OpenSessions(&context);
  std::set<std::uint64_t> ids;
  for (std::uint64_t id = 1; id <= 3; ++id) {
    v1::OpenSessionsRequest request;
    request.set_id(id);
    request.mutable_open()->set_application("echo");
    ASSERT_TRUE(stream->Write(request));
  }
  stream->WritesDone();
  v1::OpenSessionsReply reply;
  while (stream->Read(&reply)) {
    ids.insert(reply.id());
    EXPECT_EQ(reply.failure().code(), "NotFound");
  }
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(ids, (std::set<std::uint64_t>{1, 2, 3}));
}

TEST_F(GrpcFront, ExecCarriesInputAndOutput) {
  plane_.add_node("n1");
  const auto admin = stub(trust::Role::Admin);
  ::grpc::ClientContext context;
  const auto session = admin->Exec(&context);
  v1::ExecInput first;
  first.set_instance("nope");
  first.add_command("sh");
  ASSERT_TRUE(session->Write(first));
  v1::Output output;
  EXPECT_FALSE(session->Read(&output));
  EXPECT_EQ(session->Finish().error_code(), ::grpc::StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace berth::controld
