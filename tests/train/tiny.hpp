#pragma once

#include <filesystem>
#include <regex>
#include <string>

#include "scalecalc/train.hpp"
#include "temporary_folder.hpp"

namespace scalecalc::testing {

/// A folder of its own, not yet made.
struct Folder {
  TemporaryFolder parent;
  std::filesystem::path path = parent.path / "runs";
};

/// A log as version 0.1 wrote it.
inline std::string without_sums(const std::string& log) {
  return std::regex_replace(log, std::regex(",\"sum\":\"[0-9a-f]{16}\"\\}\n"), "}\n");
}

/// Runs of some milliseconds.
inline TrainOptions tiny(const Folder& folder) {
  TrainOptions options = train_profile("small");
  options.model.width = 8;
  options.model.heads = 2;
  options.model.ffn = 16;
  options.model.sequence = 8;
  options.model.batch = 2;
  options.groups = {"post", "branchnorm"};
  options.depths = {1, 2};
  options.seeds = 2;
  options.steps = 12;
  options.record_every = 5;
  options.validation_batches = 2;
  options.folder = folder.path.string();
  return options;
}

}  // namespace scalecalc::testing
