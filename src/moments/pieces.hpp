#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace scalecalc::moments {

/// Entries in a row, in pieces that never move: memory is touched once, however many there are, and
/// what has been read for the last time is there for others.
template <class Entry>
class Pieces {
 public:
  std::size_t size() const {
    return pieces_.empty() ? 0 : (pieces_.size() - 1) * piece + pieces_.back().size();
  }
  Entry& operator[](std::size_t index) { return pieces_[index / piece][index % piece]; }
  const Entry& operator[](std::size_t index) const { return pieces_[index / piece][index % piece]; }
  Entry& front() { return pieces_.front().front(); }
  Entry& back() { return pieces_.back().back(); }

  Entry& push(Entry entry) {
    if (pieces_.empty() || pieces_.back().size() == piece) pieces_.emplace_back().reserve(piece);
    return pieces_.back().emplace_back(std::move(entry));
  }
  /// The last one, taken off.
  Entry pop() {
    Entry entry = std::move(pieces_.back().back());
    pieces_.back().pop_back();
    if (pieces_.back().empty()) pieces_.pop_back();
    return entry;
  }
  /// Calls `read` with each from the first on; none are left.
  template <class Read>
  void drain(const Read& read) {
    for (std::vector<Entry>& entries : pieces_) {
      for (const Entry& entry : entries) read(entry);
      std::vector<Entry>().swap(entries);
    }
    pieces_.clear();
  }

 private:
  static constexpr std::size_t piece = 64;
  std::vector<std::vector<Entry>> pieces_;
};

}  // namespace scalecalc::moments
