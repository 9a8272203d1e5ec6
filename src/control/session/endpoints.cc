#include "control/session/endpoints.h"

#include <utility>

#include "base/check.h"

namespace berth::control {
namespace {

PortRange range_of(const Config& config, const std::string& address) {
  const bool is_gateway = config.gateway && config.gateway->address == address;
  const IdRange& range = is_gateway ? config.gateway->ports : config.session_ports;
  return {static_cast<std::uint16_t>(range.first), static_cast<std::uint16_t>(range.last)};
}

}  // namespace

void Endpoints::restore(const Step& step) {
  for (const auto& [address, record] : step.state.durable().port_blocks) {
    const auto bits = PortBits::parse(record.held);
    books_.emplace(
        address, Book{PortBook(range_of(step.config, address), bits ? *bits : PortBits()), {}, {}});
    touched_.insert(address);
  }
}

Endpoints::Book* Endpoints::touch(const std::string& address) {
  const auto book = books_.find(address);
  if (book == books_.end()) return nullptr;
  touched_.insert(address);
  return &book->second;
}

void Endpoints::know(const Step& step, const std::string& address) {
  if (books_.contains(address)) return;
  Book& book =
      books_.emplace(address, Book{PortBook(range_of(step.config, address)), {}, {}}).first->second;
  if (is_settled_) book.ports.settle({});
  touched_.insert(address);
}

Endpoints::Given Endpoints::allocate(const std::string& address, std::size_t count) {
  if (count == 0) return {Outcome::Given, {}};
  Book& book = books_.at(address);
  touched_.insert(address);
  if (auto ports = book.ports.allocate(count)) return {Outcome::Given, *std::move(ports)};
  const bool comes_later = !is_settled_ || book.ports.free_count() >= count;
  return {comes_later ? Outcome::NotYet : Outcome::Exhausted, {}};
}

void Endpoints::release(const std::string& address, std::uint16_t port) {
  Book* book = touch(address);
  if (book == nullptr) return;
  book->taken.erase(port);
  book->ports.release(port);
}

void Endpoints::set_aside(const std::string& address, std::uint16_t port) {
  if (Book* book = touch(address)) book->ports.set_aside(port);
}

bool Endpoints::take(const std::string& address, std::uint16_t port) {
  Book* book = touch(address);
  if (book == nullptr) return false;  // of no node: whoever says so lies
  if (!is_settled_) book->taken.insert(port);
  return !book->ports.take(port);
}

void Endpoints::settle() {
  if (std::exchange(is_settled_, true)) return;
  for (auto& [address, book] : books_) {
    const std::vector<std::uint16_t> held(book.taken.begin(), book.taken.end());
    book.ports.settle(held);
    book.taken.clear();
    touched_.insert(address);
  }
}

void Endpoints::write_down(Step& step) {
  for (const std::string& address : std::exchange(touched_, {})) {
    Book& book = books_.at(address);
    if (book.writing) continue;  // it is looked at again after that
    const auto bits = book.ports.to_write();
    if (!bits) continue;
    step.state.put(model::PortBlockRecord{address, bits->text()});
    book.writing = step.state.revision() + 1;
    writing_.insert(address);
    step.effects.tell_when_durable = true;
  }
}

void Endpoints::became_durable(std::uint64_t revision) {
  for (const std::string& address : std::exchange(writing_, {})) {
    Book& book = books_.at(address);
    if (*book.writing > revision) {
      writing_.insert(address);
      continue;
    }
    book.writing.reset();
    book.ports.became_durable();
    touched_.insert(address);
  }
}

}  // namespace berth::control
