#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>

#include "network/layers/walk.hpp"
#include "scalecalc/moments.hpp"
#include "scalecalc/scaling.hpp"

namespace scalecalc {
namespace {

/// By the paths of the trace, which they do not outlive.
using Sites = std::unordered_map<std::string_view, const Site*>;
using Squares = std::unordered_map<std::string_view, double>;

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

/// Whether it divides by the size of its input.
bool divides(const Norm& norm) {
  return norm.kind != NormKind::none && norm.kind != NormKind::dyt;
}

/// Whether nothing in front of a norm reads what comes in.
bool begins_with_norm(const std::vector<Layer>& layers) {
  for (const Layer& layer : layers) {
    if (const auto* norm = std::get_if<Norm>(&layer.op)) return divides(*norm);
    if (const auto* parallel = std::get_if<Parallel>(&layer.op))
      return std::ranges::all_of(parallel->branches, begins_with_norm);
    if (!std::holds_alternative<Dropout>(layer.op)) return false;
  }
  return false;
}

/// Whether a norm is the last of them, but for dropout.
bool ends_with_norm(const std::vector<Layer>& layers) {
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    if (const auto* norm = std::get_if<Norm>(&layer->op)) return divides(*norm);
    if (!std::holds_alternative<Dropout>(layer->op)) return false;
  }
  return false;
}

/// A stream with residual sums in a list of layers.
class StackWalk {
 public:
  StackWalk(const Sites& sites, const Squares& gradients) : sites_(sites), gradients_(gradients) {}

  /// `stream`: the path of what comes in.
  DepthProfile walk(const std::vector<Layer>& layers, std::string stream) {
    bool all_behind = true, all_before = true;
    std::size_t last = 0;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (const auto* residual = std::get_if<Residual>(&layers[i].op)) {
        add(*residual, stream);
        last = i;
        const bool behind = residual->norm && divides(*residual->norm);
        all_behind &= behind;
        all_before &= !behind && begins_with_norm(residual->body);
      } else if (const auto* dual = std::get_if<DualStream>(&layers[i].op)) {
        add(*dual, stream);
        all_behind = all_before = false;
      }
      const std::string path = last_site(view_of(layers[i]));
      if (sites_.contains(path)) stream = path;
    }
    profile_.norm_behind_sums = profile_.sums > 0 && all_behind;
    profile_.norm_before_readers =
        profile_.sums > 0 && all_before &&
        begins_with_norm({layers.begin() + static_cast<std::ptrdiff_t>(last) + 1, layers.end()});
    return std::move(profile_);
  }

 private:
  /// Second moments that meet in a sum, before a norm, which only rescales them.
  struct Parts {
    double skip = 0, branch = 0;
    double share() const { return branch > 0 ? branch / (skip + branch) : 0; }
  };

  double second(const std::string& path) const {
    const auto found = sites_.find(path);
    if (found == sites_.end())
      throw Error(ErrorKind::input, "the trace has no site " + path, "depth profile",
                  "use the trace of this network");
    return found->second->second.value;
  }

  /// The path of what leaves these layers, on what has the path `stream`.
  std::string end_of(const std::vector<Layer>& layers, std::string stream) const {
    for (const Layer& layer : layers) {
      std::string path = last_site(view_of(layer));
      if (sites_.contains(path)) stream = std::move(path);
    }
    return stream;
  }

  Parts parts(const Residual& residual, const std::string& stream) const {
    Parts parts;
    if (!residual.body.empty())
      parts.branch = residual.branch * residual.branch * second(end_of(residual.body, stream));
    // A shortcut's map turns the input, and the path through it goes on as the skip.
    parts.skip = residual.skip * residual.skip * second(end_of(residual.shortcut, stream));
    return parts;
  }

  void end_of_sum(const std::string& path, double identity) {
    ++profile_.sums;
    const std::string block = outermost_part(path);
    if (profile_.blocks.empty() || profile_.blocks.back().path != block)
      profile_.blocks.push_back({block});
    profile_.blocks.back().identity = identity;
  }

  void add(const Residual& residual, const std::string& stream) {
    SublayerShare one;
    const Parts sum = parts(residual, stream);
    one.path = residual.path;
    one.end = end_of(residual.body, stream);
    one.scale = residual.branch;
    one.skip = sum.skip;
    one.norm_at_end = ends_with_norm(residual.body);
    one.norm_behind = residual.norm && divides(*residual.norm);
    one.share = sum.share();
    profile_.identity_weight *= std::sqrt(1 - one.share);
    profile_.effective_depth += one.share;
    one.identity = profile_.identity_weight;
    one.stream = second(residual.path);
    one.grad_stream = sites_.at(residual.path)->grad_second.value;
    one.gradient = gradient(residual.body);
    profile_.sublayers.push_back(std::move(one));
    end_of_sum(residual.path, profile_.identity_weight);
  }

  /// x' = Norm(x + F), z' = z + F, and the end is x + Norm(z): the input has its part in both, and
  /// paths that end in z have gone through x, each weighted with its power.
  void add(const DualStream& dual, std::string stream) {
    double of_x = 1, depth_of_x = 0, depth_of_z = 0;
    double z = second(stream);
    const double start = z;
    for (const Residual& sublayer : dual.sublayers) {
      const Parts sum = parts(sublayer, stream);
      z += sum.branch;
      if (z > 0) depth_of_z += sum.branch / z * (1 + depth_of_x - depth_of_z);
      of_x *= std::sqrt(1 - sum.share());
      depth_of_x += sum.share();
      stream = sublayer.path;
      end_of_sum(sublayer.path, std::numeric_limits<double>::quiet_NaN());
    }
    const double x_power = second(stream);
    const double z_power = sites_.contains(dual.norm.path) ? second(dual.norm.path) : z;
    const double of_z = z > 0 ? std::sqrt(start / z) : 1;
    profile_.identity_weight *=
        (of_x * std::sqrt(x_power) + of_z * std::sqrt(z_power)) / std::sqrt(second(dual.path));
    profile_.effective_depth += (depth_of_x * x_power + depth_of_z * z_power) / (x_power + z_power);
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

  const Sites& sites_;
  const Squares& gradients_;
  DepthProfile profile_;
};

/// Each block's share of the squared gradients of all parameters of the profile's blocks.
void share_gradients(const std::vector<ParameterMoments>& parameters, DepthProfile& profile) {
  std::unordered_map<std::string, double> squares;
  for (const BlockShare& block : profile.blocks) squares[block.path] = 0;
  double of_blocks = 0, of_all = 0;
  for (const ParameterMoments& one : parameters) {
    if (!one.grad_second.is_known()) return;
    const double square = static_cast<double>(one.rows * one.columns) * one.grad_second.value;
    of_all += square;
    const auto block = squares.find(outermost_part(one.path));
    if (block == squares.end()) continue;
    block->second += square;
    of_blocks += square;
  }
  if (!(of_blocks > 0)) return;
  profile.block_gradient = of_blocks / of_all;
  for (BlockShare& block : profile.blocks) block.gradient = squares[block.path] / of_blocks;
}

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

std::string outermost_part(const std::string& path) {
  const std::string encoder = "encoder.";
  return path.substr(0, path.find('.', path.starts_with(encoder) ? encoder.size() : 0));
}

std::vector<DepthProfile> depth_profiles(const Network& network, const Trace& trace) {
  Sites sites;
  sites.reserve(trace.sites.size());
  for (const Site& site : trace.sites) sites[site.path] = &site;
  Squares gradients;
  gradients.reserve(trace.parameters.size());
  for (const ParameterMoments& one : trace.parameters)
    if (one.grad_second.is_known())
      gradients[one.path] = static_cast<double>(one.rows * one.columns) * one.grad_second.value;
  std::vector<DepthProfile> profiles;
  const auto add = [&](const std::vector<Layer>& layers, const std::string& input,
                       const std::string& stack) {
    DepthProfile profile = StackWalk(sites, gradients).walk(layers, input);
    if (profile.sums == 0) return;
    profile.stack = stack;
    share_gradients(trace.parameters, profile);
    profiles.push_back(std::move(profile));
  };
  for (const Layer& layer : network.layers)
    if (const auto* encoder = std::get_if<Encoder>(&layer.op))
      add(encoder->layers, encoder->path + ".input", encoder->path);
  add(network.layers, "input", {});
  return profiles;
}

DepthProfile depth_profile(const Network& network, const Trace& trace) {
  std::vector<DepthProfile> profiles = depth_profiles(network, trace);
  return profiles.empty() || !profiles.back().stack.empty() ? DepthProfile{}
                                                            : std::move(profiles.back());
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
