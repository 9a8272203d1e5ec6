#include "network/inspection.h"

#include <fmt/format.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>

#include <algorithm>

#include "network/firewall.h"

namespace berth::network {

Result<Inspection> Inspection::open(const NetworkNamespace& router) {
  Links links = TRY(Links::open(router));
  Netlink tables = TRY(router.run([] { return Netlink::open(NETLINK_NETFILTER); }));
  return Inspection(std::move(links), std::move(tables));
}

std::string Inspection::missing(const Made& made) {
  const auto links = links_.all();
  if (!links) return "the devices of the router: " + links.error().message;
  for (const std::string& name : made.devices) {
    const auto link = std::find_if(links->begin(), links->end(),
                                   [&](const Link& one) { return one.name == name; });
    if (link == links->end()) return fmt::format("device {} of the router is gone", name);
    if (!link->is_up) return fmt::format("device {} of the router is down", name);
  }
  if (!made.has_rules) return "";
  const auto has_rules = has_table();
  if (!has_rules) return "the firewall: " + has_rules.error().message;
  return *has_rules ? "" : "the rules of the firewall are gone";
}

Result<bool> Inspection::has_table() {
  constexpr auto kGetTables =
      static_cast<std::uint16_t>((NFNL_SUBSYS_NFTABLES << 8) | NFT_MSG_GETTABLE);
  const nfgenmsg header{.nfgen_family = NFPROTO_INET, .version = NFNETLINK_V0, .res_id = 0};
  const auto tables = TRY(tables_.list(Message(kGetTables, 0, header)));
  return std::any_of(tables.begin(), tables.end(), [](const Listed& table) {
    return table.attributes<nfgenmsg>().text(NFTA_TABLE_NAME) == kRouterTableName;
  });
}

}  // namespace berth::network
