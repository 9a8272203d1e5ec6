#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/component/medium.h"

namespace berth::runtime {

// InstallFailed: "cannot WHAT PATH", and the cause from errno.
Started<void> install_failed(std::string_view what, const std::filesystem::path& path);

// A directory with the slots `a` and `b` and the link `active` to the one in use, which is replaced
// as a whole: a bootloader or an init that follows it finds a complete system at any moment.
class SlotDirectory : public Medium {
 public:
  // Relative references to what is installed begin at `image_dir`.
  SlotDirectory(std::filesystem::path directory, std::filesystem::path image_dir)
      : directory_(std::move(directory)), image_dir_(std::move(image_dir)) {}

  Started<std::string> identify(const model::InstanceSpec& spec, const Patience& patience) override;
  Started<void> activate(const Job& job) override;
  RolledBack roll_back(const SlotState& state) override;
  void discard(Slot slot) override;
  Result<void> restore(std::optional<Slot> active) override;
  std::optional<Slot> find_active() const override;
  std::string path_of(Slot slot) const override { return path(slot).string(); }

 protected:
  // The reference in the image that the specification chooses; nullptr: it is of another form.
  virtual const std::string* reference_of(const model::InstanceSpec& spec) const = 0;
  // ImageInvalid, ImageNotFound.
  Started<Source> source_of(const model::InstanceSpec& spec) const;

  std::filesystem::path path(Slot slot) const;
  Started<void> clear(Slot slot);
  Result<void> sync() const;  // the entries of the directory itself

 private:
  Started<Source> parse(const model::InstanceSpec& spec) const;
  Result<void> point_to(Slot slot);
  Result<void> point_nowhere();

  const std::filesystem::path directory_;
  const std::filesystem::path image_dir_;
};

}  // namespace berth::runtime
