#include "session/rule_table.h"

#include <arpa/inet.h>
#include <endian.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace berth::session {
namespace {

using network::Attributes;
using network::Listed;
using network::Message;

constexpr std::size_t kWord = 4;
constexpr std::size_t kChangesMax = 500;  // in one transaction: sockets have a size

constexpr std::uint16_t nested(std::uint16_t attribute) {
  return static_cast<std::uint16_t>(attribute | NLA_F_NESTED);
}

void put_value(Message& message, std::uint16_t attribute, const std::string& value) {
  const auto begun = message.begin(nested(attribute));
  message.bytes(NFTA_DATA_VALUE, value);
  message.end(begun);
}

void put_element(Message& message, const RuleTable::Element& element) {
  const auto list = message.begin(nested(NFTA_SET_ELEM_LIST_ELEMENTS));
  const auto one = message.begin(nested(NFTA_LIST_ELEM));
  put_value(message, NFTA_SET_ELEM_KEY, element.key);
  if (!element.value.empty()) put_value(message, NFTA_SET_ELEM_DATA, element.value);
  message.end(one);
  message.end(list);
}

std::string value_of(const Attributes& element, std::uint16_t attribute) {
  return std::string(element.nested(attribute).find(NFTA_DATA_VALUE).value_or(""));
}

std::uint64_t bytes_of(const Attributes& element) {
  const Attributes counter = element.nested(NFTA_SET_ELEM_EXPR).nested(NFTA_EXPR_DATA);
  return be64toh(counter.number<std::uint64_t>(NFTA_COUNTER_BYTES).value_or(0));
}

void read_elements(const Listed& listed, const std::string& set,
                   std::vector<RuleTable::Element>& all) {
  const Attributes list = listed.attributes<nfgenmsg>().nested(NFTA_SET_ELEM_LIST_ELEMENTS);
  for (const Attributes& element : list.all(NFTA_LIST_ELEM)) {
    all.push_back({set, value_of(element, NFTA_SET_ELEM_KEY), value_of(element, NFTA_SET_ELEM_DATA),
                   bytes_of(element)});
  }
}

}  // namespace

// --- Elements ----------------------------------------------------------------------------------

ElementBytes& ElementBytes::address(model::Ipv4 address) {
  const std::uint32_t value = htonl(address.value);
  bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  return *this;
}

ElementBytes& ElementBytes::protocol(std::uint8_t number) {
  bytes_ += static_cast<char>(number);
  bytes_.append(kWord - 1, '\0');
  return *this;
}

ElementBytes& ElementBytes::port(std::uint16_t number) {
  const std::uint16_t value = htons(number);
  bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  bytes_.append(kWord - sizeof value, '\0');
  return *this;
}

std::string_view ElementReader::take() {
  static constexpr char kNothing[kWord] = {};
  is_short_ |= bytes_.size() < kWord;
  if (is_short_) return {kNothing, kWord};
  const std::string_view word = bytes_.substr(0, kWord);
  bytes_.remove_prefix(kWord);
  return word;
}

model::Ipv4 ElementReader::address() {
  std::uint32_t value = 0;
  std::memcpy(&value, take().data(), sizeof value);
  return {ntohl(value)};
}

std::uint8_t ElementReader::protocol() { return static_cast<std::uint8_t>(take().front()); }

std::uint16_t ElementReader::port() {
  std::uint16_t value = 0;
  std::memcpy(&value, take().data(), sizeof value);
  return ntohs(value);
}

// --- The table ---------------------------------------------------------------------------------

Result<RuleTable> RuleTable::open(const network::NetworkNamespace& where, std::string name) {
  auto netlink = TRY(where.run([] { return network::Netlink::open(NETLINK_NETFILTER); }));
  return RuleTable(std::move(netlink), std::move(name));
}

Message RuleTable::about(std::uint16_t type, std::uint16_t flags, const std::string& set) const {
  const nfgenmsg header{.nfgen_family = NFPROTO_IPV4, .version = NFNETLINK_V0, .res_id = 0};
  Message message(static_cast<std::uint16_t>((NFNL_SUBSYS_NFTABLES << 8) | type), flags, header);
  message.text(NFTA_SET_ELEM_LIST_TABLE, name_).text(NFTA_SET_ELEM_LIST_SET, set);
  return message;
}

Result<void> RuleTable::change(const Changes& changes) {
  std::vector<Message> messages;
  for (const Element& element : changes.remove) {
    messages.push_back(about(NFT_MSG_DELSETELEM, 0, element.set));
    put_element(messages.back(), {element.set, element.key});
  }
  for (const Element& element : changes.add) {
    messages.push_back(about(NFT_MSG_NEWSETELEM, NLM_F_CREATE, element.set));
    put_element(messages.back(), element);
  }
  for (std::size_t i = 0; i < messages.size(); i += kChangesMax) {
    const auto begin = messages.begin() + static_cast<std::ptrdiff_t>(i);
    const auto count = std::min(kChangesMax, messages.size() - i);
    TRY(netlink_.commit(NFNL_SUBSYS_NFTABLES, {begin, begin + static_cast<std::ptrdiff_t>(count)}));
  }
  return {};
}

Result<std::vector<RuleTable::Element>> RuleTable::elements(const std::string& set) {
  std::vector<Element> all;
  for (const Listed& listed : TRY(netlink_.list(about(NFT_MSG_GETSETELEM, 0, set)))) {
    read_elements(listed, set, all);
  }
  return all;
}

Result<std::uint64_t> RuleTable::bytes(const std::string& set, const std::string& key) {
  Message message = about(NFT_MSG_GETSETELEM, 0, set);
  put_element(message, {set, key});
  std::vector<Element> found;
  read_elements(TRY(netlink_.get(message)), set, found);
  return found.empty() ? 0 : found.front().bytes;
}

}  // namespace berth::session
