#pragma once

#include <string>

#include "model/manifest.h"
#include "transcript.h"

namespace berth::scenarios {

// Plans on clusters that a transcript describes.
//
//   cluster                       documents, in YAML or one per line in short form:
//     node n1 {capacity: {...}}     kind, name and spec, for node, item and config;
//     run {item: a, priority: 5}    a deployment of one run request;
//                                   an indented line continues the one above
//   also                          more documents beside those there are
//   plan [--replan | --rebalance --full] [--nodes]
//   why item/subject/index [--replan | --rebalance --full]
class PlacementScenario {
 public:
  std::string answer(const Step& step);

 private:
  std::string read(const std::string& documents);
  std::string plan(const Step& step) const;
  std::string why(const Step& step) const;

  std::string documents_;
  model::Manifest manifest_;
};

}  // namespace berth::scenarios
