#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file_writer.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/optimizers.hpp"
#include "train/line_sums.hpp"

/// What an experiment leaves on the disk so that nothing is lost: every function returns only when
/// the system has it.
namespace scalecalc::train_room {

inline constexpr char kDamaged[] = "the log is damaged";
inline constexpr char kWeightsEnding[] = ".weights";
inline constexpr std::uint64_t kMostLogBytes = std::uint64_t{1} << 30;

/// A text file that only grows, by whole lines with their checksums (line_sums.hpp), which lines()
/// and append() leave out. It is locked: of two processes the second is told.
class Log {
 public:
  /// Opens or makes the file. A last line without an end, as a kill leaves it, is cut off. Throws
  /// Error(fault) for what cannot be opened, Error(usage) where another process has it,
  /// Error(input) for what is not a regular file and for a line that is not as it was written.
  explicit Log(std::string path);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// Those that were there when it was opened.
  const std::vector<std::string>& lines() const { return lines_; }
  const std::string& path() const { return path_; }
  /// Whether it is of an earlier version, which wrote none.
  bool is_without_sums() const { return sums_.are_missing(); }
  /// Throws Error(fault) with the system's reason.
  void append(const std::string& line);
  /// Throws Error(input) that the line, counted from 0, is damaged.
  [[noreturn]] void damaged(std::size_t line, const std::string& why) const;

 private:
  std::string path_;
  std::vector<std::string> lines_;
  LineSums sums_;
  int descriptor_ = -1;
};

/// Where a run stands between two steps.
struct Progress {
  std::int64_t step = 0;
  double loss_sum = 0;  ///< since the last record
  std::int64_t loss_count = 0;
};

/// Writes the trainer's state, atomically: the file is the old one or the new one. `run` tells
/// experiments apart. Throws Error(fault).
void save_checkpoint(const std::string& path, std::uint64_t run, const Progress& progress,
                     const Trainer<float>& trainer);
/// False when there is no such file. Throws Error(input) for a damaged one, or one of another run.
bool load_checkpoint(const std::string& path, std::uint64_t run, Progress& progress,
                     Trainer<float>& trainer);
/// The weights alone, likewise.
void save_weights(const std::string& path, std::uint64_t run, const Passes<float>& passes);
/// Throws Error(input) where there is no such file, for a damaged one, and one of another run or
/// other parameters.
void load_weights(const std::string& path, std::uint64_t run, Passes<float>& passes);
/// With what a killed save has left.
void remove_checkpoint(const std::string& path);
/// What a write into an experiment's folder that fails says.
inline base::WriteMessages experiment_messages(const char* what) {
  return {what, "", "give -o a folder that can be written to and has enough space"};
}

/// The folder, made when it is not there. Throws Error(fault).
void make_folder(const std::string& path);

}  // namespace scalecalc::train_room
