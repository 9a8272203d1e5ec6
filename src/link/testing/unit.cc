#include "link/testing/unit.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "link/credentials.h"
#include "trust/files.h"

namespace berth::link::testing {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

trust::WallTime now() { return std::chrono::system_clock::now(); }

}  // namespace

void Log::add(std::string line) {
  {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
  }
  added_.notify_all();
}

std::vector<std::string> Log::lines() const {
  const std::lock_guard lock(mutex_);
  return lines_;
}

std::size_t Log::count(std::string_view line) const {
  const std::lock_guard lock(mutex_);
  return count_locked(line);
}

std::size_t Log::count_locked(std::string_view line) const {
  return static_cast<std::size_t>(std::ranges::count(lines_, line));
}

bool Log::wait_for(std::string_view line, std::size_t times) const {
  std::unique_lock lock(mutex_);
  return added_.wait_for(lock, 60s, [&] { return count_locked(line) >= times; });
}

Unit::Unit() : authority_(trust::Authority::make(now()).value()) {
  std::string made = (fs::temp_directory_path() / "link_test.XXXXXX").string();
  EXPECT_NE(mkdtemp(made.data()), nullptr);
  directory_ = made;
  save_server(directory_);
}

Unit::~Unit() {
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

trust::KeyAndCertificate Unit::identity(trust::Role role, const std::string& name) const {
  const std::string key = trust::make_key();
  const std::string request = trust::make_request(key).value();
  return {key, authority_.sign(request, {role, name}, 24h, now()).value()};
}

void Unit::save_server(const fs::path& directory) const {
  const auto saved = trust::save(directory, {identity(trust::Role::Server, "berthd"), authority()});
  EXPECT_TRUE(saved) << saved.error().message;
}

LinkServer::LinkServer(const Unit& unit, Options options) {
  const fs::path directory = options.directory.empty() ? unit.directory() : options.directory;
  end_ = std::make_unique<ServerEnd>(listener(options.takes_messages), options.config);
  options.gate.port = static_cast<std::uint16_t>(options.port);
  auto gate = Gate::listen(options.gate);
  EXPECT_TRUE(gate) << gate.error().message;
  gate_ = std::move(*gate);
  grpc::ServerBuilder builder;
  end_->prepare(builder);
  gate_->prepare(builder, options.is_secure ? server_credentials(directory, 1s)
                                            : grpc::InsecureServerCredentials());
  builder.RegisterService(&end_->service());
  server_ = builder.BuildAndStart();
  EXPECT_NE(server_, nullptr);
  gate_->open();
}

LinkServer::~LinkServer() {
  gate_->close();
  end_->close();
  server_->Shutdown(std::chrono::system_clock::now() + 60s);
  server_->Wait();
}

std::string LinkServer::address() const { return fmt::format("127.0.0.1:{}", port()); }

std::uint64_t LinkServer::last_connection() const {
  const std::lock_guard lock(mutex_);
  return last_connection_;
}

ServerEndListener LinkServer::listener(bool takes_messages) {
  return {
      .connected =
          [this](const std::string& node, std::uint64_t connection, const std::string& address,
                 const v1::Hello& hello) {
            EXPECT_TRUE(address.starts_with("127.0.0.1:")) << address;
            EXPECT_EQ(hello.node(), node);
            {
              const std::lock_guard lock(mutex_);
              EXPECT_GT(connection, last_connection_);
              last_connection_ = connection;
            }
            log_.add("connected " + node);
          },
      .disconnected = [this](const std::string& node,
                             std::uint64_t) { log_.add("disconnected " + node); },
      .received =
          [this, takes_messages](const std::string& node, std::uint64_t,
                                 const v1::FromAgent& message) {
            log_.add(fmt::format("{} reported {}", node, message.report().revision()));
            return takes_messages;
          },
  };
}

LinkAgent::LinkAgent(AgentEndConfig config) {
  const AgentEndListener listener{
      .connected =
          [this](std::uint64_t connection) {
            {
              const std::lock_guard lock(mutex_);
              EXPECT_GT(connection, connection_);
              connection_ = connection;
            }
            log_.add("connected");
          },
      .disconnected =
          [this](std::uint64_t connection, std::string why) {
            EXPECT_EQ(connection, this->connection());
            reasons_.add(std::move(why));
            log_.add("disconnected");
          },
      .received =
          [this](std::uint64_t connection, const v1::ToAgent& message) {
            EXPECT_EQ(connection, this->connection());
            log_.add(fmt::format("commanded {}", message.command().number().number()));
          },
      .failed =
          [this](std::string why) {
            reasons_.add(std::move(why));
            log_.add("failed");
          },
  };
  end_ = std::make_unique<AgentEnd>(std::move(config), listener);
}

LinkAgent::LinkAgent(const Unit& unit, const std::string& address, const std::string& node)
    : LinkAgent(agent_config(unit, address, node)) {}

std::uint64_t LinkAgent::connection() const {
  const std::lock_guard lock(mutex_);
  return connection_;
}

void LinkAgent::report(std::uint64_t revision, std::size_t padding) {
  end_->send(connection(), a_report(revision, padding));
}

AgentEndConfig agent_config(const Unit& unit, const std::string& address, const std::string& node) {
  AgentEndConfig config;
  config.server = address;
  config.node = node;
  config.boot_id = "boot";
  config.version = "1";
  config.authority = unit.authority();
  config.identity = unit.identity(trust::Role::Node, node);
  config.accept_timeout = 30s;
  return config;
}

std::shared_ptr<grpc::Channel> channel_to(const std::string& address, const std::string& authority,
                                          const trust::KeyAndCertificate& identity) {
  grpc::SslCredentialsOptions tls;
  tls.pem_root_certs = authority;
  tls.pem_private_key = identity.key;
  tls.pem_cert_chain = identity.certificate;
  grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride("berthd");
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, grpc::SslCredentials(tls), arguments);
}

v1::ToAgent a_command(std::uint64_t number, std::size_t padding) {
  v1::ToAgent message;
  message.mutable_command()->mutable_number()->set_number(number);
  if (padding > 0) message.mutable_command()->add_run()->set_item(std::string(padding, 'x'));
  return message;
}

v1::FromAgent a_hello(const std::string& node) {
  v1::FromAgent message;
  message.mutable_hello()->set_node(node);
  return message;
}

v1::FromAgent a_report(std::uint64_t revision, std::size_t padding) {
  v1::FromAgent message;
  message.mutable_report()->set_revision(revision);
  if (padding > 0) message.mutable_report()->set_node(std::string(padding, 'x'));
  return message;
}

}  // namespace berth::link::testing
