#include "agentd/real_outside.h"

#include <memory>
#include <utility>
#include <vector>

#include "agentd/machine.h"
#include "link/agent_end.h"
#include "runtime/health_check.h"
#include "runtime/instance_directories.h"
#include "runtime/logs.h"
#include "runtime/runtimes.h"
#include "shell/log.h"

namespace berth::agentd {
namespace {

std::vector<model::RuntimeType> runtime_types(const Config& config) {
  if (config.runtimes) return *config.runtimes;
  std::vector<model::RuntimeType> types;
  for (const auto type : {model::RuntimeType::Runc, model::RuntimeType::Crun}) {
    if (is_installed(model::to_string(type))) types.push_back(type);
  }
  types.push_back(model::RuntimeType::Process);
  return types;
}

std::vector<MakeRuntime> runtime_makers(const Config& config) {
  const runtime::MachineConfig machine{.state_dir = config.state_dir,
                                       .agent_id = config.node,
                                       .shim = config.shim,
                                       .dmips_per_core = config.dmips_per_core,
                                       .image_dir = config.image_dir,
                                       .logs = {}};
  std::vector<MakeRuntime> makers;
  for (const model::RuntimeType type : runtime_types(config)) {
    makers.push_back([machine, type](runtime::RunListener& listener) {
      auto made = runtime::make_runtimes(machine, {type}, listener);
      return made.empty() ? nullptr : std::move(made.front());
    });
  }
  return makers;
}

std::function<Link(link::AgentEndListener)> link_opener(const Config& config,
                                                        const trust::Credentials& credentials) {
  return [config, credentials](link::AgentEndListener listener) {
    const auto end =
        std::make_shared<link::AgentEnd>(link::AgentEndConfig{.server = config.server,
                                                              .node = config.node,
                                                              .boot_id = config.boot_id,
                                                              .version = BERTH_VERSION,
                                                              .authority = credentials.authority,
                                                              .identity = credentials.own},
                                         std::move(listener));
    return Link{
        .send = [end](std::uint64_t connection,
                      v1::FromAgent message) { end->send(connection, std::move(message)); },
        .set_identity =
            [end](trust::KeyAndCertificate identity) { end->set_identity(std::move(identity)); }};
  };
}

}  // namespace

Outside real_outside(const Config& config, store::Store& store,
                     const std::optional<trust::Credentials>& credentials) {
  Outside outside{
      .store = store,
      .make_runtimes = runtime_makers(config),
      .open_link = {},
      .credentials = credentials,
      .save_credentials =
          [directory = identity_directory(config.state_dir)](const trust::Credentials& renewed) {
            return trust::save(directory, renewed);
          },
      .open_log = [state_dir = config.state_dir](const model::InstanceKey& key,
                                                 std::size_t lines) -> Result<ReadLog> {
        const auto directory = runtime::log_directory(state_dir, key);
        const auto reader =
            std::make_shared<runtime::LogReader>(TRY(runtime::LogReader::open(directory, lines)));
        return ReadLog([reader](Duration wait) { return reader->read(wait); });
      },
      .check_health =
          [](const model::HealthCheck& check, const model::InstanceKey& key,
             runtime::Runtime& runtime) {
            return runtime::check_health(check, {.key = key}, runtime);
          },
      .erase_data =
          [state_dir = config.state_dir](const model::InstanceKey& key) {
            return runtime::erase_instance_directories(state_dir, key);
          }};
  if (credentials && !config.server.empty()) outside.open_link = link_opener(config, *credentials);
  return outside;
}

}  // namespace berth::agentd
