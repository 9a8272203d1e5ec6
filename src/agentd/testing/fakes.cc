#include "agentd/testing/fakes.h"

#include <algorithm>

#include "base/check.h"
#include "codec/wire.h"
#include "shell/clock.h"
#include "shell/log.h"

namespace berth::agentd::testing {

model::InstanceKey key_of(const std::string& item) {
  return {model::ItemId(item), model::SubjectId("vehicle"), 0};
}

model::InstanceSpec a_spec(const std::string& item, std::int64_t priority) {
  model::InstanceSpec spec;
  spec.key = key_of(item);
  spec.item.id = model::ItemId(item);
  spec.item.version = "1";
  spec.item.images.push_back({.platform = {}, .runtimes = {}, .form = model::CommandImage{{"x"}}});
  spec.runtime = model::RuntimeId("process");
  spec.priority = priority;
  spec.uid = 20'000;
  spec.gid = 20'000;
  return spec;
}

model::Command a_command(std::uint64_t number, std::vector<model::InstanceSpec> run) {
  model::Command command;
  command.number = {1, number};
  command.run = std::move(run);
  return command;
}

namespace {

// A control plane ends the connection on which it hears what it does not understand.
void expect_to_be_taken(const v1::FromAgent& message) {
  if (!message.has_report()) return;
  const auto taken = codec::from_wire(message.report());
  CHECK(taken.has_value(), taken ? "" : taken.error().message);
}

}  // namespace

// --- The machine -------------------------------------------------------------------------------

class FakeMachine::Runtime final : public runtime::Runtime {
 public:
  Runtime(FakeMachine& machine, std::string name) : machine_(machine), name_(std::move(name)) {}
  ~Runtime() override {
    const std::lock_guard lock(machine_.mutex_);
    machine_.listeners_.erase(name_);
    machine_.changed_.notify_all();
  }

  model::Runtime describe() const override {
    model::Runtime runtime;
    runtime.id = model::RuntimeId(name_);
    runtime.type = model::RuntimeType::Process;
    return runtime;
  }
  runtime::ProbeResult probe(Duration) override {
    return machine_.when_probed ? machine_.when_probed(name_) : runtime::ProbeResult{};
  }

  Result<std::vector<model::FoundRun>> list() override {
    const std::lock_guard lock(machine_.mutex_);
    std::vector<model::FoundRun> found;
    for (const auto& [name, run] : machine_.runs_) {
      if (run.runtime == name_) found.push_back(run.found);
    }
    return found;
  }
  tl::expected<void, model::Problem> start(const model::InstanceSpec& spec,
                                           const model::RunId& run) override {
    if (machine_.when_started) machine_.when_started(spec);
    const std::lock_guard lock(machine_.mutex_);
    machine_.runs_[{spec.key, run}] = {
        {spec.key, run, spec.item.type, spec.item.version, false, spec}, name_};
    machine_.starts_.push_back(spec.key.item.value());
    machine_.changed_.notify_all();
    return {};
  }
  void stop(const model::InstanceKey& key, const model::RunId& run, Duration) override {
    const std::lock_guard lock(machine_.mutex_);
    machine_.runs_.erase({key, run});
    machine_.stops_.push_back(key.item.value());
    machine_.listeners_.at(name_)->exited(key, run, 0, {});
    machine_.changed_.notify_all();
  }
  void forget(const model::InstanceKey& key, const model::RunId&) override {
    const std::lock_guard lock(machine_.mutex_);
    machine_.forgotten_.push_back(key.item.value());
    machine_.changed_.notify_all();
  }
  Result<void> pause(const model::InstanceKey&) override { return {}; }
  Result<void> resume(const model::InstanceKey&) override { return {}; }

  std::map<model::InstanceKey, runtime::Consumption> measure() override {
    const std::lock_guard lock(machine_.mutex_);
    return machine_.used_;
  }

  // Answers each input with itself, and its end with code 7.
  Result<std::unique_ptr<runtime::ExecSession>> exec(const model::InstanceKey& key,
                                                     const runtime::ExecRequest&,
                                                     runtime::ExecListener listener) override {
    class Echo final : public runtime::ExecSession {
     public:
      explicit Echo(runtime::ExecListener told) : listener_(std::move(told)) {}
      Result<std::size_t> write(std::string_view input, Duration) override {
        listener_.output(input, false);
        return input.size();
      }
      void close_input() override { listener_.ended(7); }
      void resize(std::uint16_t, std::uint16_t) override {}

     private:
      runtime::ExecListener listener_;
    };
    const std::lock_guard lock(machine_.mutex_);
    const bool runs = std::any_of(machine_.runs_.begin(), machine_.runs_.end(),
                                  [&](const auto& entry) { return entry.first.first == key; });
    if (!runs) return not_found("it does not run");
    return std::unique_ptr<runtime::ExecSession>(std::make_unique<Echo>(std::move(listener)));
  }

 private:
  FakeMachine& machine_;
  const std::string name_;
};

std::unique_ptr<runtime::Runtime> FakeMachine::make_runtime(const std::string& name,
                                                            runtime::RunListener& listener) {
  const std::lock_guard lock(mutex_);
  listeners_[name] = &listener;
  return std::make_unique<Runtime>(*this, name);
}

bool FakeMachine::has_runtime(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return listeners_.contains(name);
}

void FakeMachine::end(const std::string& item, std::int32_t exit_code) {
  const std::lock_guard lock(mutex_);
  const auto run = std::find_if(runs_.begin(), runs_.end(), [&](const auto& entry) {
    return entry.first.first == key_of(item);
  });
  CHECK(run != runs_.end(), "the test expects it to run");
  const Name name = run->first;
  const auto listener = listeners_.find(run->second.runtime);
  runs_.erase(run);
  if (listener != listeners_.end()) {
    listener->second->exited(name.first, name.second, exit_code, {});
  }
}

std::vector<std::string> FakeMachine::starts() const {
  const std::lock_guard lock(mutex_);
  return starts_;
}
std::vector<std::string> FakeMachine::stops() const {
  const std::lock_guard lock(mutex_);
  return stops_;
}
std::vector<std::string> FakeMachine::forgotten() const {
  const std::lock_guard lock(mutex_);
  return forgotten_;
}
std::size_t FakeMachine::running() const {
  const std::lock_guard lock(mutex_);
  return runs_.size();
}
void FakeMachine::consume(const std::string& item, runtime::Consumption used) {
  const std::lock_guard lock(mutex_);
  used_[key_of(item)] = used;
}

bool FakeMachine::wait(const std::function<bool()>& holds) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience, holds);
}

// --- The store ---------------------------------------------------------------------------------

Result<void> FakeStore::commit_if(const std::optional<store::Fence>& fence,
                                  const std::vector<store::Change>& batch) {
  if (is_full) {
    ++refused;
    return Error{Code::Exhausted, "no space left on device"};
  }
  const std::lock_guard lock(mutex_);
  return store_.commit_if(fence, batch);
}
Result<std::optional<std::string>> FakeStore::get(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  return store_.get(key);
}
Result<store::Revision> FakeStore::revision() const {
  const std::lock_guard lock(mutex_);
  return store_.revision();
}

Result<std::optional<std::vector<store::Commit>>> FakeStore::changes_since(
    store::Revision revision) const {
  const std::lock_guard lock(mutex_);
  return store_.changes_since(revision);
}

Result<std::vector<store::Entry>> FakeStore::list(std::string_view prefix) const {
  const std::lock_guard lock(mutex_);
  return store_.list(prefix);
}

// --- The server --------------------------------------------------------------------------------

std::function<Link(link::AgentEndListener)> FakeServer::opener() {
  return [this](link::AgentEndListener listener) {
    const std::lock_guard lock(mutex_);
    listener_ = std::move(listener);
    changed_.notify_all();
    return Link{.send =
                    [this](std::uint64_t connection, v1::FromAgent message) {
                      const std::lock_guard sending(mutex_);
                      if (connection != connection_) return;
                      expect_to_be_taken(message);
                      received_.push_back(std::move(message));
                      changed_.notify_all();
                    },
                .set_identity =
                    [this](trust::KeyAndCertificate identity) {
                      const std::lock_guard changing(mutex_);
                      identity_ = std::move(identity);
                      changed_.notify_all();
                    }};
  };
}

void FakeServer::connect() {
  std::unique_lock lock(mutex_);
  CHECK(changed_.wait_for(lock, kPatience, [this] { return listener_.connected != nullptr; }),
        "the agent opens a link");
  const std::uint64_t connection = ++connection_;
  const auto listener = listener_;
  lock.unlock();
  listener.connected(connection);
}

void FakeServer::disconnect() { listener_.disconnected(connection_, "the test pulled the plug"); }

void FakeServer::say(v1::ToAgent message) { listener_.received(connection_, std::move(message)); }

void FakeServer::say(const model::Command& command) {
  v1::ToAgent message;
  *message.mutable_command() = codec::to_wire(command);
  say(std::move(message));
}

void FakeServer::say(const model::PoolCommand& command) {
  v1::ToAgent message;
  *message.mutable_pool_command() = codec::to_wire(command);
  say(std::move(message));
}

std::optional<v1::FromAgent> FakeServer::wait_for(const Fits& fits) {
  std::unique_lock lock(mutex_);
  std::optional<v1::FromAgent> found;
  changed_.wait_for(lock, kPatience, [&] {
    const auto at = std::find_if(received_.begin(), received_.end(), fits);
    if (at != received_.end()) found = *at;
    return found.has_value();
  });
  return found;
}

bool FakeServer::wait_for_status(const std::string& item,
                                 const std::function<bool(const v1::ReportedStatus&)>& fits) {
  return wait_for([&](const v1::FromAgent& message) {
           const auto& statuses = message.report().instances();
           return std::any_of(statuses.begin(), statuses.end(), [&](const auto& status) {
             return status.key().item() == item && fits(status);
           });
         })
      .has_value();
}

std::optional<trust::KeyAndCertificate> FakeServer::identity() const {
  const std::lock_guard lock(mutex_);
  return identity_;
}

bool FakeServer::wait_for_identity() {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience, [this] { return identity_.has_value(); });
}

std::string FakeServer::data_of(std::uint64_t stream) const {
  const std::lock_guard lock(mutex_);
  std::string data;
  for (const v1::FromAgent& message : received_) {
    if (message.stream().stream() == stream) data += message.stream().data();
  }
  return data;
}

// --- The agent ---------------------------------------------------------------------------------

RunningAgent::RunningAgent(FakeMachine& machine, store::Store& store, FakeServer* server,
                           const std::function<void(Config&, Dependencies&)>& change) {
  shell::configure_log(shell::LogFormat::Text, shell::LogLevel::Error);
  Config config;
  config.node = "n1";
  config.boot_id = "boot";
  config.type = "test";
  config.state_dir = "/";
  config.cpu = Dmips(1'000);
  config.ram = Bytes(1 << 30);
  config.heartbeat = 50ms;
  config.measure_period = 20ms;
  config.runtimes = {{.name = "process", .type = model::RuntimeType::Process}};
  Dependencies dependencies{
      .store = {store},
      .runtimes = {.make = [&machine](const RuntimeConfig& wanted, runtime::RunListener& listener) {
        return machine.make_runtime(wanted.name, listener);
      }}};
  if (server != nullptr) dependencies.open_link = server->opener();
  if (change) change(config, dependencies);
  auto opened = Daemon::open(std::move(config), std::move(dependencies));
  CHECK(opened.has_value(), "the test expects an agent");
  daemon_ = *std::move(opened);
  thread_ = std::thread([this] { daemon_->run(); });
  if (server != nullptr) server->connect();
}

RunningAgent::~RunningAgent() {
  daemon_->stop();
  thread_.join();
}

}  // namespace berth::agentd::testing
