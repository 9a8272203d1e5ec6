#include <utility>

#include "base/check.h"
#include "codec/wire_parts.h"

namespace berth::codec {
namespace {

using namespace wire;

// --- To the wire -------------------------------------------------------------------------------

v1::Protocol pool_word(model::Protocol protocol) {
  switch (protocol) {
    case model::Protocol::Tcp: return v1::PROTOCOL_TCP;
    case model::Protocol::Udp: return v1::PROTOCOL_UDP;
  }
  CHECK(false, "unknown protocol");
}

v1::PoolInstanceState pool_word(model::PoolInstanceState state) {
  switch (state) {
    case model::PoolInstanceState::Starting: return v1::POOL_STARTING;
    case model::PoolInstanceState::Running: return v1::POOL_RUNNING;
    case model::PoolInstanceState::Paused: return v1::POOL_PAUSED;
    case model::PoolInstanceState::Stopping: return v1::POOL_STOPPING;
    case model::PoolInstanceState::Gone: return v1::POOL_GONE;
  }
  CHECK(false, "unknown state of a pool instance");
}

v1::SessionState pool_word(model::SessionState state) {
  switch (state) {
    case model::SessionState::Pending: return v1::SESSION_PENDING;
    case model::SessionState::Starting: return v1::SESSION_STARTING;
    case model::SessionState::Available: return v1::SESSION_AVAILABLE;
    case model::SessionState::InUse: return v1::SESSION_IN_USE;
    case model::SessionState::Closing: return v1::SESSION_CLOSING;
    case model::SessionState::Closed: return v1::SESSION_CLOSED;
    case model::SessionState::Timeout: return v1::SESSION_TIMEOUT;
    case model::SessionState::Failed: return v1::SESSION_FAILED;
  }
  CHECK(false, "unknown state of a session");
}

v1::SessionOptions write(const model::SessionOptions& options) {
  v1::SessionOptions out;
  out.set_per_instance(options.per_instance);
  out.set_service(options.service);
  if (options.reuse) out.set_reuse(*options.reuse);
  out.set_kill_when_closed(options.kill_when_closed);
  out.set_open_timeout_us(options.open_timeout.count());
  out.set_close_grace_us(options.close_grace.count());
  out.set_claim_us(options.claim.count());
  if (options.ttl) out.set_ttl_us(options.ttl->count());
  if (options.idle_timeout) out.set_idle_timeout_us(options.idle_timeout->count());
  out.set_reopen(options.reopen);
  out.set_keep_finished_us(options.keep_finished.count());
  out.set_health_period_us(options.health_period.count());
  return out;
}

v1::SessionRef write(const model::SessionRef& ref) {
  v1::SessionRef out;
  out.set_namespace_(ref.key.ns);
  out.set_name(ref.key.name);
  out.set_incarnation(ref.incarnation);
  return out;
}

v1::SessionPort write(const model::SessionPort& port) {
  v1::SessionPort out;
  out.set_port(port.port.number);
  out.set_protocol(pool_word(port.port.protocol));
  out.set_external_address(port.external_address);
  out.set_external(port.external);
  out.set_internal(port.internal);
  return out;
}

v1::SessionSpec write(const model::SessionSpec& session) {
  v1::SessionSpec out;
  *out.mutable_ref() = write(session.ref);
  *out.mutable_instance() = to_wire(session.instance);
  out.set_request_id(session.request_id);
  out.set_caller(session.caller);
  out.set_data(session.data);
  for (const auto& port : session.ports) *out.add_ports() = write(port);
  out.set_close_grace_us(session.close_grace.count());
  out.set_claim_us(session.claim.count());
  if (session.ttl) out.set_ttl_us(session.ttl->count());
  if (session.idle_timeout) out.set_idle_timeout_us(session.idle_timeout->count());
  out.set_reopen(session.reopen);
  return out;
}

struct WriteOrder {
  v1::PoolOrder& out;

  void operator()(const model::StartPoolInstance& order) const {
    *out.mutable_start()->mutable_spec() = write_spec(order.spec);
    out.mutable_start()->set_edition(order.edition);
    *out.mutable_start()->mutable_sessions() = write(order.sessions);
  }
  void operator()(const model::StopPoolInstance& order) const {
    *out.mutable_stop()->mutable_key() = to_wire(order.key);
    out.mutable_stop()->set_grace_us(order.grace.count());
  }
  void operator()(const model::SetPoolPausing& order) const {
    *out.mutable_pausing()->mutable_key() = to_wire(order.key);
    out.mutable_pausing()->set_paused(order.pausing == model::Pausing::Paused);
  }
  void operator()(const model::OpenSession& order) const {
    *out.mutable_open()->mutable_session() = write(order.session);
  }
  void operator()(const model::CloseSession& order) const {
    *out.mutable_close()->mutable_ref() = write(order.ref);
    *out.mutable_close()->mutable_instance() = to_wire(order.instance);
    out.mutable_close()->set_grace_us(order.grace.count());
    *out.mutable_close()->mutable_reason() = to_wire(order.reason);
  }
};

v1::ReportedPoolInstance write(const model::ReportedPoolInstance& instance) {
  v1::ReportedPoolInstance out;
  *out.mutable_key() = to_wire(instance.key);
  out.set_item(instance.item);
  out.set_version(instance.version);
  out.set_edition(instance.edition);
  out.set_runtime(instance.runtime.value());
  out.set_image(instance.image);
  out.set_uid(instance.uid);
  out.set_state(pool_word(instance.state));
  if (instance.problem != model::Problem{}) *out.mutable_problem() = to_wire(instance.problem);
  out.set_cannot_pause(instance.cannot_pause);
  for (const auto& port : instance.ports) *out.add_ports() = write(port);
  return out;
}

v1::ReportedSession write(const model::ReportedSession& session) {
  v1::ReportedSession out;
  *out.mutable_session() = write(session.session);
  out.set_state(pool_word(session.state));
  if (session.reason != model::Problem{}) *out.mutable_reason() = to_wire(session.reason);
  out.set_clients(session.clients);
  out.set_open_for_us(session.open_for.count());
  return out;
}

// --- From the wire -----------------------------------------------------------------------------

Result<model::Protocol> read_word(v1::Protocol protocol, const Path& at) {
  switch (protocol) {
    case v1::PROTOCOL_TCP: return model::Protocol::Tcp;
    case v1::PROTOCOL_UDP: return model::Protocol::Udp;
    default: return wrong(at, fmt::format("{} is no protocol", static_cast<int>(protocol)));
  }
}

Result<model::PoolInstanceState> read_word(v1::PoolInstanceState state, const Path& at) {
  switch (state) {
    case v1::POOL_STARTING: return model::PoolInstanceState::Starting;
    case v1::POOL_RUNNING: return model::PoolInstanceState::Running;
    case v1::POOL_PAUSED: return model::PoolInstanceState::Paused;
    case v1::POOL_STOPPING: return model::PoolInstanceState::Stopping;
    case v1::POOL_GONE: return model::PoolInstanceState::Gone;
    default: return wrong(at, fmt::format("{} is no state", static_cast<int>(state)));
  }
}

Result<model::SessionState> read_word(v1::SessionState state, const Path& at) {
  switch (state) {
    case v1::SESSION_PENDING: return model::SessionState::Pending;
    case v1::SESSION_STARTING: return model::SessionState::Starting;
    case v1::SESSION_AVAILABLE: return model::SessionState::Available;
    case v1::SESSION_IN_USE: return model::SessionState::InUse;
    case v1::SESSION_CLOSING: return model::SessionState::Closing;
    case v1::SESSION_CLOSED: return model::SessionState::Closed;
    case v1::SESSION_TIMEOUT: return model::SessionState::Timeout;
    case v1::SESSION_FAILED: return model::SessionState::Failed;
    default: return wrong(at, fmt::format("{} is no state", static_cast<int>(state)));
  }
}

Result<Duration> read_duration(std::int64_t microseconds, const Path& at) {
  if (microseconds < 0) return wrong(at, "is negative");
  TRY(check(standing_flaw_of(Duration(microseconds)), at));
  return Duration(microseconds);
}

Result<model::SessionOptions> read_session_part(const v1::SessionOptions& options, const Path& at) {
  model::SessionOptions out;
  if (options.per_instance() == 0) return wrong(Path(at, "perInstance"), "must not be 0");
  out.per_instance = options.per_instance();
  out.service = options.service();
  if (options.has_reuse()) out.reuse = options.reuse();
  out.kill_when_closed = options.kill_when_closed();
  out.open_timeout = TRY(read_duration(options.open_timeout_us(), Path(at, "openTimeoutUs")));
  out.close_grace = TRY(read_duration(options.close_grace_us(), Path(at, "closeGraceUs")));
  out.claim = TRY(read_duration(options.claim_us(), Path(at, "claimUs")));
  if (options.has_ttl_us()) out.ttl = TRY(read_duration(options.ttl_us(), Path(at, "ttlUs")));
  if (options.has_idle_timeout_us()) {
    out.idle_timeout = TRY(read_duration(options.idle_timeout_us(), Path(at, "idleTimeoutUs")));
  }
  out.reopen = options.reopen();
  out.keep_finished = TRY(read_duration(options.keep_finished_us(), Path(at, "keepFinishedUs")));
  out.health_period = TRY(read_duration(options.health_period_us(), Path(at, "healthPeriodUs")));
  return out;
}

Result<model::SessionRef> read_session_part(const v1::SessionRef& ref, const Path& at) {
  model::SessionRef out;
  out.key.ns = TRY(text_by(Name{}, ref.namespace_(), Path(at, "namespace")));
  out.key.name = TRY(text_by(Label{}, ref.name(), Path(at, "name")));
  out.incarnation = ref.incarnation();
  return out;
}

Result<std::uint16_t> read_port_number(std::uint32_t number, const Range& range, const Path& at) {
  return static_cast<std::uint16_t>(TRY(integer_in(range, number, at)));
}

// What an instance listens at need not be reached from outside.
constexpr Range kExternalPortOfAnInstance{0, kPortNumber.most};

Result<model::SessionPort> read_port(const v1::SessionPort& port, const Range& external,
                                     const Path& at) {
  model::SessionPort out;
  out.port.number = TRY(read_port_number(port.port(), kPortNumber, Path(at, "port")));
  out.port.protocol = TRY(read_word(port.protocol(), Path(at, "protocol")));
  out.external = TRY(read_port_number(port.external(), external, Path(at, "external")));
  out.external_address = TRY(text_for_people(port.external_address(), Path(at, "externalAddress")));
  out.internal = TRY(text_for_people(port.internal(), Path(at, "internal")));
  return out;
}

template <class List>
Result<std::vector<model::SessionPort>> read_ports(const List& ports, const Range& external,
                                                   const Path& at) {
  return read_list<model::SessionPort>(ports, at, WireLimits::kPortsMax,
                                       [&](const v1::SessionPort& port, const Path& here) {
                                         return read_port(port, external, here);
                                       });
}

Result<model::SessionSpec> read_session_part(const v1::SessionSpec& session, const Path& at) {
  if (session.data().size() > model::SessionSpec::kDataMax) {
    return wrong(Path(at, "data"), "is too long");
  }
  model::SessionSpec out;
  out.ref = TRY(read_session_part(session.ref(), Path(at, "ref")));
  out.instance = TRY(read_pool_key(session.instance(), Path(at, "instance")));
  out.request_id = TRY(text_for_people(session.request_id(), Path(at, "requestId")));
  out.caller = TRY(text_for_people(session.caller(), Path(at, "caller")));
  out.data = session.data();
  out.ports = TRY(read_ports(session.ports(), kPortNumber, Path(at, "ports")));
  out.close_grace = TRY(read_duration(session.close_grace_us(), Path(at, "closeGraceUs")));
  out.claim = TRY(read_duration(session.claim_us(), Path(at, "claimUs")));
  if (session.has_ttl_us()) out.ttl = TRY(read_duration(session.ttl_us(), Path(at, "ttlUs")));
  if (session.has_idle_timeout_us()) {
    out.idle_timeout = TRY(read_duration(session.idle_timeout_us(), Path(at, "idleTimeoutUs")));
  }
  out.reopen = session.reopen();
  return out;
}

Result<model::PoolOrder> read_order(const v1::StartPoolInstance& order, const Path& at) {
  const Path spec(at, "spec");
  model::StartPoolInstance out;
  auto key = TRY(read_pool_key(order.spec().key(), Path(spec, "key")));
  out.spec = TRY(read_spec(std::move(key), order.spec(), spec));
  out.edition = order.edition();
  out.sessions = TRY(read_session_part(order.sessions(), Path(at, "sessions")));
  return model::PoolOrder(std::move(out));
}

Result<model::PoolOrder> read_order(const v1::StopPoolInstance& order, const Path& at) {
  model::StopPoolInstance out;
  out.key = TRY(read_pool_key(order.key(), Path(at, "key")));
  out.grace = TRY(read_duration(order.grace_us(), Path(at, "graceUs")));
  return model::PoolOrder(std::move(out));
}

Result<model::PoolOrder> read_order(const v1::SetPoolPausing& order, const Path& at) {
  model::SetPoolPausing out;
  out.key = TRY(read_pool_key(order.key(), Path(at, "key")));
  out.pausing = order.paused() ? model::Pausing::Paused : model::Pausing::Running;
  return model::PoolOrder(std::move(out));
}

Result<model::PoolOrder> read_order(const v1::OpenSession& order, const Path& at) {
  return model::PoolOrder(
      model::OpenSession{TRY(read_session_part(order.session(), Path(at, "session")))});
}

Result<model::PoolOrder> read_order(const v1::CloseSession& order, const Path& at) {
  model::CloseSession out;
  out.ref = TRY(read_session_part(order.ref(), Path(at, "ref")));
  out.instance = TRY(read_pool_key(order.instance(), Path(at, "instance")));
  out.grace = TRY(read_duration(order.grace_us(), Path(at, "graceUs")));
  out.reason = TRY(read_problem(order.reason(), Path(at, "reason")));
  return model::PoolOrder(std::move(out));
}

Result<model::PoolOrder> read_order(const v1::PoolOrder& order, const Path& at) {
  switch (order.order_case()) {
    case v1::PoolOrder::kStart: return read_order(order.start(), Path(at, "start"));
    case v1::PoolOrder::kStop: return read_order(order.stop(), Path(at, "stop"));
    case v1::PoolOrder::kPausing: return read_order(order.pausing(), Path(at, "pausing"));
    case v1::PoolOrder::kOpen: return read_order(order.open(), Path(at, "open"));
    case v1::PoolOrder::kClose: return read_order(order.close(), Path(at, "close"));
    case v1::PoolOrder::ORDER_NOT_SET: break;
  }
  return wrong(at, "is no order that is known here");
}

// An agent that was restarted meanwhile may not know what it was.
bool may_be_unknown(model::PoolInstanceState state) {
  return state == model::PoolInstanceState::Stopping || state == model::PoolInstanceState::Gone;
}

Result<void> read_what_it_runs(const v1::ReportedPoolInstance& instance,
                               model::ReportedPoolInstance& out, const Path& at) {
  const auto is_left_out = [&](const std::string& text) {
    return text.empty() && may_be_unknown(out.state);
  };
  if (!is_left_out(instance.item())) {
    out.item = TRY(text_by(Name{}, instance.item(), Path(at, "item")));
  }
  if (!is_left_out(instance.version())) {
    out.version = TRY(text_by(Version{}, instance.version(), Path(at, "version")));
  }
  if (!is_left_out(instance.runtime())) {
    out.runtime = TRY(id_of<model::RuntimeId>(instance.runtime(), Path(at, "runtime")));
  }
  return {};
}

Result<model::ReportedPoolInstance> read_reported(const v1::ReportedPoolInstance& instance,
                                                  const Path& at) {
  model::ReportedPoolInstance out;
  out.key = TRY(read_pool_key(instance.key(), Path(at, "key")));
  out.state = TRY(read_word(instance.state(), Path(at, "state")));
  TRY(read_what_it_runs(instance, out, at));
  out.edition = instance.edition();
  out.image = instance.image();
  out.uid = instance.uid();
  out.problem = TRY(read_problem(instance.problem(), Path(at, "problem")));
  out.cannot_pause = instance.cannot_pause();
  out.ports = TRY(read_ports(instance.ports(), kExternalPortOfAnInstance, Path(at, "ports")));
  return out;
}

Result<model::ReportedSession> read_reported(const v1::ReportedSession& session, const Path& at) {
  model::ReportedSession out;
  out.session = TRY(read_session_part(session.session(), Path(at, "session")));
  out.state = TRY(read_word(session.state(), Path(at, "state")));
  out.reason = TRY(read_problem(session.reason(), Path(at, "reason")));
  out.clients = session.clients();
  out.open_for = TRY(read_duration(session.open_for_us(), Path(at, "openForUs")));
  return out;
}

}  // namespace

Result<model::InstanceKey> wire::read_pool_key(const v1::InstanceKey& key, const Path& at) {
  const std::string& item = key.item();
  if (item.empty() || item.front() != model::kPoolMark) {
    return wrong(Path(at, "item"), "is not the name of a pool");
  }
  TRY(text_by(Name{}, item.substr(1), Path(at, "item")));
  model::InstanceKey out;
  out.item = model::ItemId(item);
  out.subject = TRY(id_of<model::SubjectId>(key.subject(), Path(at, "subject")));
  out.index = key.index();
  return out;
}

v1::PoolReport wire::write_pool(const model::PoolReport& report) {
  v1::PoolReport out;
  out.set_acted(report.acted);
  for (const auto& instance : report.instances) *out.add_instances() = write(instance);
  for (const auto& session : report.sessions) *out.add_sessions() = write(session);
  if (report.usage) *out.mutable_usage() = to_wire(*report.usage);
  return out;
}

Result<model::PoolReport> wire::read_pool(const v1::PoolReport& report, const Path& at) {
  const auto read_one = [](const auto& one, const Path& here) { return read_reported(one, here); };
  model::PoolReport out;
  out.acted = report.acted();
  out.instances = TRY(read_list<model::ReportedPoolInstance>(
      report.instances(), Path(at, "instances"), WireLimits::kInstancesMax, read_one));
  out.sessions = TRY(read_list<model::ReportedSession>(report.sessions(), Path(at, "sessions"),
                                                       WireLimits::kInstancesMax, read_one));
  if (report.has_usage()) out.usage = TRY(read_usage(report.usage(), Path(at, "usage")));
  return out;
}

v1::PoolCommand to_wire(const model::PoolCommand& command) {
  v1::PoolCommand out;
  out.set_epoch(command.epoch);
  out.set_life(command.life);
  out.set_number(command.number);
  for (const auto& order : command.orders) std::visit(WriteOrder{*out.add_orders()}, order);
  return out;
}

Result<model::PoolCommand> from_wire(const v1::PoolCommand& command) {
  const Path top;
  if (command.number() == 0) return wrong(Path(top, "number"), "is missing");
  model::PoolCommand out;
  out.epoch = command.epoch();
  out.life = command.life();
  out.number = command.number();
  out.orders = TRY(read_list<model::PoolOrder>(
      command.orders(), Path(top, "orders"), model::PoolCommand::kOrdersMax,
      [](const v1::PoolOrder& order, const Path& at) { return read_order(order, at); }));
  return out;
}

}  // namespace berth::codec
