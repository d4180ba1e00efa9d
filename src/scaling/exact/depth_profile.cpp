#include <cmath>
#include <unordered_map>

#include "network/layers/walk.hpp"
#include "scalecalc/moments.hpp"
#include "scalecalc/scaling.hpp"

namespace scalecalc {
namespace {

/// The path of the last value that a layer gives.
struct LastSite {
  std::string operator()(const Attention& layer) const { return layer.o.path; }
  template <class L>
  std::string operator()(const L& layer) const {
    return layer.path;
  }
};

std::string last_site(const LayerView& layer) {
  return std::visit([](const auto* op) { return LastSite{}(*op); }, layer);
}

class Walk {
 public:
  Walk(const Network& network, const Trace& trace) {
    for (const Site& site : trace.sites) sites_[site.path] = &site;
    for (const ParameterMoments& one : trace.parameters)
      if (one.grad_second.is_known())
        gradients_[one.path] = static_cast<double>(one.rows * one.columns) * one.grad_second.value;
    std::string stream = "input";
    for (const Layer& layer : network.layers) walk(view_of(layer), stream);
  }
  DepthProfile profile;

 private:
  /// `stream`: the path of what comes in, then of what leaves.
  void walk(const LayerView& layer, std::string& stream) {
    if (const auto* residual = std::get_if<const Residual*>(&layer)) {
      visit(**residual, stream);
    } else {
      std::string inner = stream;
      for_each_child(layer, [&](const LayerView& child, Held held) {
        if (held == Held::in_list) walk(child, inner);
      });
    }
    if (sites_.contains(last_site(layer))) stream = last_site(layer);
  }

  double second(const std::string& path) const {
    const auto found = sites_.find(path);
    if (found == sites_.end())
      throw Error(ErrorKind::input, "the trace has no site " + path, "depth profile",
                  "use the trace of this network");
    return found->second->second.value;
  }

  /// Shares are of the sum before a norm, which only rescales it.
  void visit(const Residual& residual, const std::string& stream) {
    SublayerShare one;
    one.path = residual.path;
    const double branch =
        residual.body.empty()
            ? 0
            : residual.branch * residual.branch * second(last_site(view_of(residual.body.back())));
    const double skip = residual.skip * residual.skip * second(stream);
    one.share = branch > 0 ? branch / (skip + branch) : 0;
    profile.identity_weight *= std::sqrt(1 - one.share);
    profile.effective_depth += one.share;
    one.identity = profile.identity_weight;
    one.stream = second(residual.path);
    one.grad_stream = sites_.at(residual.path)->grad_second.value;
    one.gradient = gradient(residual.body);
    profile.sublayers.push_back(std::move(one));
  }

  double squared(const Linear& linear) const {
    const auto found = gradients_.find(linear.path + ".weight");
    return found == gradients_.end() ? 0 : found->second;
  }

  /// Of the layer's weight matrices, without those of layers in its lists, unless it is the sum of
  /// these.
  double own_squares(const LayerView& layer) const {
    if (const auto* linear = std::get_if<const Linear*>(&layer)) return squared(**linear);
    const bool is_sum = std::holds_alternative<const Parallel*>(layer) ||
                        std::holds_alternative<const Experts*>(layer);
    double total = 0;
    for_each_child(layer, [&](const LayerView& child, Held held) {
      if (is_sum || held == Held::as_member) total += own_squares(child);
    });
    return total;
  }

  double gradient(const std::vector<Layer>& body) const {
    double total = 0;
    for (const Layer& layer : body) total += own_squares(view_of(layer));
    return std::sqrt(total);
  }

  std::unordered_map<std::string, const Site*> sites_;
  std::unordered_map<std::string, double> gradients_;
};

DepthProfile profile_of(const ModelSpec& spec, std::string scheme, const Optimizer& optimizer) {
  const Network network = build_network(spec);
  const Trace trace = propagate(network);
  DepthProfile profile = depth_profile(network, trace);
  profile.scheme = std::move(scheme);
  const Bindings at = {{"N", static_cast<double>(spec.layers)}};
  profile.alpha = evaluate(*spec.alpha, at);
  profile.lambda = evaluate(*spec.lambda, at);
  profile.delta_loss =
      predicted_step(network, trace, optimizer.update, false, optimizer.rest).delta_loss;
  return profile;
}

}  // namespace

DepthProfile depth_profile(const Network& network, const Trace& trace) {
  return Walk(network, trace).profile;
}

std::vector<DepthProfile> scheme_profiles(const ModelSpec& spec, const Optimizer& optimizer) {
  std::vector<DepthProfile> profiles = {
      profile_of(spec, to_string(spec.placement) + ", this pair", optimizer)};
  for (const Placement placement :
       {Placement::post, Placement::pre, Placement::res_post, Placement::sub_ln}) {
    ModelSpec other = spec;
    other.placement = placement;
    other.alpha = other.lambda = Expr(1);
    profiles.push_back(profile_of(other, to_string(placement), optimizer));
  }
  return profiles;
}

}  // namespace scalecalc
