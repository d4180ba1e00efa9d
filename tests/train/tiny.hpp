#pragma once

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>

#include "scalecalc/train.hpp"

namespace scalecalc::testing {

/// A folder of its own, not yet made, gone at the end.
struct Folder {
  Folder() {
    static std::atomic<int> count = 0;
    path = std::filesystem::temp_directory_path() /
           ("scalecalc-train-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path path;
};

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
