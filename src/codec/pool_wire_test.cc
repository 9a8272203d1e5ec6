#include <gtest/gtest.h>

#include <functional>

#include "codec/wire.h"

namespace berth::codec {
namespace {

void set_pool_key(v1::InstanceKey& key) {
  key.set_item("@games");
  key.set_subject("echo");
  key.set_index(7);
}

void fill_session(v1::SessionSpec& session) {
  session.mutable_ref()->set_namespace_("games");
  session.mutable_ref()->set_name("blue");
  session.mutable_ref()->set_incarnation(1);
  set_pool_key(*session.mutable_instance());
  v1::SessionPort& port = *session.add_ports();
  port.set_port(8080);
  port.set_protocol(v1::PROTOCOL_TCP);
  port.set_external_address("192.0.2.1");
  port.set_external(20000);
}

// One order of each kind.
v1::PoolCommand a_pool_command() {
  v1::PoolCommand command;
  command.set_number(1);
  v1::StartPoolInstance& start = *command.add_orders()->mutable_start();
  set_pool_key(*start.mutable_spec()->mutable_key());
  start.mutable_spec()->set_item(
      R"({"name":"echo","version":"1","images":[{"command":["sleep","1"]}]})");
  start.mutable_spec()->set_runtime("process");
  start.mutable_sessions()->set_per_instance(1);
  set_pool_key(*command.add_orders()->mutable_stop()->mutable_key());
  set_pool_key(*command.add_orders()->mutable_pausing()->mutable_key());
  fill_session(*command.add_orders()->mutable_open()->mutable_session());
  v1::CloseSession& close = *command.add_orders()->mutable_close();
  set_pool_key(*close.mutable_instance());
  close.mutable_ref()->set_namespace_("games");
  close.mutable_ref()->set_name("blue");
  return command;
}

std::string refusal_of_pool_command(const std::function<void(v1::PoolCommand&)>& change) {
  v1::PoolCommand command = a_pool_command();
  const auto fine = from_wire(command);
  EXPECT_TRUE(fine) << fine.error().message;
  change(command);
  const auto refused = from_wire(command);
  if (refused) return "";
  EXPECT_EQ(refused.error().code, Code::InvalidInput);
  return refused.error().message;
}

TEST(PoolWire, SaysWhatIsWrongWithAPoolCommand) {
  const auto with = refusal_of_pool_command;
  EXPECT_EQ(with([](auto& command) { command.clear_number(); }), "number: is missing");
  EXPECT_EQ(with([](auto& command) { command.add_orders(); }),
            "orders[5]: is no order that is known here");
  EXPECT_EQ(with([](auto& command) {
              while (command.orders_size() <= 1000) *command.add_orders() = command.orders(1);
            }),
            "orders: has 1001 entries, more than 1000");
  EXPECT_EQ(
      with([](auto& command) { command.mutable_orders(1)->mutable_stop()->set_grace_us(-1); }),
      "orders[1].stop.graceUs: is negative");
  EXPECT_EQ(with([](auto& command) {
              command.mutable_orders(1)->mutable_stop()->set_grace_us(1LL << 60);
            }),
            "orders[1].stop.graceUs: is longer than 87600h");
  EXPECT_EQ(with([](auto& command) {
              command.mutable_orders(2)->mutable_pausing()->mutable_key()->set_item("echo");
            }),
            "orders[2].pausing.key.item: is not the name of a pool");
  EXPECT_NE(with([](auto& command) {
              command.mutable_orders(4)->mutable_close()->mutable_instance()->set_item("@../etc");
            }),
            "");
}

TEST(PoolWire, SaysWhatIsWrongWithAStart) {
  const auto with = [](const std::function<void(v1::StartPoolInstance&)>& change) {
    return refusal_of_pool_command(
        [&](v1::PoolCommand& command) { change(*command.mutable_orders(0)->mutable_start()); });
  };
  EXPECT_EQ(with([](auto& start) { start.mutable_spec()->mutable_key()->set_item("echo"); }),
            "orders[0].start.spec.key.item: is not the name of a pool");
  EXPECT_EQ(with([](auto& start) { start.mutable_spec()->set_image(1); }),
            "orders[0].start.spec.image: there is no image 1");
  EXPECT_EQ(with([](auto& start) { start.mutable_spec()->set_item("{}"); }),
            "orders[0].start.spec.item.name: is missing");
  EXPECT_EQ(with([](auto& start) { start.clear_sessions(); }),
            "orders[0].start.sessions.perInstance: must not be 0");
  EXPECT_EQ(with([](auto& start) { start.mutable_sessions()->set_ttl_us(-5); }),
            "orders[0].start.sessions.ttlUs: is negative");
}

TEST(PoolWire, SaysWhatIsWrongWithASession) {
  const auto with = [](const std::function<void(v1::SessionSpec&)>& change) {
    return refusal_of_pool_command([&](v1::PoolCommand& command) {
      change(*command.mutable_orders(3)->mutable_open()->mutable_session());
    });
  };
  EXPECT_EQ(with([](auto& session) { session.set_data(std::string((64 << 10) + 1, 'x')); }),
            "orders[3].open.session.data: is too long");
  EXPECT_EQ(with([](auto& session) { session.mutable_ref()->clear_name(); }),
            "orders[3].open.session.ref.name: must not be empty");
  EXPECT_EQ(with([](auto& session) { session.mutable_ref()->clear_namespace_(); }),
            "orders[3].open.session.ref.namespace: must not be empty");
  EXPECT_EQ(with([](auto& session) { session.set_request_id(std::string(5000, 'x')); }),
            "orders[3].open.session.requestId: is too long");
  EXPECT_EQ(with([](auto& session) { session.mutable_ports(0)->set_port(0); }),
            "orders[3].open.session.ports[0].port: must be 1 to 65535, not 0");
  EXPECT_EQ(with([](auto& session) { session.mutable_ports(0)->set_port(65536); }),
            "orders[3].open.session.ports[0].port: must be 1 to 65535, not 65536");
  EXPECT_EQ(with([](auto& session) { session.mutable_ports(0)->set_external(0); }),
            "orders[3].open.session.ports[0].external: must be 1 to 65535, not 0");
  EXPECT_EQ(with([](auto& session) { session.mutable_ports(0)->clear_protocol(); }),
            "orders[3].open.session.ports[0].protocol: 0 is no protocol");
  EXPECT_EQ(with([](auto& session) {
              while (session.ports_size() <= 1000) *session.add_ports() = session.ports(0);
            }),
            "orders[3].open.session.ports: has 1001 entries, more than 1000");
}

std::string refusal_of_pool_report(const std::function<void(v1::PoolReport&)>& change) {
  v1::Report report;
  report.set_boot_id("b");
  v1::ReportedPoolInstance& instance = *report.mutable_pool()->add_instances();
  set_pool_key(*instance.mutable_key());
  instance.set_item("echo");
  instance.set_version("1");
  instance.set_runtime("process");
  instance.set_state(v1::POOL_RUNNING);
  v1::ReportedSession& session = *report.mutable_pool()->add_sessions();
  fill_session(*session.mutable_session());
  session.set_state(v1::SESSION_AVAILABLE);
  const auto fine = from_wire(report);
  EXPECT_TRUE(fine) << fine.error().message;
  change(*report.mutable_pool());
  const auto refused = from_wire(report);
  if (refused) return "";
  EXPECT_EQ(refused.error().code, Code::InvalidInput);
  return refused.error().message;
}

TEST(PoolWire, SaysWhatIsWrongWithAPoolReport) {
  const auto with = refusal_of_pool_report;
  EXPECT_EQ(with([](auto& pool) { pool.mutable_instances(0)->clear_state(); }),
            "pool.instances[0].state: 0 is no state");
  EXPECT_EQ(with([](auto& pool) {
              pool.mutable_instances(0)->set_state(static_cast<v1::PoolInstanceState>(77));
            }),
            "pool.instances[0].state: 77 is no state");
  EXPECT_EQ(with([](auto& pool) { pool.mutable_instances(0)->clear_version(); }),
            "pool.instances[0].version: must not be empty");
  EXPECT_EQ(with([](auto& pool) { pool.mutable_instances(0)->add_ports(); }),
            "pool.instances[0].ports[0].port: must be 1 to 65535, not 0");
  EXPECT_EQ(with([](auto& pool) {
              pool.mutable_sessions(0)->set_state(static_cast<v1::SessionState>(9));
            }),
            "pool.sessions[0].state: 9 is no state");
  EXPECT_EQ(with([](auto& pool) { pool.mutable_sessions(0)->set_open_for_us(-1); }),
            "pool.sessions[0].openForUs: is negative");
  EXPECT_EQ(with([](auto& pool) { pool.mutable_usage()->set_cpu(-1); }),
            "pool.usage.cpu: must be 0 to 1000000000000, not -1");
}

TEST(PoolWire, TakesOneThatIsGoneWithoutWhatItWas) {
  EXPECT_EQ(refusal_of_pool_report([](v1::PoolReport& pool) {
              v1::ReportedPoolInstance& gone = *pool.add_instances();
              set_pool_key(*gone.mutable_key());
              gone.set_state(v1::POOL_GONE);
            }),
            "");
}

// Logs and exec know pool instances; commands that are durable do not.
TEST(PoolWire, TheKeyOfAPoolInstanceIsAKeyOnlyWhereThatMakesSense) {
  v1::InstanceKey key;
  set_pool_key(key);
  const auto read = from_wire(key);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, model::pool_instance({"games", "echo"}, 7));
  v1::Command command;
  command.mutable_number()->set_epoch(1);
  *command.add_stop() = key;
  EXPECT_FALSE(from_wire(command));
  key.set_item("@");
  EXPECT_FALSE(from_wire(key));
}

}  // namespace
}  // namespace berth::codec
