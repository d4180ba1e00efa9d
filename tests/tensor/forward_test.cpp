#include <doctest/doctest.h>

#include <limits>
#include <numbers>

#include "scalecalc/tensor.hpp"
#include "support.hpp"
#include "tensor/initial.hpp"

namespace scalecalc::tensor {
namespace {

/// The whole forward pass once more, with rows as vectors and loops, straight from the Network.
class Interpreter {
 public:
  using Rows = std::vector<Vector>;
  Interpreter(const Network& network, const Passes<double>& passes)
      : network_(network), passes_(passes) {}

  double loss(std::uint64_t seed) {
    const auto data = draw_data(network_, seed, make_device<double>("cpu", 1));
    const std::int64_t tokens = network_.sequence * network_.batch;
    Rows x;
    for (std::int64_t t = 0; t < tokens; ++t) {
      if (network_.input == InputKind::tokens) {
        x.push_back({static_cast<double>(data.ids.data()[t])});
      } else {
        const double* row = data.features.data() + t * network_.features;
        x.emplace_back(row, row + network_.features);
      }
    }
    for (const Layer& layer : network_.layers) x = apply(layer, x);
    double total = 0.0;
    for (std::size_t t = 0; t < x.size(); ++t) {
      double sum = 0.0;
      for (const double logit : x[t]) sum += std::exp(logit);
      total += std::log(sum) - x[t][static_cast<std::size_t>(data.targets.data()[t])];
    }
    return network_.reduction == Reduction::mean ? total / static_cast<double>(tokens) : total;
  }

 private:
  Rows next() {
    const MatrixView<double> view = passes_.parameter(used_++);
    Rows rows;
    for (std::int64_t i = 0; i < view.rows; ++i) {
      rows.emplace_back(view.data + i * view.columns, view.data + (i + 1) * view.columns);
    }
    return rows;
  }
  Rows apply(const Layer& layer, const Rows& x) {
    return std::visit([&](const auto& op) { return run(op, x); }, layer.op);
  }
  Rows run(const Linear& layer, const Rows& x) {
    const Rows w = next();
    const Vector b = layer.bias ? next()[0] : Vector(w[0].size(), 0.0);
    Rows y(x.size(), b);
    for (std::size_t t = 0; t < x.size(); ++t) {
      for (std::size_t i = 0; i < w.size(); ++i) {
        for (std::size_t o = 0; o < b.size(); ++o) y[t][o] += x[t][i] * w[i][o];
      }
    }
    return y;
  }
  static Rows run(const ActivationLayer& layer, Rows x) {
    for (Vector& row : x) {
      for (double& v : row) {
        v = layer.function == "relu" ? std::max(v, 0.0)
                                     : v * 0.5 * (1.0 + std::erf(v / std::numbers::sqrt2));
      }
    }
    return x;
  }
  Rows run(const Norm& layer, Rows x) {
    for (Vector& row : x) {
      if (layer.kind == NormKind::none) break;
      const auto n = static_cast<double>(row.size());
      double mean = 0.0, square = 0.0;
      for (const double v : row) mean += layer.kind == NormKind::layernorm ? v / n : 0.0;
      for (const double v : row) square += (v - mean) * (v - mean) / n;
      for (double& v : row) v = (v - mean) / std::sqrt(square + layer.eps);
    }
    if (!layer.affine) return x;
    const Vector gain = next()[0], shift = next()[0];
    for (Vector& row : x) {
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = gain[i] * row[i] + shift[i];
    }
    return x;
  }
  Rows run(const Attention& layer, const Rows& x) {
    const Rows q = run(layer.q, x), k = run(layer.k, x), v = run(layer.v, x);
    Rows mix(q.size(), Vector(q[0].size(), 0.0));
    const auto length = static_cast<std::size_t>(network_.sequence);
    for (std::size_t t = 0; t < q.size(); ++t) {
      const std::size_t first = t / length * length, end = layer.causal ? t + 1 : first + length;
      for (std::int64_t h = 0; h < layer.heads; ++h) {
        const auto from = static_cast<std::size_t>(h * layer.head_width);
        const auto to = from + static_cast<std::size_t>(layer.head_width);
        double sum = 0.0;
        Vector p(end, 0.0);
        for (std::size_t s = first; s < end; ++s) {
          for (std::size_t i = from; i < to; ++i) p[s] += layer.scale * q[t][i] * k[s][i];
          sum += p[s] = std::exp(p[s]);
        }
        for (std::size_t s = first; s < end; ++s) {
          for (std::size_t i = from; i < to; ++i) mix[t][i] += p[s] / sum * v[s][i];
        }
      }
    }
    return run(layer.o, layer.norm ? run(*layer.norm, mix) : mix);
  }
  Rows run(const Residual& layer, const Rows& x) {
    Rows branch = x;
    for (const Layer& inner : layer.body) branch = apply(inner, branch);
    for (std::size_t t = 0; t < x.size(); ++t) {
      for (std::size_t i = 0; i < x[t].size(); ++i) {
        branch[t][i] = layer.skip * x[t][i] + layer.branch * branch[t][i];
      }
    }
    return layer.norm ? run(*layer.norm, branch) : branch;
  }
  Rows run(const Embedding&, const Rows& ids) {
    const Rows table = next();
    Rows y;
    for (const Vector& id : ids) y.push_back(table[static_cast<std::size_t>(id[0])]);
    return y;
  }

  const Network& network_;
  const Passes<double>& passes_;
  std::size_t used_ = 0;
};

void check_forward(const Network& network) {
  Passes<double> passes(network, {5, 1, "cpu"});
  // Gains and shifts start at 1 and 0: move them, or their order would not matter.
  for (std::size_t i = 0; i < passes.parameters().size(); ++i) {
    const auto size = static_cast<std::size_t>(passes.parameter(i).size());
    passes.add(i, normal_values(size, i).data(), 0.1);
  }
  const double expected = Interpreter(network, passes).loss(5);
  // Some 60 operations in a row, each amplified a few times by a norm or a softmax.
  CHECK(std::fabs(passes.loss() - expected) <
        60.0 * 4.0 * std::numeric_limits<double>::epsilon() * expected);
}

}  // namespace

TEST_CASE("forward: every placement against an interpreter written with loops") {
  for (const Placement placement : {Placement::post, Placement::pre, Placement::res_post,
                                    Placement::sandwich, Placement::sub_ln, Placement::none}) {
    for (const NormKind norm : {NormKind::layernorm, NormKind::rmsnorm, NormKind::none}) {
      CAPTURE(static_cast<int>(placement));
      CAPTURE(static_cast<int>(norm));
      NetworkOptions options;
      options.placement = placement;
      options.norm = norm;
      options.blocks = 2;
      options.sequence = 4;
      options.batch = 2;
      check_forward(HandBuilt(options).transformer());
      options.causal = options.bias = options.affine = options.tokens = true;
      options.eps = 0.3;
      options.reduction = Reduction::mean;
      options.activation = "relu";
      check_forward(HandBuilt(options).transformer());
    }
  }
}

TEST_CASE("forward: mlps and networks of build_network against the interpreter") {
  NetworkOptions options;
  options.blocks = 3;
  options.bias = true;
  check_forward(HandBuilt(options).mlp());
  for (const Placement placement : {Placement::post, Placement::res_post, Placement::sandwich}) {
    ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
    spec.layers = 2;
    spec.width = 8;
    spec.ffn = 12;
    spec.sequence = 5;
    spec.alpha = Expr(3);
    spec.placement = placement;
    check_forward(build_network(spec));
  }
}

}  // namespace scalecalc::tensor
