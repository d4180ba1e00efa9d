#include <algorithm>
#include <functional>

#include "network/layer_spec.hpp"
#include "scalecalc/model_fields.hpp"

/// Which fields of the model the layers of a list read: those that a layer leaves to the model, and
/// the symbols in its formulas.
namespace scalecalc {
namespace {

using LayerType = LayerSpec::Type;

bool has_scores(const LayerSpec& layer) {
  return layer.type == LayerType::attention;
}

bool has_weights(const LayerSpec& layer) {
  return layer.type == LayerType::linear || layer.type == LayerType::conv2d ||
         layer.type == LayerType::conv1d || layer.type == LayerType::gated || has_scores(layer);
}

/// Whether the scheme says the std of any of its matrices.
bool leaves_std(const LayerSpec& layer) {
  if (layer.std) return false;
  if (has_scores(layer)) return !(layer.q_std && layer.k_std && layer.v_std && layer.o_std);
  if (layer.type == LayerType::gated) return !(layer.gate_std && layer.in_std);
  return true;
}

/// A layer of its own, or behind the sum of a residual or the mix of an attention.
bool has_norm(const LayerSpec& layer) {
  return layer.type == LayerType::norm || layer.norm.value_or(NormKind::none) != NormKind::none;
}

bool leaves_activation(const LayerSpec& layer) {
  return (layer.type == LayerType::activation || layer.type == LayerType::gated) &&
         layer.activation.empty();
}

bool formulas_have(const LayerSpec& layer, const std::string& symbol) {
  const auto has = [&](const Expr& formula) { return formula.contains(symbol); };
  return has(layer.skip) || has(layer.branch) || has(layer.times) ||
         (layer.gain && has(*layer.gain)) || (layer.scale && has(*layer.scale));
}

/// Where a weight stands: inside a branch, or as the head.
struct WeightPlace {
  bool in_branch = false, is_head = false;
};
using WeightTest = std::function<bool(const LayerSpec&, const WeightPlace&)>;

/// Whether a weight of the list passes; a list without residuals is one branch as a whole.
bool any_weight(const std::vector<LayerSpec>& layers, WeightPlace place, bool ends_in_head,
                const WeightTest& test) {
  for (const LayerSpec& layer : layers) {
    const bool is_head = ends_in_head && &layer == &layers.back();
    if (has_weights(layer) && test(layer, {place.in_branch && !is_head, is_head})) return true;
    const bool inside = place.in_branch || layer.type == LayerType::residual;
    if (any_weight(layer.layers, {inside, false}, false, test) ||
        any_weight(layer.shortcut, {}, false, test))
      return true;
  }
  return false;
}

class ListUse {
 public:
  explicit ListUse(const ModelSpec& spec) : spec_(spec) {}

  bool any(const std::function<bool(const LayerSpec&)>& test) const {
    return any_layer(spec_.layer_list, test);
  }
  bool any_weight(const WeightTest& test) const {
    const bool has_residual =
        any([](const LayerSpec& layer) { return layer.type == LayerType::residual; });
    return scalecalc::any_weight(spec_.layer_list, {!has_residual, false}, spec_.vocab == 0, test);
  }
  /// Of a head behind the list, or of a weight that has no std of its own.
  bool scheme() const {
    return spec_.vocab != 0 ||
           any_weight([](const LayerSpec& layer, const WeightPlace&) { return leaves_std(layer); });
  }
  bool distribution() const {
    return spec_.vocab != 0 || any_weight([](const LayerSpec& layer, const WeightPlace&) {
             return !layer.distribution;
           });
  }
  /// Whether a dyt leaves alpha to the model.
  bool any_dyt() const {
    return any([&](const LayerSpec& layer) {
      return has_norm(layer) && !layer.alpha && layer.norm.value_or(spec_.norm) == NormKind::dyt;
    });
  }
  bool reads_words() const { return spec_.input.kind == InputKind::tokens; }
  bool alpha() const { return symbol("alpha"); }
  /// The gain of the weights in branches, where they have none of their own.
  bool lambda() const {
    return symbol("lambda") || any_weight([](const LayerSpec& layer, const WeightPlace& place) {
             return place.in_branch && !layer.gain;
           });
  }
  bool attention_scale() const {
    return any([](const LayerSpec& layer) { return has_scores(layer) && !layer.scale; });
  }
  /// N, and what the model's own formulas make of it. A scale that is solved for has it too.
  bool layers() const {
    const auto has_n = [](const std::optional<Expr>& formula) {
      return !formula || formula->contains("N");
    };
    return symbol("N") || (alpha() && has_n(spec_.alpha)) || (lambda() && has_n(spec_.lambda)) ||
           (attention_scale() && has_n(spec_.attention_scale));
  }

 private:
  bool symbol(const std::string& name) const {
    return any([&](const LayerSpec& layer) { return formulas_have(layer, name); });
  }

  const ModelSpec& spec_;
};

struct FieldUse {
  const char* field;
  bool (*is_read)(const ListUse&);
  const char* why;
  const char* hint;
};

constexpr char kOwnStds[] = "every weight of the list says std itself";
constexpr char kLeaveStds[] = "leave it out, or leave std out of a linear";

constexpr FieldUse kUses[] = {
    {"layers", [](const ListUse& list) { return list.layers(); }, "no formula of the list has N",
     "leave it out, or use N in the list, for example times = \"N\" in a repeat"},
    {"alpha", [](const ListUse& list) { return list.alpha(); }, "no formula of the list has alpha",
     "leave it out, or use it in the list, for example skip = \"alpha\" in a residual"},
    {"lambda", [](const ListUse& list) { return list.lambda(); },
     "every weight in a branch has a gain of its own, and no formula has lambda",
     "leave it out, or use it in the list, for example gain = \"lambda\""},
    {"features", [](const ListUse& list) { return !list.reads_words(); },
     "it reads words, as wide as its embedding", "leave it out, or use width in the embedding"},
    {"bias",
     [](const ListUse& list) {
       return list.any_weight([](const LayerSpec& layer, const WeightPlace& place) {
         return !place.is_head && !layer.bias;
       });
     },
     "every weight of the list but its head says bias itself, or there is none",
     "leave it out, or leave bias out of a linear"},
    {"init.bias_variance",
     [](const ListUse& list) {
       return list.any_weight([](const LayerSpec& layer, const WeightPlace& place) {
         return layer.bias.value_or(!place.is_head);
       });
     },
     "no weight of the list has a bias", "leave it out, or use bias = true in a linear"},
    {"init.scheme", [](const ListUse& list) { return list.scheme(); }, kOwnStds, kLeaveStds},
    {"init.scheme.std", [](const ListUse& list) { return list.scheme(); }, kOwnStds, kLeaveStds},
    {"init.weight_variance", [](const ListUse& list) { return list.scheme(); }, kOwnStds,
     kLeaveStds},
    {"init.distribution", [](const ListUse& list) { return list.distribution(); },
     "every weight of the list says distribution itself",
     "leave it out, or leave distribution out of a linear"},
    {"activation", [](const ListUse& list) { return list.any(leaves_activation); },
     "every activation of the list is named in its layer, or there is none",
     "leave it out, or leave activation out of a layer"},
    {"norm",
     [](const ListUse& list) {
       return list.any(
           [](const LayerSpec& layer) { return layer.type == LayerType::norm && !layer.norm; });
     },
     "every norm of the list is named in its layer, or there is none",
     "leave it out, or leave norm out of a layer of type norm"},
    {"norm_affine",
     [](const ListUse& list) {
       return list.any([](const LayerSpec& layer) { return has_norm(layer) && !layer.affine; });
     },
     "every norm of the list says affine itself, or there is none",
     "leave it out, or leave affine out of a norm"},
    {"norm_eps",
     [](const ListUse& list) {
       return list.any(
           [](const LayerSpec& layer) { return (has_norm(layer) || layer.qk_norm) && !layer.eps; });
     },
     "every norm of the list says eps itself, or there is none",
     "leave it out, or leave eps out of a norm"},
    {"norm_alpha", [](const ListUse& list) { return list.any_dyt(); },
     "no norm of the list is a dyt that leaves alpha to the model, or there is none",
     "leave it out, or use norm = \"dyt\" in a layer of type norm"},
    {"gain_offset", [](const ListUse& list) { return list.any(has_norm); }, "the list has no norm",
     "leave it out, or add a layer of type norm"},
    {"attention_scale", [](const ListUse& list) { return list.attention_scale(); },
     "every attention of the list says scale itself, or there is none",
     "leave it out, or leave scale out of an attention"},
};

}  // namespace

void refuse_idle_fields(const ModelSpec& spec, const GivenFields& given) {
  if (spec.kind != ModelSpec::Kind::layers) return;
  const ListUse list(spec);
  for (const FieldUse& use : kUses) {
    const auto found = given.find(use.field);
    if (found == given.end() || use.is_read(list)) continue;
    throw Error(ErrorKind::input,
                std::string(use.field) + " changes nothing of this list: " + use.why, found->second,
                use.hint);
  }
}

}  // namespace scalecalc
