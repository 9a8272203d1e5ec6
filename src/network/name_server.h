#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/network.h"
#include "network/network_namespace.h"
#include "runtime/shim/files.h"

namespace berth::network {

// The lines of a hosts file. A name of several addresses stands on several lines.
std::string hosts_text(const std::vector<model::NamedAddress>& names);

// The name server of a router: one dnsmasq, which outlives the agent. Not thread-safe.
class NameServer {
 public:
  struct Config {
    std::filesystem::path directory;  // for its files; everybody may read them
    std::vector<model::Ipv4> upstream;
  };

  explicit NameServer(Config config) : config_(std::move(config)) {}

  // Finds the one of an earlier life, or starts it.
  Result<void> ensure(const NetworkNamespace& where);
  // Tells it what the names are now, if they are others.
  Result<void> set_names(const std::vector<model::NamedAddress>& names);
  void stop();

  // Readable when it has ended; -1: it does not run.
  int handle() const { return handle_.get(); }

 private:
  std::vector<std::string> command() const;
  std::optional<pid_t> find() const;
  bool is_ours(std::string line) const;  // the command line of a process
  bool is_running() const;
  std::filesystem::path names_file() const { return config_.directory / "names"; }
  std::filesystem::path pid_file() const { return config_.directory / "dnsmasq.pid"; }

  const Config config_;
  pid_t pid_ = -1;
  bool has_read_names_ = false;  // the file, as it is now
  runtime::shim::Fd handle_;
};

}  // namespace berth::network
