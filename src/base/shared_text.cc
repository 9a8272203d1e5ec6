#include "base/shared_text.h"

#include <array>
#include <functional>

namespace berth {
namespace {

// Each text has one place among them, and stays until another comes there: what is kept is
// bounded, whatever strangers send.
constexpr std::size_t kLately = 1024;

std::array<SharedText, kLately>& lately() {
  thread_local std::array<SharedText, kLately> made;
  return made;
}

}  // namespace

SharedText::SharedText(std::string_view text) {
  if (text.empty()) return;
  const std::size_t hash = std::hash<std::string_view>{}(text);
  SharedText& made = lately()[hash % kLately];
  if (made.hash() != hash || made.text() != text) {
    SharedText fresh;
    fresh.body_ = new Body{.uses = 1, .hash = hash, .text = std::string(text)};
    made = std::move(fresh);
  }
  body_ = made.body_;
  share();
}

const std::string& SharedText::nothing() {
  static const std::string kNothing;
  return kNothing;
}

void SharedText::destroy(Body* body) { delete body; }

}  // namespace berth
