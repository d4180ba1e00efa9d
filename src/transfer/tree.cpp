#include "transfer/tree.hpp"

#include <algorithm>

#include "network/layers/walk.hpp"

namespace scalecalc {
namespace {

int in_series(const std::vector<Layer>& layers);

/// Matrices between what a layer reads and what it gives: of an attention v and o.
struct InSeries {
  int operator()(const Linear*) const { return 1; }
  int operator()(const Conv2d*) const { return 1; }
  int operator()(const Attention*) const { return 2; }
  int operator()(const Gated*) const { return 1; }
  int operator()(const Residual* layer) const { return in_series(layer->body); }
  int operator()(const Concat* layer) const { return in_series(layer->body); }
  int operator()(const Parallel* layer) const {
    int longest = 0;
    for (const std::vector<Layer>& branch : layer->branches)
      longest = std::max(longest, in_series(branch));
    return longest;
  }
  int operator()(const Experts* layer) const {
    return layer->experts.empty() ? 0 : in_series(layer->experts.front());
  }
  template <class Other>
  int operator()(const Other*) const {
    return 0;
  }
};

int in_series(const std::vector<Layer>& layers) {
  int total = 0;
  for (const Layer& layer : layers) total += std::visit(InSeries{}, view_of(layer));
  return total;
}

/// Whether its branch is 0 where a matrix of that role is: not of what only weighs.
bool opens_alone(const std::string& role) {
  return role != "q" && role != "k" && role != "router";
}

class Walk {
 public:
  Walk(const Network& network, PlacedNetwork& result)
      : positions_(network.sequence), result_(result) {
    const std::vector<Layer>& layers = network.layers;
    std::size_t behind = layers.size();  // the first layer behind the stream
    while (behind > 0 && !is_stream(layers[behind - 1])) --behind;
    result_.has_branches = behind > 0;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      behind_ = result_.has_branches && i >= behind;
      if (behind_ && std::holds_alternative<Norm>(layers[i].op))
        result_.norm = StreamNorm::each_read;
      visit(view_of(layers[i]));
    }
    result_.starts_closed = has_closed_ && !has_open_;
    if (sums_are_normed_ && !has_two_streams_) result_.norm = StreamNorm::each_sum;
  }

 private:
  static bool is_stream(const Layer& layer) {
    return std::holds_alternative<Residual>(layer.op) ||
           std::holds_alternative<DualStream>(layer.op);
  }

  void visit(const LayerView& layer) {
    std::visit([&](const auto* op) { note(*op); }, layer);
    for_each_own_parameter(layer, positions_,
                           [&](const std::string& path, std::size_t, const char* suffix,
                               const ParameterInfo& info) { add(layer, path, suffix, info); });
    if (const auto* residual = std::get_if<const Residual*>(&layer)) {
      visit_branch(**residual);
    } else if (const auto* experts = std::get_if<const Experts*>(&layer)) {
      visit_experts(**experts);
    } else {
      for_each_child(layer, [&](const LayerView& child, Held) { visit(child); });
    }
  }

  void visit_branch(const Residual& layer) {
    const int outer = matrices_;
    const bool was_inside = inside_;
    const double outer_branch = branch_;
    if (!inside_) matrices_ = in_series(layer.body);
    // A factor that is trained from 0 is no size of the branch.
    if (!(layer.trainable_branch && layer.branch == 0) && layer.skip != 0)
      branch_ *= layer.branch / layer.skip;
    if (!was_inside) is_closed_ = layer.trainable_branch && layer.branch == 0;
    inside_ = true;
    for (const Layer& part : layer.body) visit(view_of(part));
    matrices_ = outer;
    branch_ = outer_branch;
    inside_ = was_inside;
    if (!inside_) (is_closed_ ? has_closed_ : has_open_) = true;
    for (const Layer& part : layer.shortcut) visit(view_of(part));
    if (layer.norm) visit(&*layer.norm);
  }

  /// One expert that a gate alone weighs is no choice.
  void visit_experts(const Experts& layer) {
    visit(&layer.router);
    const bool was_expert = is_expert_;
    if (layer.experts.size() > 1) {
      is_expert_ = true;
      result_.shares_are_normalised = layer.normalised || layer.score != Experts::Score::softmax;
    }
    for (const std::vector<Layer>& expert : layer.experts)
      for (const Layer& part : expert) visit(view_of(part));
    is_expert_ = was_expert;
  }

  void note(const Residual& layer) {
    sums_are_normed_ = sums_are_normed_ || (layer.norm && !inside_);
  }
  /// Its normed stream is read by branches, the other by the head alone, behind a norm.
  void note(const DualStream&) {
    has_two_streams_ = true;
    result_.norm = StreamNorm::each_read;
  }
  void note(const Attention& layer) {
    if (result_.head_width) return;
    result_.head_width = layer.head_width;
    result_.attention_scale = layer.scale;
  }
  void note(const Linear& layer) { result_.has_tied_head = result_.has_tied_head || layer.tied; }
  template <class Other>
  void note(const Other&) {}

  void add(const LayerView& layer, const std::string& path, const char* suffix,
           const ParameterInfo& info) {
    PlacedParameter parameter;
    parameter.path = path + suffix;
    parameter.info = info;
    const bool is_factor = std::holds_alternative<const Residual*>(layer);
    parameter.is_gain = is_factor || std::string_view(suffix) == ".gain";
    parameter.is_closed_factor = is_factor && info.constant == 0;
    // A factor of the branch is part of it, though no matrix in its series.
    parameter.in_branch = inside_ || is_factor;
    parameter.branch = branch_;
    parameter.is_expert = is_expert_;
    parameter.closes_branch =
        parameter.is_closed_factor || (inside_ && info.is_matrix && info.std == 0 &&
                                       info.constant == 0 && opens_alone(info.role));
    is_closed_ = is_closed_ || parameter.closes_branch;
    parameter.matrices =
        is_factor && !inside_ ? in_series(std::get<const Residual*>(layer)->body) : matrices_;
    parameter.behind_stream = behind_;
    result_.parameters.push_back(std::move(parameter));
  }

  std::int64_t positions_;
  PlacedNetwork& result_;
  bool behind_ = false, inside_ = false, sums_are_normed_ = false, has_two_streams_ = false;
  bool is_expert_ = false, is_closed_ = false, has_closed_ = false, has_open_ = false;
  double branch_ = 1.0;
  int matrices_ = 0;
};

}  // namespace

PlacedNetwork placed(const Network& network) {
  PlacedNetwork result;
  Walk(network, result);
  return result;
}

}  // namespace scalecalc
