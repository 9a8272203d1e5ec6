#pragma once

#include <array>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/bind_handler.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/role.hpp>
#include <cstddef>
#include <utility>

namespace berth::client {

namespace asio = boost::asio;
namespace beast = boost::beast;

// A few buffers that are written together: a header and its body, a frame and what is in it.
class FewBuffers {
 public:
  template <class Buffers>
  explicit FewBuffers(const Buffers& buffers) {
    const auto end = asio::buffer_sequence_end(buffers);
    for (auto at = asio::buffer_sequence_begin(buffers); at != end && count_ < buffers_.size();
         ++at) {
      const asio::const_buffer buffer = *at;
      if (buffer.size() > 0) buffers_[count_++] = buffer;
    }
  }

  const asio::const_buffer* begin() const { return buffers_.data(); }
  const asio::const_buffer* end() const { return buffers_.data() + count_; }

 private:
  std::array<asio::const_buffer, 8> buffers_;  // who has more is asked to write the rest next
  std::size_t count_ = 0;
};

// A connection, whatever it is made of, as Asio and Beast want their streams. It is one type, so
// that what is built on it, which is a lot, is compiled once.
class Stream {
 public:
  using executor_type = asio::any_io_executor;
  using Handler = asio::any_completion_handler<void(beast::error_code, std::size_t)>;

  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  virtual executor_type get_executor() = 0;

  // What is under way ends with an error.
  virtual void close() = 0;

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return asio::async_initiate<Token, void(beast::error_code, std::size_t)>(
        [this](auto handler, const auto& into) { read_some(first_of(into), std::move(handler)); },
        token, buffers);
  }

  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return asio::async_initiate<Token, void(beast::error_code, std::size_t)>(
        [this](auto handler, const auto& from) {
          write_some(FewBuffers(from), std::move(handler));
        },
        token, buffers);
  }

 private:
  virtual void read_some(asio::mutable_buffer into, Handler handler) = 0;
  virtual void write_some(const FewBuffers& from, Handler handler) = 0;

  template <class Buffers>
  static asio::mutable_buffer first_of(const Buffers& buffers) {
    const auto end = asio::buffer_sequence_end(buffers);
    for (auto at = asio::buffer_sequence_begin(buffers); at != end; ++at) {
      const asio::mutable_buffer buffer = *at;
      if (buffer.size() > 0) return buffer;
    }
    return {};
  }
};

// What Beast calls to end a WebSocket on a stream of ours.

inline void beast_close_socket(Stream& stream) { stream.close(); }

inline void teardown(beast::role_type /*role*/, Stream& stream, beast::error_code& error) {
  stream.close();
  error = {};
}

template <class Handler>
void async_teardown(beast::role_type /*role*/, Stream& stream, Handler&& handler) {
  stream.close();
  asio::post(stream.get_executor(),
             beast::bind_handler(std::forward<Handler>(handler), beast::error_code()));
}

}  // namespace berth::client
