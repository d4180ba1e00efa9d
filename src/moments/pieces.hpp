#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "base/prefetch.hpp"

namespace scalecalc::moments {

/// Entries in a row, in pieces that never move: memory is touched once, however many there are.
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

  /// One more, with its members' own values.
  Entry& add() { return with_room().emplace_back(); }
  Entry& push(Entry&& entry) { return with_room().emplace_back(std::move(entry)); }
  /// The last one that has not been taken yet, where it is; by then all have been added. The one
  /// that comes next is on its way meanwhile.
  Entry& take() {
    const std::size_t at = size() - ++taken_;
    if (at > 0) base::prefetch(&(*this)[at - 1], sizeof(Entry));
    return (*this)[at];
  }
  /// Calls `read` with each from the first on; none are left. Before that, some time apart, `far`
  /// and then `near`, which may ask for what it points at.
  template <class Far, class Near, class Read>
  void drain(const Far& far, const Near& near, const Read& read) {
    constexpr std::size_t steps = 6;
    for (std::vector<Entry>& entries : pieces_) {
      for (std::size_t k = 0; k < entries.size(); ++k) {
        if (k + 2 * steps < entries.size()) far(entries[k + 2 * steps]);
        if (k + steps < entries.size()) near(entries[k + steps]);
        read(entries[k]);
      }
      std::vector<Entry>().swap(entries);
    }
    pieces_.clear();
  }

 private:
  std::vector<Entry>& with_room() {
    if (pieces_.empty() || pieces_.back().size() == piece) pieces_.emplace_back().reserve(piece);
    return pieces_.back();
  }

  static constexpr std::size_t piece = 64;
  std::vector<std::vector<Entry>> pieces_;
  std::size_t taken_ = 0;
};

}  // namespace scalecalc::moments
