#pragma once

#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "runtime/shim/files.h"

namespace berth::network {

// A network namespace with a name: a mount below /run/netns, where `ip netns` finds it too. It
// outlives the agent, not the machine's boot.
class NetworkNamespace {
 public:
  static Result<NetworkNamespace> own();  // that of the calling thread; it has no name

  // NotFound: there is none of this name.
  static Result<NetworkNamespace> open(const std::string& name);
  // The one that is there, or a new one.
  static Result<NetworkNamespace> make(const std::string& name);
  // What is in it lives on until the last process has left it.
  static void remove(const std::string& name);
  static std::vector<std::string> names(std::string_view prefix);
  static std::filesystem::path path_of(const std::string& name);

  int fd() const { return fd_.get(); }

  // A socket that stands inside; -1 and errno if there is none. The calling thread goes in and
  // comes back, which takes microseconds.
  int open_socket(int family, int type) const;

  // What the function returns when it is called inside, on a thread that lives only for this.
  template <class Function>
  std::invoke_result_t<Function> run(Function function) const {
    std::optional<std::invoke_result_t<Function>> result;
    std::thread([&] {
      if (enter()) result.emplace(function());
    }).join();
    if (!result) return cannot_enter();
    return *std::move(result);
  }

 private:
  explicit NetworkNamespace(runtime::shim::Fd fd) : fd_(std::move(fd)) {}

  bool enter() const;
  static Error cannot_enter();

  runtime::shim::Fd fd_;
};

}  // namespace berth::network
