#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "scalecalc/gaussian.hpp"

namespace scalecalc::moments {

/// Moments of pairs that have been found, by what they are of: a hash table in one piece of memory,
/// as a network of many positions asks for thousands at each layer. When it is full it begins anew.
class KnownPairs {
 public:
  struct Place {
    Moment moment = Moment::cross;
    double variance = 0, correlation = 0;
    bool operator==(const Place&) const = default;
  };

  /// Nothing where it has not been found.
  const Estimate* find(const Place& place) const {
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[slot_of(place)];
    return slot.used ? &slot.found : nullptr;
  }
  void add(const Place& place, const Estimate& found) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[slot_of(place)];
    if (!slot.used) ++used_;
    slot = {place, found, true};
  }

 private:
  static constexpr std::size_t fewest = 1 << 8, most = 1 << 16;
  struct Slot {
    Place place;
    Estimate found;
    bool used = false;
  };

  std::size_t slot_of(const Place& place) const {
    const std::hash<double> hash;
    std::size_t mixed = hash(place.variance) * 31 + hash(place.correlation);
    mixed = mixed * 31 + static_cast<std::size_t>(place.moment);
    mixed ^= mixed >> 32;
    mixed *= 0x9e3779b97f4a7c15;
    std::size_t at = (mixed >> 40) & (slots_.size() - 1);
    while (slots_[at].used && slots_[at].place != place) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    const std::vector<Slot> before = std::move(slots_);
    slots_.assign(before.empty() ? fewest : std::min(4 * before.size(), most), {});
    used_ = 0;
    if (before.size() == most) return;
    for (const Slot& slot : before)
      if (slot.used) {
        slots_[slot_of(slot.place)] = slot;
        ++used_;
      }
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace scalecalc::moments
