#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace berth {

// Text that never changes. Its copies share it, so that it is as small as a pointer, and two copies
// are equal at a glance. Names stand in every key and record: most of what they take, and of the
// time to copy and to compare them, is saved so.
class SharedText {
 public:
  SharedText() = default;
  // Shares what this thread has lately made of the same text, such as the name that the record
  // before had.
  explicit SharedText(std::string_view text);
  SharedText(const SharedText& other) noexcept : body_(other.body_) { share(); }
  SharedText(SharedText&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  SharedText& operator=(SharedText other) noexcept {
    std::swap(body_, other.body_);
    return *this;
  }
  ~SharedText() { let_go(); }

  const std::string& text() const { return body_ == nullptr ? nothing() : body_->text; }
  bool empty() const { return body_ == nullptr; }
  std::size_t hash() const { return body_ == nullptr ? 0 : body_->hash; }

  friend bool operator==(const SharedText& a, const SharedText& b) {
    return a.body_ == b.body_ || (a.hash() == b.hash() && a.text() == b.text());
  }
  friend std::strong_ordering operator<=>(const SharedText& a, const SharedText& b) {
    if (a.body_ == b.body_) return std::strong_ordering::equal;
    return a.text().compare(b.text()) <=> 0;
  }

 private:
  struct Body {
    std::atomic<std::uint32_t> uses;
    std::size_t hash;
    std::string text;
  };

  static const std::string& nothing();
  static void destroy(Body* body);
  void share() const {
    if (body_ != nullptr) body_->uses.fetch_add(1, std::memory_order_relaxed);
  }
  void let_go() {
    if (body_ != nullptr && body_->uses.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      destroy(body_);
    }
  }

  Body* body_ = nullptr;  // none: the text is empty
};

}  // namespace berth
