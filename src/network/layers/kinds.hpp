#pragma once

#include "network/layers/kind.hpp"
#include "network/layers/walk.hpp"

/// All kinds of layer, two lines for each.
namespace scalecalc {

/// What a layer consists of, in the order of the forward pass.
void visit_parts(const Linear& layer, PartVisitor& visitor);
void visit_parts(const ActivationLayer& layer, PartVisitor& visitor);
void visit_parts(const Norm& layer, PartVisitor& visitor);
void visit_parts(const Attention& layer, PartVisitor& visitor);
void visit_parts(const Residual& layer, PartVisitor& visitor);
void visit_parts(const Embedding& layer, PartVisitor& visitor);
void visit_parts(const Gated& layer, PartVisitor& visitor);
void visit_parts(const Dropout& layer, PartVisitor& visitor);
void visit_parts(const Conv2d& layer, PartVisitor& visitor);
void visit_parts(const DualStream& layer, PartVisitor& visitor);
void visit_parts(const Pool& layer, PartVisitor& visitor);
void visit_parts(const Parallel& layer, PartVisitor& visitor);
void visit_parts(const Encoder& layer, PartVisitor& visitor);
void visit_parts(const ClassTokens& layer, PartVisitor& visitor);
void visit_parts(const Experts& layer, PartVisitor& visitor);
void visit_parts(const MaxPool& layer, PartVisitor& visitor);
void visit_parts(const Upsample& layer, PartVisitor& visitor);
void visit_parts(const Concat& layer, PartVisitor& visitor);
void visit_parts(const ConditionLayer& layer, PartVisitor& visitor);
void visit_parts(const Modulation& layer, PartVisitor& visitor);

extern const LayerKind linear_kind, activation_kind, norm_kind, attention_kind, gated_kind,
    dropout_kind, conv2d_kind, conv1d_kind, conv_transpose2d_kind, residual_kind, concat_kind,
    repeat_kind, embedding_kind, pool_kind, max_pool_kind, upsample_kind, encoder_kind;

/// Null behind the last.
constexpr const LayerKind* find_kind(LayerSpec::Type type) {
  using Type = LayerSpec::Type;
  switch (type) {
    case Type::linear: return &linear_kind;
    case Type::activation: return &activation_kind;
    case Type::norm: return &norm_kind;
    case Type::attention: return &attention_kind;
    case Type::gated: return &gated_kind;
    case Type::dropout: return &dropout_kind;
    case Type::conv2d: return &conv2d_kind;
    case Type::conv1d: return &conv1d_kind;
    case Type::conv_transpose2d: return &conv_transpose2d_kind;
    case Type::residual: return &residual_kind;
    case Type::concat: return &concat_kind;
    case Type::repeat: return &repeat_kind;
    case Type::embedding: return &embedding_kind;
    case Type::pool: return &pool_kind;
    case Type::max_pool: return &max_pool_kind;
    case Type::upsample: return &upsample_kind;
    case Type::encoder: return &encoder_kind;
  }
  return nullptr;
}

/// Calls found(type, kind) in the order of LayerSpec::Type.
template <class Found>
void for_each_kind(const Found& found) {
  for (int i = 0;; ++i) {
    const auto type = static_cast<LayerSpec::Type>(i);
    const LayerKind* kind = find_kind(type);
    if (kind == nullptr) return;
    found(type, *kind);
  }
}

}  // namespace scalecalc
