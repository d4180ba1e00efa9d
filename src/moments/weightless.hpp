#pragma once

#include <algorithm>
#include <variant>
#include <vector>

#include "scalecalc/network.hpp"

/// Which branches hand on a part of their input that no weights have been drawn for
/// (docs/theory/layers.md#kept-input).
namespace scalecalc::moments {

/// A layer that changes nothing: what layers know of their neighbours they know through it.
inline bool is_identity(const Layer& layer) {
  const auto* activation = std::get_if<ActivationLayer>(&layer.op);
  const auto* dropout = std::get_if<Dropout>(&layer.op);
  return (activation != nullptr && activation->function == "identity") ||
         (dropout != nullptr && dropout->rate == 0);
}
/// A layer that is a function of each entry.
inline bool is_pointwise(const Layer& layer) {
  const auto* norm = std::get_if<Norm>(&layer.op);
  return std::holds_alternative<ActivationLayer>(layer.op) ||
         (norm != nullptr && norm->kind == NormKind::dyt);
}
/// Whether it asks what an activation right before it was given, or what it begins with does.
inline bool continues_chain(const Layer& layer) {
  if (const auto* concat = std::get_if<Concat>(&layer.op))
    return !concat->body.empty() && std::holds_alternative<MaxPool>(concat->body.front().op);
  return is_pointwise(layer) || std::holds_alternative<MaxPool>(layer.op);
}

inline bool draws_weights(const Layer& layer) {
  return std::holds_alternative<Linear>(layer.op) || std::holds_alternative<Attention>(layer.op) ||
         std::holds_alternative<Conv2d>(layer.op) || std::holds_alternative<Gated>(layer.op) ||
         std::holds_alternative<Embedding>(layer.op) || std::holds_alternative<Experts>(layer.op);
}

/// Of one tap at every position: its rule is that of a linear.
inline bool has_one_tap(const Conv2d& layer) {
  return layer.kernel == 1 && layer.stride == 1 && layer.padding == 0 && layer.groups == 1 &&
         !layer.transposed;
}

/// Whether it multiplies every token by one matrix.
inline bool is_matrix(const Layer& layer) {
  const auto* conv = std::get_if<Conv2d>(&layer.op);
  return std::holds_alternative<Linear>(layer.op) || (conv != nullptr && has_one_tap(*conv));
}

/// Whether it drops whole samples.
inline bool is_drop_path(const Layer& layer) {
  const auto* dropout = std::get_if<Dropout>(&layer.op);
  return dropout != nullptr && dropout->per_sample;
}

/// Whether what a gradient has along other tokens' signals is followed through it.
inline bool keeps_along_tokens(const Layer& layer) {
  const auto* dropout = std::get_if<Dropout>(&layer.op);
  return std::holds_alternative<Residual>(layer.op) || std::holds_alternative<Norm>(layer.op) ||
         std::holds_alternative<Attention>(layer.op) || std::holds_alternative<Linear>(layer.op) ||
         std::holds_alternative<Gated>(layer.op) ||
         std::holds_alternative<ActivationLayer>(layer.op) ||
         std::holds_alternative<Encoder>(layer.op) || (dropout != nullptr && !dropout->per_sample);
}

/// Whether W^T ... W of these layers may bring a gradient back along x: a norm takes it out.
inline bool may_return_along(const std::vector<Layer>& layers) {
  if (layers.empty()) return false;
  const auto* norm = std::get_if<Norm>(&layers.front().op);
  return norm == nullptr || norm->kind == NormKind::dyt;
}

/// Whether they may bring one back along other tokens' x, of which a norm takes out nothing.
inline bool may_return_others(const std::vector<Layer>& layers) {
  return std::any_of(layers.begin(), layers.end(), [](const Layer& layer) {
    const auto* attention = std::get_if<Attention>(&layer.op);
    return attention != nullptr && !attention->over_memory;
  });
}

/// Whether what samples differ by is known behind it.
inline bool keeps_dropped(const Layer& layer) {
  const auto* norm = std::get_if<Norm>(&layer.op);
  return std::holds_alternative<Residual>(layer.op) ||
         (norm != nullptr && norm->kind != NormKind::dyt) || is_matrix(layer) ||
         std::holds_alternative<Attention>(layer.op) || is_drop_path(layer);
}

/// Whether it says what is not known of the distance of two tokens beside what is of both.
inline bool keeps_apart(const Layer& layer) {
  return is_matrix(layer) || std::holds_alternative<Norm>(layer.op) ||
         std::holds_alternative<ActivationLayer>(layer.op) ||
         std::holds_alternative<Gated>(layer.op) || std::holds_alternative<Attention>(layer.op) ||
         std::holds_alternative<Residual>(layer.op) || std::holds_alternative<Dropout>(layer.op) ||
         std::holds_alternative<Experts>(layer.op);
}

/// Whether it hands on how squares are shared between positions (image_profile.hpp).
inline bool keeps_profile(const Layer& layer) {
  return std::holds_alternative<Conv2d>(layer.op) || std::holds_alternative<Linear>(layer.op) ||
         std::holds_alternative<ActivationLayer>(layer.op) ||
         std::holds_alternative<Norm>(layer.op) || std::holds_alternative<Residual>(layer.op) ||
         std::holds_alternative<Dropout>(layer.op) || std::holds_alternative<MaxPool>(layer.op) ||
         std::holds_alternative<Concat>(layer.op) || std::holds_alternative<Upsample>(layer.op);
}

/// Whether a branch hands on a part of its input that no weights have been drawn for, so that E[x
/// F] is not 0.
inline bool keeps_input(const std::vector<Layer>& layers) {
  return std::none_of(layers.begin(), layers.end(), [](const Layer& layer) {
    if (const auto* parallel = std::get_if<Parallel>(&layer.op))
      return std::none_of(parallel->branches.begin(), parallel->branches.end(), keeps_input);
    return draws_weights(layer);
  });
}

/// Whether E x F is followed through these layers.
inline bool follows_input(const std::vector<Layer>& layers) {
  return std::all_of(layers.begin(), layers.end(), [](const Layer& layer) {
    if (const auto* residual = std::get_if<Residual>(&layer.op))
      return follows_input(residual->body) && residual->shortcut.empty();
    return draws_weights(layer) || std::holds_alternative<Norm>(layer.op) ||
           std::holds_alternative<ActivationLayer>(layer.op) ||
           std::holds_alternative<Dropout>(layer.op);
  });
}
inline bool follows_input(const Residual& layer) {
  return layer.shortcut.empty() && keeps_input(layer.body) && follows_input(layer.body);
}

}  // namespace scalecalc::moments
