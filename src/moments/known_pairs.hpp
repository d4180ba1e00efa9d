#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "scalecalc/gaussian.hpp"

namespace scalecalc::moments {

/// Moments of pairs that have been found, by what they are of: a hash table in one piece of memory,
/// as a network of many positions asks for thousands at each layer. When it is full it grows if any
/// has been asked for again, and begins anew if none has.
class KnownPairs {
 public:
  struct Place {
    Moment moment = Moment::cross;
    double variance = 0, correlation = 0;
    bool operator==(const Place&) const = default;
  };

  /// Nothing where it has not been found.
  const Estimate* find(const Place& place) {
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[slot_of(place)];
    if (!slot.used) return nullptr;
    asked_again_ = true;
    return &slot.found;
  }
  void add(const Place& place, const Estimate& found) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[slot_of(place)];
    if (!slot.used) ++used_;
    slot = {place, found, true};
  }

 private:
  static constexpr std::size_t fewest = 1 << 11, most = 1 << 16;
  struct Slot {
    Place place;
    Estimate found;
    bool used = false;
  };

  std::size_t slot_of(const Place& place) const {
    std::uint64_t mixed = std::bit_cast<std::uint64_t>(place.variance) * 31 +
                          std::bit_cast<std::uint64_t>(place.correlation);
    mixed = mixed * 31 + static_cast<std::uint64_t>(place.moment);
    mixed ^= mixed >> 32;
    mixed *= 0x9e3779b97f4a7c15;
    std::size_t at = (mixed >> 40) & (slots_.size() - 1);
    while (slots_[at].used && slots_[at].place != place) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    const bool grows = slots_.empty() || (asked_again_ && slots_.size() < most);
    used_ = 0;
    asked_again_ = false;
    if (!grows) return std::fill(slots_.begin(), slots_.end(), Slot{});
    const std::vector<Slot> before = std::move(slots_);
    slots_.assign(std::max(4 * before.size(), fewest), {});
    for (const Slot& slot : before)
      if (slot.used) {
        slots_[slot_of(slot.place)] = slot;
        ++used_;
      }
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
  bool asked_again_ = false;  ///< since the table was as large as it is
};

}  // namespace scalecalc::moments
