#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "scalecalc/network.hpp"
#include "tensor/draw.hpp"
#include "tensor/tape.hpp"

/// What the tests of the tensor room share: data, differences, and networks built by hand.
namespace scalecalc::tensor {

using Vector = std::vector<double>;

inline Vector normal_values(std::size_t count, std::uint64_t seed, double scale = 1.0) {
  Vector values(count);
  fill(Draw{Draw::Kind::normal, scale, {seed, stream_id("test")}}, 0,
       static_cast<std::int64_t>(count), values.data());
  return values;
}

inline double norm(const Vector& a) {
  double sum = 0.0;
  for (const double x : a) sum += x * x;
  return std::sqrt(sum);
}
inline double distance(const Vector& a, const Vector& b) {
  double sum = a.size() == b.size() ? 0.0 : INFINITY;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    sum += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return std::sqrt(sum);
}
inline double dot(const Vector& a, const Vector& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

template <class Real>
Tensor<Real> upload(const std::shared_ptr<Device<Real>>& device, std::int64_t rows,
                    std::int64_t columns, const Vector& values) {
  Tensor<Real> tensor(device, rows, columns);
  const std::vector<Real> rounded(values.begin(), values.end());
  device->upload(rounded.data(), tensor.data(), tensor.bytes());
  return tensor;
}
template <class Real>
Vector download(const Tensor<Real>& tensor) {
  return Vector(tensor.data(), tensor.data() + tensor.size());
}

/// An input of an operation under test.
struct Input {
  std::int64_t rows, columns;
  Vector values;
};
inline Input random_input(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  return {rows, columns, normal_values(static_cast<std::size_t>(rows * columns), seed)};
}

/// An operation from variables to a variable.
using Operation =
    std::function<Variable<double>(Tape<double>&, const std::vector<Variable<double>>&)>;

/// What worst_gradient_error() is below for operations whose fifth derivatives are up to a
/// thousand times their gradients (OperationRun::differences leaves 1e-12 of both), and for those
/// that divide by norms of a few entries.
constexpr double kDifferences = 1e-9, kSharpDifferences = 1e-7;

/// Runs an operation in double on the CPU: its value, and its backward for a given output gradient.
class OperationRun {
 public:
  OperationRun(Operation operation, std::vector<Input> inputs, int threads = 1)
      : operation_(std::move(operation)),
        inputs_(std::move(inputs)),
        device_(make_device<double>("cpu", threads)) {}

  Vector value() const { return value(inputs_); }
  Vector value(const std::vector<Input>& inputs) const {
    Tape<double> tape(device_, false);
    return download(apply(tape, inputs).value);
  }
  /// One gradient per input, of <weight, output>.
  std::vector<Vector> gradients(const Vector& weight) const {
    Tape<double> tape(device_, true);
    const Variable<double> y = apply(tape, inputs_);
    tape.loss(y, [&](Tape<double>& t, const Tensor<double>&) {
      double* dy = t.gradient(y.slot);
      for (std::size_t i = 0; i < weight.size(); ++i) dy[i] += weight[i];
    });
    std::vector<Vector> result(inputs_.size());
    tape.backward([&](std::size_t index, const Tensor<double>& g) { result[index] = download(g); });
    return result;
  }
  /// The same by central differences of fourth order: truncation h^4/30 f^(5), rounding about
  /// eps |f|/h; at h = 1e-3 both are near 1e-12 for values and derivatives of order 1.
  Vector differences(std::size_t input, const Vector& weight, double h = 1e-3) const {
    std::vector<Input> moved = inputs_;
    Vector& x = moved[input].values;
    Vector result(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double at = x[i];
      const auto f = [&](double step) {
        x[i] = at + step;
        return dot(weight, value(moved));
      };
      result[i] = (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h);
      x[i] = at;
    }
    return result;
  }
  /// The largest relative difference between both, over the inputs.
  double worst_gradient_error() const {
    const Vector weight = normal_values(value().size(), 99);
    const std::vector<Vector> analytic = gradients(weight);
    double worst = 0.0;
    for (std::size_t input = 0; input < inputs_.size(); ++input) {
      const double error = distance(analytic[input], differences(input, weight));
      const double size = norm(analytic[input]);
      // A gradient that is exactly zero must come out as zero.
      worst = std::max(worst, size > 0.0 ? error / size : error / norm(weight));
    }
    return worst;
  }

 private:
  Variable<double> apply(Tape<double>& tape, const std::vector<Input>& inputs) const {
    std::vector<Variable<double>> variables;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      variables.push_back(
          tape.parameter(i, upload(device_, inputs[i].rows, inputs[i].columns, inputs[i].values)));
    }
    return operation_(tape, variables);
  }

  Operation operation_;
  std::vector<Input> inputs_;
  std::shared_ptr<Device<double>> device_;
};

// ---- networks -----------------------------------------------------------------------------------

struct NetworkOptions {
  Placement placement = Placement::post;
  NormKind norm = NormKind::layernorm;
  std::int64_t blocks = 1, width = 6, heads = 2, ffn = 9, classes = 5, sequence = 3, batch = 1;
  bool causal = false, bias = false, affine = false, tokens = false;
  double eps = 0.0, alpha = 1.3, cross = 0.2;
  Distribution distribution = Distribution::normal;
  Reduction reduction = Reduction::sum;
  std::string activation = "gelu";
};

/// A transformer written out layer by layer.
class HandBuilt {
 public:
  explicit HandBuilt(NetworkOptions options) : o_(std::move(options)) {}

  Network transformer() const {
    Network network = empty();
    if (o_.tokens) network.layers.push_back({Embedding{"embedding", 7, o_.width, 1.0}});
    if (o_.placement == Placement::post) network.layers.push_back({norm("input.norm", o_.width)});
    for (std::int64_t i = 0; i < o_.blocks; ++i) {
      const std::string path = "block[" + std::to_string(i) + "]";
      network.layers.push_back({residual(path + ".attn", {{attention(path + ".attn")}})});
      std::vector<Layer> ffn = {{linear(path + ".ffn.in", o_.width, o_.ffn)},
                                {ActivationLayer{path + ".ffn.act", o_.activation}}};
      if (o_.placement == Placement::sub_ln) ffn.push_back({norm(path + ".ffn.act_norm", o_.ffn)});
      ffn.push_back({linear(path + ".ffn.out", o_.ffn, o_.width)});
      network.layers.push_back({residual(path + ".ffn", std::move(ffn))});
    }
    if (o_.placement != Placement::post && o_.placement != Placement::none) {
      network.layers.push_back({norm("final_norm", o_.width)});
    }
    network.layers.push_back({linear("head", o_.width, o_.classes)});
    return network;
  }

  Network mlp() const {
    Network network = empty();
    for (std::int64_t i = 0; i < o_.blocks; ++i) {
      const std::string path = "layer[" + std::to_string(i) + "]";
      network.layers.push_back({linear(path + ".linear", o_.width, o_.width)});
      network.layers.push_back({ActivationLayer{path + ".act", o_.activation}});
    }
    network.layers.push_back({linear("head", o_.width, o_.classes)});
    return network;
  }

 private:
  Network empty() const {
    Network network;
    network.input = o_.tokens ? InputKind::tokens : InputKind::gaussian;
    network.sequence = o_.sequence;
    network.batch = o_.batch;
    network.features = o_.width;
    network.classes = o_.classes;
    network.input_second = 1.0;
    network.input_cross = o_.cross;
    network.reduction = o_.reduction;
    return network;
  }
  Linear linear(const std::string& path, std::int64_t fan_in, std::int64_t fan_out) const {
    Linear layer;
    layer.path = path;
    layer.fan_in = fan_in;
    layer.fan_out = fan_out;
    layer.std = 1.0 / std::sqrt(static_cast<double>(fan_in));
    layer.distribution = o_.distribution;
    layer.bias = o_.bias && path != "head";
    layer.bias_std = 0.3;
    layer.in_branch = path != "head";
    return layer;
  }
  Norm norm(const std::string& path, std::int64_t width) const {
    return {path, o_.norm, width, o_.eps, o_.affine};
  }
  Layer attention(const std::string& path) const {
    Attention layer;
    layer.path = path;
    layer.heads = layer.kv_heads = o_.heads;
    layer.head_width = o_.width / o_.heads;
    layer.causal = o_.causal;
    layer.scale = 1.0 / std::sqrt(static_cast<double>(layer.head_width));
    layer.q = linear(path + ".q", o_.width, o_.width);
    layer.k = linear(path + ".k", o_.width, o_.width);
    layer.v = linear(path + ".v", o_.width, o_.width);
    layer.o = linear(path + ".o", o_.width, o_.width);
    if (o_.placement == Placement::sub_ln) layer.norm = norm(path + ".mix_norm", o_.width);
    return {layer};
  }
  Residual residual(const std::string& path, std::vector<Layer> body) const {
    Residual layer;
    layer.path = path;
    const Placement p = o_.placement;
    if (p == Placement::pre || p == Placement::sandwich || p == Placement::sub_ln) {
      body.insert(body.begin(), {norm(path + ".norm", o_.width)});
    }
    if (p == Placement::res_post || p == Placement::sandwich) {
      body.push_back({norm(path + ".out_norm", o_.width)});
      layer.branch = 1.0 / o_.alpha;
    }
    if (p == Placement::post) {
      layer.skip = o_.alpha;
      layer.norm = norm(path + ".norm", o_.width);
    }
    layer.body = std::move(body);
    return layer;
  }

  NetworkOptions o_;
};

}  // namespace scalecalc::tensor
