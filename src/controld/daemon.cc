#include "controld/daemon.h"

#include <fmt/format.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/service_type.h>

#include <atomic>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "berth/v1/agent.grpc.pb.h"
#include "berth/v1/api.grpc.pb.h"
#include "codec/json_parts.h"
#include "codec/stored_record.h"
#include "codec/wire.h"
#include "controld/agents/agents.h"
#include "controld/agents/stream_relay.h"
#include "controld/api/services.h"
#include "controld/grpc/front.h"
#include "controld/http/server.h"
#include "controld/identity/addresses.h"
#include "controld/identity/receipts.h"
#include "controld/identity/server_identity.h"
#include "controld/loop/loop.h"
#include "controld/loop/persistence.h"
#include "controld/watch/publisher.h"
#include "controld/watch/watch_hub.h"
#include "link/credentials.h"
#include "link/gate.h"
#include "link/server_end.h"
#include "shell/log.h"
#include "shell/notify.h"
#include "shell/open_store.h"
#include "shell/periodic.h"
#include "shell/workers.h"
#include "store/backup.h"
#include "trust/files.h"
#include "trust/seal.h"

namespace berth::controld {
namespace {

using std::chrono::system_clock;

constexpr std::size_t kWorkers = 2;
constexpr std::size_t kWorkWaitingMax = 1000;

Result<void> make_directory(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::create_directories(path, error)) {
    std::filesystem::permissions(path, std::filesystem::perms::owner_all, error);
  }
  if (!error && std::filesystem::is_directory(path, error)) return {};
  return Error{Code::Unavailable,
               fmt::format("cannot make {}: {}", path.string(), error.message())};
}

std::uint64_t drawn_life() {
  std::random_device random;
  return std::uniform_int_distribution<std::uint64_t>(1)(random);
}

control::Config for_this_life(control::Config config, std::uint64_t life) {
  config.date_of_zero = shell::date_of_zero();
  config.life = life;
  return config;
}

// The authority, which is then on record; a disk that is full can have that later.
Result<std::unique_ptr<ServerIdentity>> open_identity(const DaemonConfig& config,
                                                      store::Store& store, bool has_nodes) {
  AuthorityOnRecord on_record{.has_nodes = has_nodes};
  on_record.certificate = TRY(store.get(codec::kAuthorityKey));
  auto identity =
      TRY(ServerIdentity::open(config.state_directory, certificate_hosts(config.advertise),
                               system_clock::now(), config.certificates.validity, on_record));
  const std::string& certificate = identity->authority().pem().certificate;
  if (on_record.certificate == certificate) return identity;
  const auto recorded = store.commit({{std::string(codec::kAuthorityKey), certificate}});
  if (!recorded) {
    shell::log(shell::LogLevel::Warning, "the authority cannot be put on record",
               {{"error", recorded.error().message}});
  }
  return identity;
}

}  // namespace

class Daemon::Impl {
 public:
  Impl(const DaemonConfig& config, store::OpenedStore store, control::Durable durable,
       KeptEvents events, std::unique_ptr<ServerIdentity> identity)
      : config_(config),
        store_(std::move(store.store)),
        origin_(std::move(store.origin)),
        backup_(store.backup),
        identity_(std::move(identity)),
        life_(drawn_life()),
        receipts_(identity_->authority(), durable.counters.cluster, life_),
        workers_(kWorkers, kWorkWaitingMax),
        events_({}, std::move(events)),
        streams_([this](std::uint64_t connection, v1::ToAgent message) {
          link_->send(connection, std::move(message));
        }),
        publisher_(events_, hub_),
        loop_(*store_, for_this_life(config.control, life_), std::move(durable), ports()),
        planner_(loop_),
        services_{.loop = loop_,
                  .hub = hub_,
                  .events = events_,
                  .workers = workers_,
                  .planner = planner_,
                  .streams = streams_,
                  .identity = identity_.get(),
                  .version = config.version,
                  .ask_grpc = [this](const auto& tell) { gate_->ask(tell); },
                  .back_up_store = back_up(),
                  .remarks = [this] { return remarks(); }},
        agents_(loop_, streams_, workers_, *identity_, receipts_, links()),
        link_(std::make_unique<link::ServerEnd>(agents_.listener())),
        grpc_front_(make_grpc_front(services_)) {
    if (!origin_.lost_something()) return;
    events_.add("StoreRecovered", "store", store::describe(origin_), system_clock::now());
  }

  ~Impl() { stop(); }

  Result<void> start() {
    const HostPort https = TRY(listen_for_https());
    const HostPort grpc = TRY(listen_for_grpc());
    services_.endpoints = std::make_shared<const api::Endpoints>(api::Endpoints{
        .https = to_string({advertised_host(config_.advertise, https.host), https.port}),
        .grpc = to_string({advertised_host(config_.advertise, grpc.host), grpc.port})});
    loop_thread_ = std::thread([this] { loop_.run(); });
    gate_->open();
    http_->start();
    renewal_.emplace(config_.certificates.look_every, [this] { renew(); });
    const auto told =
        trust::write_secret(config_.state_directory / "endpoints.json",
                            codec::json::object({{"socket", codec::json::text(config_.socket)},
                                                 {"grpc", codec::json::text(to_string(grpc))},
                                                 {"https", codec::json::text(to_string(https))}}) +
                                "\n");
    if (!told) remark_of_start_ = std::make_shared<const std::string>(told.error().message);
    for (const std::string& remark : remarks()) shell::log(shell::LogLevel::Warning, remark);
    shell::log(
        shell::LogLevel::Info, "listening",
        {{"socket", config_.socket}, {"grpc", to_string(grpc)}, {"https", to_string(https)}});
    return {};
  }

  void prove_alive() {
    const auto say_so = [](const control::Controller&) { shell::notify_alive(); };
    if (loop_.post(Loop::Query(say_so))) return;
    shell::log(shell::LogLevel::Error, "the loop does not take anything any more");
  }

 private:
  // What works, but is not as it should be.
  std::vector<std::string> remarks() const {
    std::vector<std::string> all;
    if (origin_.lost_something()) all.push_back(store::describe(origin_));
    if (auto remark = identity_->remark()) all.push_back(std::move(*remark));
    if (const auto remark = remark_of_start_.load()) all.push_back(*remark);
    return all;
  }

  std::function<Result<std::string>()> back_up() const {
    if (backup_ == nullptr) return {};
    return [this] { return backup_->image(); };
  }

  Loop::Ports ports() {
    return {.send = [this](const control::Outgoing& outgoing) { send(outgoing); },
            .send_pool = [this](const control::PoolOutgoing& outgoing) { send_pool(outgoing); },
            .tell_sessions =
                [this](const control::Controller& controller, const control::Effects& effects) {
                  publisher_.tell_sessions(controller, effects);
                },
            .stepped =
                [this](const control::Controller& controller, const control::Effects& effects) {
                  return publisher_.stepped(controller, effects);
                }};
  }

  // With the receipt for what it orders: an agent can show it to a store that has forgotten that.
  void send(const control::Outgoing& outgoing) {
    v1::ToAgent message;
    *message.mutable_command() = codec::to_wire(outgoing.command);
    *message.mutable_command()->mutable_receipt() =
        codec::to_wire(receipts_.make(outgoing.node, outgoing.command.number));
    link_->send(outgoing.connection, std::move(message));
  }

  void send_pool(const control::PoolOutgoing& outgoing) {
    v1::ToAgent message;
    *message.mutable_pool_command() = codec::to_wire(outgoing.command);
    link_->send(outgoing.connection, std::move(message));
  }

  Agents::Links links() {
    return {.send = [this](std::uint64_t connection,
                           v1::ToAgent message) { link_->send(connection, std::move(message)); },
            .disconnect = [this](std::uint64_t connection,
                                 const std::string& why) { link_->disconnect(connection, why); }};
  }

  Result<HostPort> listen_for_https() {
    HostPort address = TRY(parse_host_port(config_.https));
    http_ = TRY(http::Server::open(services_, {.socket = config_.socket,
                                               .socket_group = config_.socket_group,
                                               .https = config_.https,
                                               .limits = {.remote = config_.connections.https,
                                                          .local = config_.connections.local}}));
    TRY(http_->set_identity(identity_->server(), identity_->authority().pem().certificate));
    address.port = http_->https_port();
    return address;
  }

  Result<HostPort> listen_for_grpc() {
    HostPort address = TRY(parse_host_port(config_.grpc));
    ::grpc::EnableDefaultHealthCheckService(true);
    ::grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    gate_ = TRY(link::Gate::listen(
        {.host = address.host, .port = address.port, .guests = config_.connections.grpc}));
    ::grpc::ServerBuilder builder;
    gate_->prepare(builder, link::server_credentials(identity_->directory(),
                                                     std::chrono::ceil<std::chrono::seconds>(
                                                         config_.certificates.look_every)));
    builder.RegisterService(&link_->service());
    builder.RegisterService(grpc_front_.get());
    link_->prepare(builder);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) return Error{Code::Unavailable, "cannot serve " + config_.grpc};
    for (const char* service :
         {v1::Berth::service_full_name(), v1::AgentLink::service_full_name()}) {
      server_->GetHealthCheckService()->SetServingStatus(service, true);
    }
    address.port = gate_->port();
    return address;
  }

  void renew() {
    const auto renewed = identity_->renew_if_needed(system_clock::now());
    if (!renewed) {
      shell::log(shell::LogLevel::Error, "the server's certificate cannot be renewed",
                 {{"error", renewed.error().message}});
    }
    if (!renewed || !*renewed) return;
    const auto used =
        http_->set_identity(identity_->server(), identity_->authority().pem().certificate);
    shell::log(shell::LogLevel::Info, "the server's certificate is renewed",
               {{"https", used ? "uses it" : used.error().message}});
  }

  // First whoever answers calls, then those who carry the answers.
  void stop() {
    renewal_.reset();
    loop_.stop();
    if (loop_thread_.joinable()) loop_thread_.join();
    planner_.stop();
    hub_.stop();
    workers_.stop();
    streams_.close();
    if (gate_ != nullptr) gate_->close();
    link_->close();
    if (server_ != nullptr) {
      server_->Shutdown(system_clock::now() + std::chrono::seconds(2));
      server_->Wait();
    }
    if (http_ != nullptr) http_->stop();
    std::error_code ignored;
    std::filesystem::remove(config_.state_directory / "endpoints.json", ignored);
  }

  const DaemonConfig config_;
  const std::unique_ptr<store::Store> store_;
  const store::StoreOrigin origin_;
  const store::Backup* const backup_;  // nullptr: the store cannot be copied while it is in use
  const std::unique_ptr<ServerIdentity> identity_;
  const std::uint64_t life_;
  const Receipts receipts_;
  std::unique_ptr<http::Server> http_;  // outlives all that may hold a call of it
  shell::Workers workers_;
  EventLog events_;
  WatchHub hub_;
  StreamRelay streams_;
  Publisher publisher_;
  Loop loop_;
  Planner planner_;
  api::Services services_;
  Agents agents_;
  std::unique_ptr<link::ServerEnd> link_;
  std::unique_ptr<::grpc::Service> grpc_front_;
  std::unique_ptr<link::Gate> gate_;
  std::unique_ptr<::grpc::Server> server_;
  std::atomic<std::shared_ptr<const std::string>> remark_of_start_;
  std::optional<shell::Periodic> renewal_;
  std::thread loop_thread_;
};

Daemon::Daemon(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Daemon::~Daemon() = default;

Result<std::unique_ptr<Daemon>> Daemon::open(const DaemonConfig& config) {
  TRY(make_directory(config.state_directory));
  const std::filesystem::path path = config.state_directory / "berthd.db";
  auto store = TRY(shell::open_store(path));
  auto durable = load_or_begin(*store.store,
                               {.new_cluster = trust::draw_name(),
                                .is_known = ServerIdentity::is_on_record(config.state_directory)});
  if (!durable) return shell::about_store(path, durable.error());
  auto identity = TRY(open_identity(config, *store.store, !durable->nodes.empty()));
  auto impl = std::make_unique<Impl>(config, std::move(store), std::move(*durable),
                                     open_events(config.state_directory / "events.db"),
                                     std::move(identity));
  TRY(impl->start());
  return std::unique_ptr<Daemon>(new Daemon(std::move(impl)));
}

void Daemon::prove_alive() { impl_->prove_alive(); }

}  // namespace berth::controld
