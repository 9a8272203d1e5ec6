#pragma once

#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codec/tree.h"
#include "model/instance.h"
#include "runtime/supervision/supervisor.h"

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

// Where the images of an agent are kept, each in "sha256-HEX", and beside it in "sha256-HEX.size"
// how many bytes it has. The time of its directory is when it was last used.
std::filesystem::path image_directory(const std::filesystem::path& state_dir);
std::filesystem::path place_of_image(const std::filesystem::path& images,
                                     const std::string& digest);
std::filesystem::path size_file_of_image(const std::filesystem::path& images,
                                         const std::string& digest);
// How many bytes it has: as written down, else counted, and written down.
Bytes size_of_image(const std::filesystem::path& images, const std::string& digest);

// The images of this machine, each unpacked once by its digest and then shared, read-only. A remote
// one is pulled once: what its tag meant then is kept, so that it starts with no registry in reach.
// Nobody waits for an image but those who want that one: they share one pull. Every step has a
// deadline. Safe to use from several threads and by several caches on one directory.
class ImageCache {
 public:
  struct Config {
    std::filesystem::path directory;   // where they are kept
    std::filesystem::path layout_dir;  // beneath which layouts are
    std::string owner;   // tells apart what several caches leave unfinished; empty: it only looks
    int interrupt = -1;  // a descriptor: when it is readable, what takes long ends
  };
  explicit ImageCache(Config config);

  // ImageNotFound, ImageInvalid, ImagePullFailed, StorageFailed or RuntimeMissing (of what it takes
  // to unpack one).
  Started<UnpackedImage> get(const std::string& reference);

  // If it is there. Waits for nobody.
  std::optional<UnpackedImage> find(const std::string& reference) const;

  // The digest of what the reference means on this machine, unpacked or not; nullopt: it has to be
  // fetched before anybody knows.
  std::optional<std::string> digest_of(const std::string& reference) const;

 private:
  // Who has the turn for a name works on it; others wait.
  class Turn {
   public:
    Turn(ImageCache& cache, std::string name);
    Turn(const Turn&) = delete;
    ~Turn();

   private:
    ImageCache& cache_;
    const std::string name_;
  };
  struct Manifest {
    std::filesystem::path layout;
    std::string digest;
    std::string size;
    std::string media_type;
  };

  std::optional<std::string> digest_of(const ImageReference& reference) const;
  std::optional<UnpackedImage> find(const ImageReference& reference) const;
  Started<UnpackedImage> get_local(const ImageReference& reference);
  Started<UnpackedImage> get_remote(const ImageReference& reference);
  Started<void> pull(const ImageReference& reference, const std::filesystem::path& layout) const;
  Started<Manifest> find_local(const ImageReference& reference) const;
  Started<Manifest> find_manifest(const std::filesystem::path& layout,
                                  const ImageReference& reference) const;
  Started<UnpackedImage> unpack(const Manifest& manifest);
  Started<void> unpack_into(const Manifest& manifest, const std::filesystem::path& work) const;
  Started<void> run_tool(const std::string& name, std::vector<std::string> arguments,
                         Duration deadline, const std::string& reason) const;

  std::filesystem::path place_of(const std::string& digest) const;
  std::filesystem::path note_of(const ImageReference& reference) const;
  std::filesystem::path workplace() const;

  const Config config_;
  std::mutex mutex_;  // never held while anything takes long
  std::condition_variable turn_ended_;
  std::set<std::string> taken_;  // the names of turns
};

}  // namespace berth::runtime
