#include "runtime/container/image_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "codec/json_parts.h"
#include "codec/json_reader.h"
#include "runtime/files/directory_tree.h"
#include "runtime/files/path_beneath.h"
#include "runtime/files/run_directory.h"
#include "runtime/probing/platform.h"
#include "runtime/problem.h"
#include "runtime/shim/files.h"
#include "runtime/supervision/command.h"

namespace berth::runtime {
namespace {

constexpr std::size_t kJsonBytesMax = 4 << 20;
constexpr Duration kPullTime = 10min;
constexpr Duration kUnpackTime = 5min;
constexpr TreeLimits kWholeImage{.bytes = 0, .entries = 10'000'000};
constexpr std::string_view kRemote = "docker://";
constexpr std::string_view kDigest = "@sha256:";
constexpr std::string_view kTagAnnotation = "org.opencontainers.image.ref.name";
constexpr std::string_view kOwnTag = "image";

Started<codec::Tree> read_tree(const std::filesystem::path& path) {
  const auto bytes = shim::read_file(AT_FDCWD, path.c_str(), kJsonBytesMax);
  if (!bytes) return problem("ImageInvalid", fmt::format("cannot read {}", path.string()));
  auto tree = codec::read_json(*bytes);
  if (!tree) {
    return problem("ImageInvalid", fmt::format("{}: {}", path.string(), tree.error().message));
  }
  return std::move(*tree);
}

std::filesystem::path blob(const std::filesystem::path& layout, const std::string& digest) {
  return layout / "blobs" / "sha256" / digest.substr(7);
}

bool is_for_this_machine(const codec::Tree& manifest) {
  const model::Platform machine = platform_of_machine();
  return codec::json::text_at(manifest, {"platform", "os"}) == machine.os &&
         codec::json::text_at(manifest, {"platform", "architecture"}) == machine.arch;
}

bool is_index(const codec::Tree& manifest) {
  const std::string type = codec::json::text_at(manifest, {"mediaType"});
  return type.find("index") != std::string::npos || type.find("list") != std::string::npos;
}

// The one that the reference means; nullptr: there is none.
const codec::Tree* choose(const codec::Tree& index, const ImageReference& reference) {
  const codec::Tree* manifests = codec::json::member(index, "manifests");
  if (manifests == nullptr) return nullptr;
  for (const codec::Tree& manifest : manifests->children) {
    const bool is_tagged =
        codec::json::text_at(manifest, {"annotations", kTagAnnotation}) == reference.tag;
    const bool is_pinned = codec::json::text_at(manifest, {"digest"}) == reference.digest;
    if (reference.digest.empty() ? is_tagged : is_pinned) return &manifest;
  }
  const bool takes_any = reference.tag.empty() && reference.digest.empty();
  return takes_any && manifests->children.size() == 1 ? &manifests->children.front() : nullptr;
}

std::map<std::string, std::string> to_variables(const codec::Tree& list) {
  std::map<std::string, std::string> variables;
  for (const codec::Tree& entry : list.children) {
    const std::size_t equals = entry.text.find('=');
    if (equals != std::string::npos) {
      variables[entry.text.substr(0, equals)] = entry.text.substr(equals + 1);
    }
  }
  return variables;
}

Started<UnpackedImage> load(const std::filesystem::path& place) {
  const Started<codec::Tree> config = read_tree(place / "config.json");
  if (!config) return tl::unexpected(config.error());
  UnpackedImage image{.rootfs = place / "rootfs"};
  const codec::Tree* process = codec::json::member(*config, "process");
  if (process == nullptr) return problem("ImageInvalid", "the image does not say what to run");
  if (const codec::Tree* args = codec::json::member(*process, "args")) {
    for (const codec::Tree& arg : args->children) image.args.push_back(arg.text);
  }
  if (const codec::Tree* env = codec::json::member(*process, "env")) image.env = to_variables(*env);
  image.directory = codec::json::text_at(*process, {"cwd"});
  return image;
}

// What is unpacked must not be found half written after a power cut.
void sync(const std::filesystem::path& directory) {
  const shim::Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.is_open()) ::syncfs(fd.get());
}

// A directory that is gone in the end, whatever happens.
class Workplace {
 public:
  explicit Workplace(std::filesystem::path path) : path_(std::move(path)) {
    clear();
    std::error_code ignored;
    std::filesystem::create_directories(path_, ignored);
  }
  Workplace(const Workplace&) = delete;
  ~Workplace() { clear(); }

 private:
  void clear() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::filesystem::path path_;
};

// Who looks for what has long been unused goes by it.
void mark_as_used(const std::filesystem::path& place) {
  ::utimensat(AT_FDCWD, place.c_str(), nullptr, 0);
}

}  // namespace

Result<ImageReference> parse_image_reference(const std::string& reference) {
  ImageReference parsed{.name = reference};
  if (const std::size_t at = reference.rfind(kDigest); at != std::string::npos) {
    parsed.digest = reference.substr(at + 1);
    parsed.name = reference.substr(0, at);
    if (!is_digest(parsed.digest)) return invalid_input("\"" + reference + "\" has no digest");
  }
  parsed.is_remote = reference.starts_with(kRemote);
  if (parsed.is_remote) {
    // A name with a tag and a digest is none that skopeo takes; the digest says more.
    const std::size_t colon = parsed.name.rfind(':');
    const bool has_tag = colon > parsed.name.rfind('/') && colon != std::string::npos;
    if (has_tag && !parsed.digest.empty()) parsed.name.resize(colon);
    if (!parsed.digest.empty()) parsed.name += "@" + parsed.digest;
    return parsed;
  }
  const std::size_t slash = parsed.name.rfind('/');
  const std::size_t colon = parsed.name.rfind(':');
  if (colon != std::string::npos && (slash == std::string::npos || colon > slash)) {
    parsed.tag = parsed.name.substr(colon + 1);
    parsed.name.resize(colon);
  }
  if (parsed.name.empty()) return invalid_input("\"" + reference + "\" names no image");
  return parsed;
}

std::filesystem::path image_directory(const std::filesystem::path& state_dir) {
  return state_dir / "images";
}

std::filesystem::path place_of_image(const std::filesystem::path& images,
                                     const std::string& digest) {
  return images / ("sha256-" + digest.substr(7));
}

std::filesystem::path size_file_of_image(const std::filesystem::path& images,
                                         const std::string& digest) {
  return images / ("sha256-" + digest.substr(7) + ".size");
}

Bytes size_of_image(const std::filesystem::path& images, const std::string& digest) {
  const auto file = size_file_of_image(images, digest);
  const auto text = shim::read_file(AT_FDCWD, file.c_str(), 64);
  const auto number = text ? shim::parse_number(*text) : std::nullopt;
  if (number) return Bytes(static_cast<std::int64_t>(*number));
  const Bytes size = look_at_tree(place_of_image(images, digest), kWholeImage).size;
  static_cast<void>(
      shim::write_file(AT_FDCWD, file.c_str(), std::to_string(size.count()), shim::Durable::No));
  return size;
}

ImageCache::ImageCache(Config config) : config_(std::move(config)) {
  std::error_code ignored;
  std::filesystem::create_directories(config_.directory / "pulled", ignored);
  std::filesystem::permissions(config_.directory, std::filesystem::perms::owner_all, ignored);
  if (!config_.owner.empty()) std::filesystem::remove_all(workplace(), ignored);
}

// --- Turns ---------------------------------------------------------------------------------------

ImageCache::Turn::Turn(ImageCache& cache, std::string name)
    : cache_(cache), name_(std::move(name)) {
  std::unique_lock lock(cache_.mutex_);
  cache_.turn_ended_.wait(lock, [&] { return !cache_.taken_.contains(name_); });
  cache_.taken_.insert(name_);
}

ImageCache::Turn::~Turn() {
  const std::lock_guard lock(cache_.mutex_);
  cache_.taken_.erase(name_);
  cache_.turn_ended_.notify_all();
}

// --- What is there -------------------------------------------------------------------------------

std::optional<std::string> ImageCache::digest_of(const std::string& reference) const {
  const auto parsed = parse_image_reference(reference);
  return parsed ? digest_of(*parsed) : std::nullopt;
}

std::optional<std::string> ImageCache::digest_of(const ImageReference& reference) const {
  if (!reference.is_remote) {
    auto manifest = find_local(reference);
    return manifest ? std::optional(std::move(manifest->digest)) : std::nullopt;
  }
  auto digest = shim::read_file(AT_FDCWD, note_of(reference).c_str(), 256);
  return digest && is_digest(*digest) ? digest : std::nullopt;
}

std::optional<UnpackedImage> ImageCache::find(const std::string& reference) const {
  const auto parsed = parse_image_reference(reference);
  return parsed ? find(*parsed) : std::nullopt;
}

std::optional<UnpackedImage> ImageCache::find(const ImageReference& reference) const {
  const auto digest = digest_of(reference);
  if (!digest) return std::nullopt;
  mark_as_used(place_of(*digest));
  auto image = load(place_of(*digest));
  return image ? std::optional(*std::move(image)) : std::nullopt;
}

// --- Getting it ----------------------------------------------------------------------------------

Started<UnpackedImage> ImageCache::get(const std::string& reference) {
  const auto parsed = parse_image_reference(reference);
  if (!parsed) return problem("ImageInvalid", parsed.error().message);
  if (auto image = find(*parsed)) return *std::move(image);
  const Turn turn(*this, parsed->name);  // whatever its tag, if a digest says what is meant
  if (auto image = find(*parsed)) return *std::move(image);  // by whoever had the turn before
  return parsed->is_remote ? get_remote(*parsed) : get_local(*parsed);
}

Started<UnpackedImage> ImageCache::get_local(const ImageReference& reference) {
  const auto manifest = find_local(reference);
  if (!manifest) return tl::unexpected(manifest.error());
  return unpack(*manifest);
}

Started<ImageCache::Manifest> ImageCache::find_local(const ImageReference& reference) const {
  const auto layout = path_beneath(config_.layout_dir, reference.name);
  if (!layout) return problem("ImageInvalid", layout.error().message);
  return find_manifest(*layout, reference);
}

// The layout is kept until it is unpacked, and then only what its reference meant.
Started<UnpackedImage> ImageCache::get_remote(const ImageReference& reference) {
  const auto work = workplace() / ("pull-" + file_name_of(std::string_view(reference.name)));
  const Workplace place(work);
  const auto pulled = pull(reference, work / "layout");
  if (!pulled) return tl::unexpected(pulled.error());
  const auto manifest = find_manifest(work / "layout", {.tag = std::string(kOwnTag)});
  if (!manifest) return tl::unexpected(manifest.error());
  auto image = unpack(*manifest);
  if (image) {
    static_cast<void>(shim::write_file(AT_FDCWD, note_of(reference).c_str(), manifest->digest,
                                       shim::Durable::Yes));
  }
  return image;
}

Started<void> ImageCache::pull(const ImageReference& reference,
                               const std::filesystem::path& layout) const {
  return run_tool(
      "skopeo",
      {"copy", "--quiet", reference.name, fmt::format("oci:{}:{}", layout.string(), kOwnTag)},
      kPullTime, "ImagePullFailed");
}

Started<void> ImageCache::run_tool(const std::string& name, std::vector<std::string> arguments,
                                   Duration deadline, const std::string& reason) const {
  std::vector<std::string> argv{find_program(name)};
  if (argv.front().empty()) return problem("RuntimeMissing", name + " is not installed");
  for (std::string& argument : arguments) argv.push_back(std::move(argument));
  const auto outcome = run_command(
      argv,
      CommandLimits{.deadline = deadline, .interrupt = config_.interrupt, .dies_with_us = true});
  if (!outcome) return problem(reason, outcome.error().message);
  if (outcome->code == 0) return {};
  const std::string why = last_words(outcome->output);
  const bool is_full = why.find("no space left on device") != std::string::npos;
  return problem(is_full ? "StorageFailed" : reason, fmt::format("{}: {}", name, why));
}

Started<ImageCache::Manifest> ImageCache::find_manifest(const std::filesystem::path& layout,
                                                        const ImageReference& reference) const {
  if (::access((layout / "index.json").c_str(), R_OK) != 0) {
    return problem("ImageNotFound", fmt::format("there is no OCI layout at {}", layout.string()));
  }
  const auto index = read_tree(layout / "index.json");
  if (!index) return tl::unexpected(index.error());
  const codec::Tree* chosen = choose(*index, reference);
  if (chosen == nullptr) {
    const std::string& wanted = reference.digest.empty() ? reference.tag : reference.digest;
    return problem("ImageNotFound", fmt::format("{} has no image {}", layout.string(), wanted));
  }
  // An image for several platforms is an index of its own.
  Started<codec::Tree> inner = codec::Tree{};
  if (is_index(*chosen)) {
    const std::string digest = codec::json::text_at(*chosen, {"digest"});
    if (!is_digest(digest)) return problem("ImageInvalid", "a digest that is none");
    inner = read_tree(blob(layout, digest));
    if (!inner) return tl::unexpected(inner.error());
    chosen = nullptr;
    if (const codec::Tree* manifests = codec::json::member(*inner, "manifests")) {
      const auto at =
          std::find_if(manifests->children.begin(), manifests->children.end(), is_for_this_machine);
      if (at != manifests->children.end()) chosen = &*at;
    }
    if (chosen == nullptr) return problem("ImageNotFound", "there is none for this machine");
  }
  Manifest manifest{layout, codec::json::text_at(*chosen, {"digest"}),
                    codec::json::text_at(*chosen, {"size"}),
                    codec::json::text_at(*chosen, {"mediaType"})};
  if (!is_digest(manifest.digest)) return problem("ImageInvalid", "a digest that is none");
  return manifest;
}

// Two references may mean the same.
Started<UnpackedImage> ImageCache::unpack(const Manifest& manifest) {
  const Turn turn(*this, manifest.digest);
  const std::filesystem::path place = place_of(manifest.digest);
  if (::access((place / "config.json").c_str(), R_OK) == 0) return load(place);
  const std::filesystem::path work = workplace() / ("unpack-" + manifest.digest.substr(7));
  const Workplace clean(work);
  const auto unpacked = unpack_into(manifest, work);
  if (!unpacked) return tl::unexpected(unpacked.error());
  const auto image = load(work / "bundle");  // before it counts as good
  if (!image) return image;
  sync(work);
  std::error_code error;
  std::filesystem::rename(work / "bundle", place, error);
  // Another cache may have been faster: what it has is the same.
  static_cast<void>(size_of_image(config_.directory, manifest.digest));
  mark_as_used(place);
  return load(place);
}

// Through a layout of our own that holds just this manifest: whatever happens to tags meanwhile, it
// is this digest that is unpacked, and umoci checks all that it reads against it.
Started<void> ImageCache::unpack_into(const Manifest& manifest,
                                      const std::filesystem::path& work) const {
  const auto layout = work / "layout";
  std::error_code error;
  std::filesystem::create_directory(layout, error);
  std::filesystem::create_directory_symlink(std::filesystem::absolute(manifest.layout) / "blobs",
                                            layout / "blobs", error);
  const std::string index = codec::json::object(
      {{"schemaVersion", "2"},
       {"manifests",
        codec::json::list({codec::json::object(
            {{"mediaType", codec::json::text(manifest.media_type)},
             {"digest", codec::json::text(manifest.digest)},
             {"size", manifest.size},
             {"annotations",
              codec::json::object({{kTagAnnotation, codec::json::text(kOwnTag)}})}})})}});
  const bool written =
      shim::write_file(AT_FDCWD, (layout / "index.json").c_str(), index, shim::Durable::No) &&
      shim::write_file(AT_FDCWD, (layout / "oci-layout").c_str(),
                       R"({"imageLayoutVersion":"1.0.0"})", shim::Durable::No);
  if (error || !written) return problem("StorageFailed", "cannot write to " + work.string());
  return run_tool("umoci",
                  {"unpack", "--image", fmt::format("{}:{}", layout.string(), kOwnTag),
                   (work / "bundle").string()},
                  kUnpackTime, "ImageInvalid");
}

std::filesystem::path ImageCache::place_of(const std::string& digest) const {
  return place_of_image(config_.directory, digest);
}

std::filesystem::path ImageCache::note_of(const ImageReference& reference) const {
  return config_.directory / "pulled" / file_name_of(std::string_view(reference.name));
}

std::filesystem::path ImageCache::workplace() const {
  return config_.directory / (".work-" + config_.owner);
}

}  // namespace berth::runtime
