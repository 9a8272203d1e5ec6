#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "codec/arbitrary.h"
#include "model/protocol.h"

namespace berth::codec {

// For tests: random messages between controller and agents, as the cores make them.
class ArbitraryMessages {
 public:
  explicit ArbitraryMessages(std::uint64_t seed) : fields_(Form::Manifest, seed) {}

  model::Command command() {
    model::Command command;
    command.number = number();
    if (below(2) == 0) command.base = number();
    for (auto i = below(4); i > 0; --i) command.run.push_back(spec());
    // What is only to be prepared is apart on the wire.
    std::ranges::stable_partition(command.run, std::logical_not<>{},
                                  &model::InstanceSpec::prepare_only);
    command.stop = keys();
    if (!command.base) command.keep = keys();
    command.report_fully = below(2) == 0;
    if (below(2) == 0) command.network = fields_.make<model::NodeNetwork>();
    command.states = states();
    return command;
  }

  model::Report report() {
    model::Report report;
    report.boot_id = "boot-" + std::to_string(fields_.random().next());
    report.revision = fields_.random().next();
    report.acted = number();
    report.full = below(2) == 0;
    if (below(2) == 0) report.node = node();
    if (below(2) == 0) report.usage = fields_.make<model::Usage>();
    for (auto i = below(4); i > 0; --i) report.instances.push_back(status());
    report.gone = keys();
    if (below(2) == 0) report.measurement = measurement();
    report.states = states();
    if (below(2) == 0) report.receipt = receipt();
    if (below(2) == 0) report.told = told();
    if (below(2) == 0) report.pool = pool_report();
    return report;
  }

  model::PoolCommand pool_command() {
    model::PoolCommand command;
    command.epoch = fields_.random().next();
    command.life = fields_.random().next();
    command.number = 1 + below(1'000'000);
    for (auto i = below(4); i > 0; --i) command.orders.push_back(pool_order());
    return command;
  }

 private:
  std::uint64_t below(std::uint64_t n) { return fields_.random().below(n); }

  model::CommandNumber number() { return fields_.make<model::CommandNumber>(); }

  model::Receipt receipt() { return {"c" + std::to_string(below(9)), number(), "0a1b", below(9)}; }

  model::ToldOrders told() {
    model::ToldOrders told;
    for (auto i = below(3); i > 0; --i) told.run.push_back(spec());
    for (model::InstanceSpec& spec : told.run) spec.prepare_only = false;  // what is told runs
    if (below(2) == 0) told.network.emplace();
    return told;
  }

  bool flip() { return below(2) == 0; }
  Duration duration() { return Duration(below(10) == 0 ? 0 : bytes()); }
  std::optional<Duration> maybe_duration() {
    return flip() ? std::optional(duration()) : std::nullopt;
  }

  model::InstanceKey pool_key() {
    auto key = fields_.make<model::InstanceKey>();
    key.item = model::ItemId(model::kPoolMark + key.item.value());
    return key;
  }

  model::Problem problem() {
    if (flip()) return {};
    return {"NodeLost", "ended with code 1: \xC3\xA4\n"};
  }

  model::SessionRef session_ref() {
    return {{"games", "blue/" + std::to_string(below(9))}, static_cast<std::uint32_t>(below(9))};
  }

  std::vector<model::SessionPort> session_ports() {
    std::vector<model::SessionPort> ports(below(3));
    for (auto& port : ports) {
      port.port = {static_cast<std::uint16_t>(1 + below(65535)),
                   flip() ? model::Protocol::Udp : model::Protocol::Tcp};
      port.external_address = flip() ? "192.0.2.1" : "edge.example.org";
      port.external = static_cast<std::uint16_t>(1 + below(65535));
      if (flip()) port.internal = "10.0.0.7:8080";
    }
    return ports;
  }

  model::SessionOptions session_options() {
    model::SessionOptions options;
    options.per_instance = static_cast<std::uint32_t>(1 + below(9));
    options.service = flip();
    if (flip()) options.reuse = flip();
    options.kill_when_closed = flip();
    options.open_timeout = duration();
    options.close_grace = duration();
    options.claim = duration();
    options.ttl = maybe_duration();
    options.idle_timeout = maybe_duration();
    options.reopen = flip();
    options.keep_finished = duration();
    options.health_period = duration();
    return options;
  }

  model::SessionSpec session() {
    model::SessionSpec session;
    session.ref = session_ref();
    session.instance = pool_key();
    if (flip()) session.request_id = "r-\xC3\xA4";
    if (flip()) session.caller = "client:anna";
    if (flip()) session.data = std::string("any\0\xFF of bytes", 14);
    if (below(20) == 0) session.data.assign(model::SessionSpec::kDataMax, '\xFE');
    session.ports = session_ports();
    session.close_grace = duration();
    session.claim = duration();
    session.ttl = maybe_duration();
    session.idle_timeout = maybe_duration();
    session.reopen = flip();
    return session;
  }

  model::PoolOrder pool_order() {
    switch (below(5)) {
      case 0: {
        model::StartPoolInstance order{spec(), fields_.random().next(), session_options()};
        order.spec.key = pool_key();
        order.spec.prepare_only = false;
        return order;
      }
      case 1: return model::StopPoolInstance{pool_key(), duration()};
      case 2:
        return model::SetPoolPausing{pool_key(),
                                     flip() ? model::Pausing::Running : model::Pausing::Paused};
      case 3: return model::OpenSession{session()};
      default: return model::CloseSession{session_ref(), pool_key(), duration(), problem()};
    }
  }

  model::ReportedPoolInstance pool_instance() {
    model::ReportedPoolInstance instance;
    instance.key = pool_key();
    instance.state = model::Names<model::PoolInstanceState>::kTable[below(5)].first;
    const bool is_known = instance.state != model::PoolInstanceState::Gone || flip();
    if (is_known) {
      instance.item = "echo";
      instance.version = "1." + std::to_string(below(9));
      instance.runtime = fields_.make<model::Place>().runtime;
    }
    instance.edition = fields_.random().next();
    instance.image = static_cast<std::uint32_t>(below(3));
    instance.uid = static_cast<std::uint32_t>(below(100));
    instance.problem = problem();
    instance.cannot_pause = flip();
    instance.ports = session_ports();
    for (auto& port : instance.ports) port.external = 0;
    return instance;
  }

  model::PoolReport pool_report() {
    model::PoolReport report;
    report.acted = fields_.random().next();
    for (auto i = below(4); i > 0; --i) report.instances.push_back(pool_instance());
    for (auto i = below(4); i > 0; --i) {
      const auto state = model::Names<model::SessionState>::kTable[below(8)].first;
      const auto clients = static_cast<std::uint32_t>(below(100));
      report.sessions.push_back({session(), state, problem(), clients, duration()});
    }
    if (flip()) report.usage = fields_.make<model::Usage>();
    return report;
  }

  std::vector<model::InstanceKey> keys() {
    std::vector<model::InstanceKey> keys(below(4));
    for (auto& key : keys) key = fields_.make<model::InstanceKey>();
    return keys;
  }

  std::int64_t bytes() { return static_cast<std::int64_t>(below(1'000'000)); }

  model::Traffic traffic() { return {bytes(), bytes()}; }

  model::NodeMeasurement measurement() {
    model::NodeMeasurement measurement{traffic(), {}};
    if (below(2) == 0) measurement.partitions = {{"storage", Bytes(bytes()), Bytes(bytes())}};
    return measurement;
  }

  std::vector<model::SavedState> states() {
    std::vector<model::SavedState> states(below(3));
    for (auto& state : states) {
      state = {fields_.make<model::InstanceKey>(), fields_.random().next(), "0a1b",
               std::string("any\0\xFF of bytes", 14)};
    }
    return states;
  }

  model::InstanceSpec spec() {
    auto spec = fields_.make<model::InstanceSpec>();
    spec.session_socket.clear();  // its agent's own
    while (!remarks_are_fine(spec.item)) spec.item = fields_.make<model::Item>();
    spec.key.item = spec.item.id;
    spec.image = static_cast<std::uint32_t>(below(spec.item.images.size()));
    spec.priority = fields_.random().between(kPriority.least, kPriority.most);
    return spec;
  }

  model::NodeInfo node() {
    model::Node node;
    do {
      node.info = fields_.make<model::NodeInfo>();
    } while (has_errors(remarks_on(node)));
    return node.info;
  }

  model::ReportedStatus status() {
    const auto record = fields_.make<model::InstanceRecord>();
    model::ReportedStatus status;
    status.key = record.key;
    status.type = record.type;
    status.version = "1." + std::to_string(below(9));
    status.runtime = fields_.make<model::Place>().runtime;
    status.state = model::Names<model::InstanceState>::kTable[below(5)].first;
    if (below(2) == 0) status.problem = {"ExitCode", "ended with code 1: \xC3\xA4\n"};
    status.exit_code = fields_.make<model::WantedRecord>().exit_code;
    status.restarts = record.uid;
    status.finished = below(2) == 0;
    status.stopping = below(2) == 0;
    status.prepare_only = below(2) == 0;
    if (below(2) == 0) status.usage = fields_.make<model::Usage>();
    if (below(2) == 0) status.footprint = {Bytes(bytes()), Bytes(bytes()), traffic()};
    return status;
  }

  static bool has_errors(const std::vector<Remark>& remarks) {
    return std::ranges::any_of(remarks,
                               [](const Remark& remark) { return remark.level == Level::Error; });
  }

  static bool remarks_are_fine(const model::Item& item) {
    const auto rule_is_fine = [](const std::optional<model::ThresholdRule>& rule) {
      return !rule || !has_errors(remarks_on(*rule));
    };
    return !has_errors(remarks_on(item)) && !item.images.empty() && rule_is_fine(item.alerts.cpu) &&
           rule_is_fine(item.alerts.ram) &&
           std::ranges::none_of(item.images, [](const model::Image& image) {
             return has_errors(remarks_on(image));
           });
  }

  Arbitrary fields_;
};

}  // namespace berth::codec
