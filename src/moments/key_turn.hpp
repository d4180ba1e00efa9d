#pragma once

namespace scalecalc::moments {

/// Where all overlaps of keys are turned by their distance, (t - s) - (u - s'), times theta, with
/// `share` of the features.
struct KeyTurn {
  double theta = 0, share = 1;
  friend bool operator==(const KeyTurn&, const KeyTurn&) = default;
};

}  // namespace scalecalc::moments
