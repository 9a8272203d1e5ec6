#include "session/nftables_gateway.h"

#include <sched.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "network/links.h"
#include "runtime/supervision/command.h"
#include "session/conformance.h"
#include "session/forwarder.h"

// In a network namespace of the test's own.
namespace berth::session {
namespace {

using testing::becomes;
using testing::Port;
using testing::Stream;

// The calling thread is in a new network, with nothing but the loopback, while this lives.
class OwnNetwork {
 public:
  OwnNetwork() {
    auto own = network::NetworkNamespace::own();
    if (!own || ::unshare(CLONE_NEWNET) != 0) return;
    home_.emplace(*std::move(own));
    network_.emplace(*network::NetworkNamespace::own());
    auto links = network::Links::open(*network_);
    const auto loopback = links->find("lo");
    CHECK(links->set_up((*loopback)->index).has_value(), "the loopback is up");
  }
  ~OwnNetwork() {
    if (home_) CHECK(::setns(home_->fd(), CLONE_NEWNET) == 0, "back home");
  }

  bool is_there() const { return home_.has_value(); }
  const network::NetworkNamespace& get() const { return *network_; }

 private:
  std::optional<network::NetworkNamespace> home_;
  std::optional<network::NetworkNamespace> network_;
};

std::unique_ptr<NftablesGateway> open_gateway(testing::Told& told,
                                              const std::string& tag = "0123abcd") {
  auto made = NftablesGateway::open({.tag = tag}, told_callbacks(told));
  if (!made) ADD_FAILURE() << made.error().message;
  return made ? *std::move(made) : nullptr;
}

bool can_have_rules() { return ::geteuid() == 0 && !runtime::find_program("nft").empty(); }

struct NftablesHarness {
  NftablesHarness() {
    if (why_not().empty()) made = open_gateway(all);
  }

  static std::string why_not() { return can_have_rules() ? "" : "rules need root and nft"; }
  Gateway& gateway() { return *made; }
  testing::Told& told() { return all; }
  std::string outside() { return "127.0.0.1"; }
  std::string inside() { return "127.0.0.1"; }

  OwnNetwork network;
  testing::Told all;
  std::unique_ptr<NftablesGateway> made;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Nftables, GatewayConformance, NftablesHarness);

}  // namespace
}  // namespace berth::session
