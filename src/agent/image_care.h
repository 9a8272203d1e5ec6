#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "agent/fetched_image.h"
#include "agent/wanted.h"
#include "base/time.h"

namespace berth::agent {

// When it is time to look for images that nobody needs any more: when one has been fetched, for
// only then the disk fills, or could not be; and a while after anything has changed, when what ran
// is gone. A node that never had an image is left in peace.
class ImageCare {
 public:
  // Something of an earlier life may be there.
  void found() { has_images_ = is_due_ = true; }

  void fetched(Time now) {
    has_images_ = is_due_ = true;
    changed(now);
  }

  // For want of room perhaps.
  void failed() { is_due_ = has_images_; }

  // What is wanted is no longer the same.
  void changed(Time now) {
    if (has_images_ && !later_) later_ = now + kWhile;
  }

  bool take_due(Time now) {
    if (later_ && *later_ <= now) {
      later_.reset();
      is_due_ = true;
    }
    return std::exchange(is_due_, false);
  }

  std::optional<Time> next() const { return later_; }

  static std::set<std::string> wanted_images(const Wanted& wanted) {
    std::set<std::string> images;
    for (const auto& [key, record] : wanted.records()) {
      if (const std::string* image = fetched_image_of(record.spec)) images.insert(*image);
      if (!record.successor) continue;
      if (const auto* image = fetched_image_of(record.successor->spec)) images.insert(*image);
    }
    return images;
  }

 private:
  static constexpr Duration kWhile = 10min;

  bool has_images_ = false;  // in this life of the agent
  bool is_due_ = false;
  std::optional<Time> later_;
};

}  // namespace berth::agent
