#pragma once

#include <string>
#include <vector>

#include "codec/notes.h"
#include "model/manifest.h"

// What can be wrong with a value although each of its fields is fine. Paths begin at the value;
// those of documents at the document.
namespace berth::codec {

struct Remark {
  Level level = Level::Error;
  std::string path;
  std::string what;
};

std::vector<Remark> remarks_on(const model::ThresholdRule& rule);
std::vector<Remark> remarks_on(const model::Image& image);
std::vector<Remark> remarks_on(const model::Item& item);
std::vector<Remark> remarks_on(const model::NodeConfig& config);
std::vector<Remark> remarks_on(const model::Node& node);
std::vector<Remark> remarks_on(const model::Band& band);
std::vector<Remark> remarks_on(const model::ScalingPolicy& scaling);
std::vector<Remark> remarks_on(const model::SessionOptions& sessions);

}  // namespace berth::codec
