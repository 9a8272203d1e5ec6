#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

// What the world may do to us: every fallible call returns a Result, and TRY unwraps it or returns.
namespace berth {

// A code exists only if some caller reacts to it.
enum class Code {
  InvalidInput,  // the caller must change what was asked
  NotFound,
  Conflict,     // the world has moved on since the caller looked
  Unavailable,  // may work later, unchanged
  Exhausted,    // a limit or a full disk
  NotDurable,   // taken, and carried out once it can be written: neither refused nor done
  Damaged,      // stored bytes are not what we wrote
  Internal,
};

std::string_view to_string(Code code);

struct Error {
  Code code = Code::Internal;
  std::string message;

  friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;

  Result(Error error) : tl::expected<T, Error>(tl::unexpect, std::move(error)) {}  // NOLINT
};

inline Error invalid_input(std::string message) { return {Code::InvalidInput, std::move(message)}; }
inline Error not_found(std::string message) { return {Code::NotFound, std::move(message)}; }

namespace detail {

template <class T>
T take(Result<T>&& result) {
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace detail
}  // namespace berth

// TRY(expr) is the value of a successful Result; otherwise it returns the error from the function.
#define TRY(expression)                                                    \
  __extension__({                                                          \
    auto try_result = (expression);                                        \
    if (!try_result) return ::berth::Error(std::move(try_result).error()); \
    ::berth::detail::take(std::move(try_result));                          \
  })
