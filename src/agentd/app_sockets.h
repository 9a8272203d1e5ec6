#pragma once

#include <filesystem>
#include <vector>

#include "base/result.h"
#include "model/ids.h"

namespace berth::agentd {

// Where the session service has the sockets of apps: each in a directory of its own, which a
// container can be given, at a path that the key of the instance tells and that is never long.
class AppSockets {
 public:
  // Makes the directory, if it is not there, so that the one above is never taken for unused.
  explicit AppSockets(std::filesystem::path base);

  std::filesystem::path path_of(const model::InstanceKey& key) const;

  // Everybody may come to the socket; who is welcome says the token.
  Result<void> make_room(const model::InstanceKey& key) const;
  void remove(const model::InstanceKey& key) const;

  // What an earlier life has left of instances that are no more.
  void remove_all_but(const std::vector<model::InstanceKey>& living) const;

 private:
  std::filesystem::path base_;
};

}  // namespace berth::agentd
