#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "codec/tree.h"
#include "model/instance.h"
#include "runtime/supervisor.h"

namespace berth::runtime {

// An image, unpacked, and what it says of how to run it.
struct UnpackedImage {
  std::filesystem::path rootfs;
  std::vector<std::string> args;
  std::map<std::string, std::string> env;
  std::string directory;
};

// "DIRECTORY[:TAG]", an OCI layout on this machine, or "docker://NAME[:TAG]"; either may end in
// "@sha256:...", which is then what it must be.
struct ImageReference {
  bool is_remote = false;
  std::string name;  // the directory, or all that skopeo wants to know
  std::string tag;
  std::string digest;
};

// InvalidInput if it can be neither.
Result<ImageReference> parse_image_reference(const std::string& reference);

// The images of this machine, each unpacked once by its digest and then shared, read-only. A remote
// one is pulled once: what its tag meant then is kept, so that it starts with no registry in reach.
// Every step has a deadline. Safe to use from several threads and by several caches on one
// directory.
class ImageCache {
 public:
  struct Config {
    std::filesystem::path directory;   // where they are kept
    std::filesystem::path layout_dir;  // where relative layouts begin
    std::string owner;                 // tells apart what several caches leave unfinished
  };
  explicit ImageCache(Config config);

  // ImageNotFound, ImageInvalid, ImagePullFailed or RuntimeMissing (of what it takes to unpack
  // one).
  Started<UnpackedImage> get(const std::string& reference);

 private:
  struct Manifest {
    std::filesystem::path layout;
    std::string digest;
    std::string size;
    std::string media_type;
  };

  Started<UnpackedImage> get_local(const ImageReference& reference);
  Started<UnpackedImage> get_remote(const ImageReference& reference);
  Started<std::filesystem::path> pull(const ImageReference& reference);
  Started<Manifest> find_manifest(const std::filesystem::path& layout,
                                  const ImageReference& reference) const;
  Started<UnpackedImage> unpack(const Manifest& manifest);
  Started<void> unpack_into(const Manifest& manifest, const std::filesystem::path& work);

  std::filesystem::path place_of(const std::string& digest) const;
  std::filesystem::path workplace() const;

  const Config config_;
  std::mutex mutex_;  // one pull or unpacking at a time
};

}  // namespace berth::runtime
