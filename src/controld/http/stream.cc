#include "controld/http/stream.h"

#include <poll.h>

#include <boost/beast/core/stream_traits.hpp>
#include <type_traits>

namespace berth::controld::http {
namespace {

// Beast wants to know where handlers run in ways that an erased one cannot tell: ours all run where
// their stream does.
auto where_the_stream_runs(Stream::Handler handler) {
  return [handler = std::move(handler)](beast::error_code error, std::size_t count) mutable {
    std::move(handler)(error, count);
  };
}

template <class Layers>
class StreamOf final : public Stream {
 public:
  explicit StreamOf(std::unique_ptr<Layers> layers) : layers_(std::move(layers)) {}

  executor_type get_executor() override { return layers_->get_executor(); }
  bool is_local() const override { return std::is_same_v<Layers, UnixStream>; }
  void expires_after(Duration time) override { lowest().expires_after(time); }
  void expires_never() override { lowest().expires_never(); }
  void close() override {
    beast::error_code ignored;
    lowest().socket().shutdown(asio::socket_base::shutdown_both, ignored);
    lowest().close();
  }
  bool has_left() override {
    pollfd watched{lowest().socket().native_handle(), POLLRDHUP, 0};
    return ::poll(&watched, 1, 0) > 0;
  }

 private:
  auto& lowest() { return beast::get_lowest_layer(*layers_); }

  void read_some(asio::mutable_buffer into, Handler handler) override {
    layers_->async_read_some(into, where_the_stream_runs(std::move(handler)));
  }
  void write_some(const FewBuffers& from, Handler handler) override {
    layers_->async_write_some(from, where_the_stream_runs(std::move(handler)));
  }

  const std::unique_ptr<Layers> layers_;
};

}  // namespace

std::shared_ptr<Stream> make_stream(std::unique_ptr<UnixStream> stream) {
  return std::make_shared<StreamOf<UnixStream>>(std::move(stream));
}

std::shared_ptr<Stream> make_stream(std::unique_ptr<TlsStream> stream) {
  return std::make_shared<StreamOf<TlsStream>>(std::move(stream));
}

}  // namespace berth::controld::http
