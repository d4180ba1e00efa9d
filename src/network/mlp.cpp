#include <iterator>

#include "network/parts.hpp"

namespace scalecalc {
namespace {

/// One linear map and its activation, with the norm of a plain stack between them.
std::vector<Layer> step(const Parts& parts, const Linear& weight, const std::string& path,
                        bool norm_between) {
  const ModelSpec& spec = parts.spec();
  std::vector<Layer> layers;
  layers.reserve(5);
  layers.push_back({at(weight, path + ".linear")});
  if (norm_between) layers.push_back({parts.norm(path + ".norm", spec.width)});
  layers.push_back({ActivationLayer{path + ".act", spec.activation}});
  if (parts.drops(&DropoutPlaces::branch))
    layers.push_back({Dropout{path + ".dropout", spec.dropout}});
  return layers;
}

void append(std::vector<Layer>& layers, std::vector<Layer> more) {
  std::move(more.begin(), more.end(), std::back_inserter(layers));
}

}  // namespace

/// Without a placement a plain stack. With one, the first layer maps the features to the width and
/// each further layer is a branch F(x) = phi(x W).
void add_mlp(const Parts& parts, std::int64_t blocks, std::vector<Layer>& layers) {
  const ModelSpec& spec = parts.spec();
  const bool residuals = spec.placement != Placement::none;
  const bool norm_between = !residuals && spec.norm != NormKind::none;
  const Fan width{spec.width, Expr::symbol("width")};
  const Linear first =
      parts.linear("linear", {spec.features, Expr::symbol("features")}, width, !residuals);
  const Linear further = parts.linear("linear", width, width, true);
  const bool drops_stream = parts.drops(&DropoutPlaces::stream);
  const auto drop_stream = [&](const std::string& path) {
    if (drops_stream) layers.push_back({Dropout{path + ".stream_dropout", spec.dropout}});
  };
  layers.reserve(static_cast<std::size_t>((residuals ? (drops_stream ? 2 : 1) : 4) * blocks + 5));
  if (parts.drops(&DropoutPlaces::input))
    layers.push_back({Dropout{"input.dropout", spec.dropout}});
  append(layers, step(parts, first, "layer[0]", norm_between));
  if (norms_sums(spec.placement)) layers.push_back({parts.norm("layer[0].norm", spec.width)});
  drop_stream("layer[0]");

  DualStream dual{"dual", {}, parts.norm("final_norm", spec.width)};
  for (std::int64_t i = 1; i < blocks; ++i) {
    const std::string path = "layer[" + std::to_string(i) + "]";
    std::vector<Layer> body = step(parts, further, path, norm_between);
    if (!residuals) {
      append(layers, std::move(body));
    } else if (spec.placement == Placement::resi_dual) {
      dual.sublayers.push_back(parts.sublayer(path, std::move(body)));
    } else {
      Residual sum = parts.sublayer(path, std::move(body));
      parts.drop_path(sum, i - 1, blocks - 1);
      layers.push_back({std::move(sum)});
      drop_stream(path);
    }
  }
  if (spec.placement == Placement::resi_dual)
    layers.push_back({std::move(dual)});
  else if (has_final_norm(spec.placement) && spec.norm != NormKind::none)
    layers.push_back({parts.norm("final_norm", spec.width)});
  layers.push_back({parts.head(width, {spec.vocab, Expr::symbol("classes")})});
}

}  // namespace scalecalc
