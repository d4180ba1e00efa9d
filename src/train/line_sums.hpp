#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace scalecalc::train_room {

/// The checksums of a log: each line ends in `,"sum":"..."}`, 16 hexadecimal digits of the hash of
/// the line without it that goes on from the line before. A changed character, a line that is
/// missing and lines in another order are noticed. Logs of version 0.1 have none and stay without.
class LineSums {
 public:
  /// The line as it was given to add(), line after line from the first; nothing where its checksum
  /// is not the right one.
  std::optional<std::string> take(const std::string& line);
  /// The line of a log as it is written, behind those that were taken or added.
  std::string add(const std::string& line);
  /// Whether lines were taken that have no checksums.
  bool are_missing() const { return !is_first_ && !has_sums_; }

 private:
  std::uint64_t sum_ = 0;
  bool is_first_ = true, has_sums_ = true;
};

/// What is said of a log without checksums.
inline constexpr char kNoSums[] =
    "logs of an earlier version have no checksums: a digit changed in them is not noticed";

}  // namespace scalecalc::train_room
