#pragma once

#include <string>

#include "network/layers/walk.hpp"

/// The numbers of a network that a size may change: what parameters start with, and multipliers.
namespace scalecalc {

/// How a number follows that of a base of another size.
enum class Follows {
  parameter,   ///< what a parameter starts with: its std, or its constant
  multiplier,  ///< of a matrix: stays the base's
  table,       ///< of a head that is the table of words: the std of the table
  skip,        ///< of a residual: stays the base's
  branch,      ///< the multiplier of a branch
  scores,      ///< the scale of attention's scores
  tied_head    ///< the multiplier of a head that is the table of words
};

/// Calls found(key, follows, number) for each number of a layer. Keys of parameters are their
/// paths; those of other numbers have a blank, so that none is a path too. Formulas, which may not
/// stand for the number that is set, are taken away.
template <class Found>
class NumbersOfLayer {
 public:
  explicit NumbersOfLayer(Found& found) : found_(found) {}

  void operator()(Linear& layer) {
    if (layer.tied)
      found_(layer.path + ".weight std", Follows::table, layer.std);
    else
      found_(layer.path + ".weight", Follows::parameter, layer.std);
    if (layer.bias) found_(layer.path + ".bias", Follows::parameter, layer.bias_std);
    found_(layer.path + ".weight multiplier", layer.tied ? Follows::tied_head : Follows::multiplier,
           layer.multiplier);
    layer.variance_formula.reset();
  }
  void operator()(Embedding& layer) {
    found_(layer.path + ".weight", Follows::parameter, layer.std);
    found_(layer.path + ".position", Follows::parameter, layer.position_std);
    found_(layer.path + ".weight multiplier", Follows::multiplier, layer.multiplier);
  }
  void operator()(ClassTokens& layer) {
    found_(layer.path + ".class", Follows::parameter, layer.std);
    found_(layer.path + ".position", Follows::parameter, layer.position_std);
  }
  void operator()(ConditionLayer& layer) {
    found_(layer.path + ".class", Follows::parameter, layer.class_std);
  }
  void operator()(Residual& layer) {
    found_(layer.path + " skip", Follows::skip, layer.skip);
    if (layer.trainable_branch)
      found_(layer.path + ".scale", Follows::parameter, layer.branch);
    else
      found_(layer.path + " branch", Follows::branch, layer.branch);
    layer.skip_formula.reset();
    layer.branch_formula.reset();
  }
  void operator()(Attention& layer) {
    found_(layer.path + " scores", Follows::scores, layer.scale);
    if (layer.relative.is_own)
      found_(layer.path + ".relative_bias", Follows::parameter, layer.relative.std);
    layer.scale_formula.reset();
  }
  template <class Op>
  void operator()(Op&) {}

 private:
  Found& found_;
};

/// Of all layers, which may be changed.
template <class Found>
void for_each_number(Network& network, Found found) {
  change_each_layer(network.layers, NumbersOfLayer<Found>(found));
}

}  // namespace scalecalc
