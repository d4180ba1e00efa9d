#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "passes/initial.hpp"
#include "passes/sinusoid_rows.hpp"
#include "passes/support.hpp"
#include "scalecalc/passes.hpp"

namespace scalecalc::passes {

/// The whole forward pass once more, with rows as vectors and loops, straight from the Network.
class Interpreter {
 public:
  using Rows = std::vector<Vector>;
  Interpreter(const Network& network, const Passes<double>& passes)
      : network_(network), passes_(passes) {}

  double loss(std::uint64_t seed) {
    const Data<double> data =
        draw_data(Plan(network_), seed, tensor::make_device<double>("cpu", 1));
    const std::int64_t tokens = network_.sequence * network_.batch;
    if (!data.memory.empty())
      memory_ = rows_of({data.memory.data(), data.memory.rows(), data.memory.columns()});
    for (std::int64_t t = 0; t < data.memory_ids.size(); ++t)
      memory_.push_back({static_cast<double>(data.memory_ids.data()[t])});
    if (const auto& c = data.condition; !c.empty())
      condition_ = rows_of({c.data(), c.rows(), c.columns()});
    labels_ = data.labels.data();
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
    if (const double cap = network_.logit_softcap; cap != 0)
      for (Vector& row : x)
        for (double& y : row) y = cap * std::tanh(y / cap);
    double total = 0.0;
    for (std::size_t t = 0; t < x.size(); ++t) {
      if (network_.loss == Loss::mse) {
        for (std::size_t c = 0; c < x[t].size(); ++c) {
          total += 0.5 * std::pow(x[t][c] - data.values.data()[t * x[t].size() + c], 2);
        }
        continue;
      }
      double sum = 0.0;
      for (const double logit : x[t]) sum += std::exp(logit);
      total += std::log(sum) - x[t][static_cast<std::size_t>(data.targets.data()[t])];
    }
    return network_.reduction == Reduction::mean ? total / static_cast<double>(x.size()) : total;
  }

 private:
  Rows next() { return rows_of(passes_.parameter(used_++)); }
  static Rows rows_of(MatrixView<double> view) {
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
    Rows w = next();
    for (std::size_t o = 0; o < w[0].size(); ++o) {
      double square = 0.0;
      for (const Vector& row : w) square += row[o] * row[o];
      const bool demodulated = layer.weight_norm == WeightNorm::demodulated;
      for (Vector& row : w) row[o] *= layer.multiplier / (demodulated ? std::sqrt(square) : 1.0);
    }
    const Vector b = layer.bias ? next()[0] : Vector(w[0].size(), 0.0);
    Rows y(x.size(), b);
    for (std::size_t t = 0; t < x.size(); ++t) {
      for (std::size_t i = 0; i < w.size(); ++i) {
        for (std::size_t o = 0; o < b.size(); ++o) y[t][o] += x[t][i] * w[i][o];
      }
    }
    return y;
  }
  static double phi(const std::string& function, double v) {
    if (function == "relu") return std::max(v, 0.0);
    if (function == "silu") return v / (1.0 + std::exp(-v));
    return v * 0.5 * (1.0 + std::erf(v / std::numbers::sqrt2));
  }
  static Rows run(const ActivationLayer& layer, Rows x) {
    for (Vector& row : x) {
      for (double& v : row) {
        v = phi(layer.function, v);
      }
    }
    return x;
  }
  static Vector standardised(Vector row, bool centred, double eps) {
    const auto n = static_cast<double>(row.size());
    double mean = 0.0, square = 0.0;
    for (const double v : row) mean += centred ? v / n : 0.0;
    for (const double v : row) square += (v - mean) * (v - mean) / n;
    for (double& v : row) v = (v - mean) / std::sqrt(square + eps);
    return row;
  }
  /// Each feature over `count` rows at a time.
  static Rows over_samples(const Norm& layer, Rows x, std::size_t count) {
    for (std::size_t first = 0; first < x.size(); first += count) {
      for (std::size_t i = 0; i < x[0].size(); ++i) {
        Vector column;
        for (std::size_t t = first; t < first + count; ++t) column.push_back(x[t][i]);
        column = standardised(column, true, layer.eps);
        for (std::size_t t = first; t < first + count; ++t) x[t][i] = column[t - first];
      }
    }
    return x;
  }
  Rows run(const Norm& layer, Rows x) {
    const std::size_t length = x.size() / static_cast<std::size_t>(network_.batch);
    if (layer.kind == NormKind::batchnorm) x = over_samples(layer, x, x.size());
    if (layer.kind == NormKind::instancenorm) x = over_samples(layer, x, length);
    for (Vector& row : x) {
      if (layer.kind == NormKind::layernorm) row = standardised(row, true, layer.eps);
      if (layer.kind == NormKind::rmsnorm || layer.kind == NormKind::scalenorm) {
        row = standardised(row, false, layer.eps);
      }
    }
    if (layer.kind == NormKind::dyt) {
      const double alpha = next()[0][0];
      for (Vector& row : x)
        for (double& entry : row) entry = std::tanh(alpha * entry);
    }
    if (layer.affine) {
      Vector gain = next()[0];
      const Vector shift = next()[0];
      if (layer.gain_offset)
        for (double& entry : gain) entry += 1.0;
      for (Vector& row : x) {
        for (std::size_t i = 0; i < row.size(); ++i) row[i] = gain[i] * row[i] + shift[i];
      }
    }
    for (Vector& row : x)
      for (double& entry : row) entry *= layer.scale;
    return x;
  }
  static void normalise_heads(Rows& x, std::int64_t width, double eps) {
    for (Vector& row : x) {
      for (auto head = row.begin(); head != row.end(); head += width) {
        const Vector unit = standardised(Vector(head, head + width), false, eps);
        std::copy(unit.begin(), unit.end(), head);
      }
    }
  }
  void turn_heads(const Attention& layer, Rows& x) const {
    const auto width = static_cast<std::size_t>(layer.rotary.width), half = width / 2;
    const std::size_t length = x.size() / static_cast<std::size_t>(network_.batch);
    const auto step = static_cast<std::size_t>(layer.head_width);
    for (std::size_t row = 0; row < x.size(); ++row)
      for (std::size_t head = 0; head < x[row].size(); head += step)
        for (std::size_t j = 0; j < half; ++j) {
          const double theta = layer.rotary.theta.empty()
                                   ? 1 / std::pow(layer.rotary.base, static_cast<double>(j) /
                                                                         static_cast<double>(half))
                                   : layer.rotary.theta[j];
          const double angle = static_cast<double>(row % length) * theta;
          double &a = x[row][head + j], &b = x[row][head + j + half];
          const double turned = a * std::cos(angle) - b * std::sin(angle);
          b = layer.rotary.attention * (a * std::sin(angle) + b * std::cos(angle));
          a = layer.rotary.attention * turned;
        }
  }
  Rows run(const Attention& layer, const Rows& x) {
    const Rows& from = layer.over_memory ? memory_ : x;
    Rows q = run(layer.q, x), k = run(layer.k, from);
    Rows v = run(layer.v, from);
    if (layer.gives_values) first_values_ = v;
    if (layer.value_residual != 0)
      v = sum(1 - layer.value_residual, v, layer.value_residual, first_values_);
    if (layer.relative.is_own) biases_ = next();
    if (layer.qk_norm) {
      const std::int64_t all = layer.qk_norm_all ? layer.heads : 1;
      normalise_heads(q, all * layer.head_width, layer.qk_norm_eps);
      const std::int64_t all_keys = layer.qk_norm_all ? layer.kv_heads : 1;
      normalise_heads(k, all_keys * layer.head_width, layer.qk_norm_eps);
    }
    turn_heads(layer, q);
    turn_heads(layer, k);
    Rows mix(q.size(), Vector(q[0].size(), 0.0));
    Rows scored;  // query by query, head by head
    const auto batch = static_cast<std::size_t>(network_.batch);
    const std::size_t length = q.size() / batch, keys = k.size() / batch;
    const auto width = static_cast<std::size_t>(layer.head_width);
    for (std::size_t t = 0; t < q.size(); ++t) {
      const std::size_t first = t / length * keys;
      const bool causal = layer.causal && !layer.over_memory;
      const std::size_t end = causal ? t + 1 : first + keys;
      for (std::size_t h = 0; h < static_cast<std::size_t>(layer.heads); ++h) {
        const std::size_t at = h * width;
        const std::size_t key_at =
            h / static_cast<std::size_t>(layer.heads / layer.kv_heads) * width;
        double sum = 0.0;
        Vector p(end, 0.0);
        const std::size_t seen = layer.window > 0 ? static_cast<std::size_t>(layer.window) : end;
        const std::size_t begin = std::max(first, end > seen ? end - seen : 0);
        for (std::size_t s = begin; s < end; ++s) {
          for (std::size_t i = 0; i < width; ++i) {
            p[s] += layer.scale * q[t][at + i] * k[s][key_at + i];
          }
          if (layer.softcap != 0) p[s] = layer.softcap * std::tanh(p[s] / layer.softcap);
          if (layer.alibi != 0)
            p[s] -= layer.alibi *
                    std::pow(2.0, -8.0 * (1.0 + static_cast<double>(h)) /
                                      static_cast<double>(layer.heads)) *
                    static_cast<double>(t - s);  // heads: a power of two
          if (layer.relative.buckets > 0) {
            const auto to = static_cast<std::int64_t>(s) - static_cast<std::int64_t>(t);
            const std::int64_t bucket = relative_bucket(layer.relative, layer.causal, to);
            p[s] += biases_[static_cast<std::size_t>(bucket)][h];
          }
          if (layer.residual_attention && !scores_.empty()) p[s] += scores_[scored.size()][s];
        }
        scored.push_back(p);
        for (std::size_t s = begin; s < end; ++s) sum += p[s] = std::exp(p[s]);
        for (std::size_t s = begin; s < end; ++s) {
          for (std::size_t i = 0; i < width; ++i) mix[t][at + i] += p[s] / sum * v[s][key_at + i];
        }
      }
    }
    if (layer.residual_attention) scores_ = std::move(scored);
    return run(layer.o, layer.norm ? run(*layer.norm, mix) : mix);
  }
  Rows run(const std::vector<Layer>& layers, Rows x) {
    for (const Layer& layer : layers) x = apply(layer, x);
    return x;
  }
  static Rows sum(double a, Rows x, double b, const Rows& f) {
    for (std::size_t t = 0; t < x.size(); ++t) {
      for (std::size_t i = 0; i < x[t].size(); ++i) x[t][i] = a * x[t][i] + b * f[t][i];
    }
    return x;
  }
  double scalar(const Residual& layer) {
    return layer.trainable_branch ? next()[0][0] : layer.branch;
  }
  Rows run(const Residual& layer, const Rows& x) {
    Rows branch = run(layer.body, x);
    double b = 1.0;
    if (layer.scale_features > 1) {
      const Vector factors = next()[0];
      for (Vector& row : branch)
        for (std::size_t i = 0; i < row.size(); ++i) row[i] *= factors[i];
    } else {
      b = scalar(layer);
    }
    const Rows y = sum(layer.skip, run(layer.shortcut, x), b, branch);
    return layer.norm ? run(*layer.norm, y) : y;
  }
  Rows run(const DualStream& layer, Rows x) {
    Rows z = x;
    for (const Residual& sublayer : layer.sublayers) {
      const Rows branch = run(sublayer.body, x);
      const double b = scalar(sublayer);
      x = sum(sublayer.skip, x, b, branch);
      if (sublayer.norm) x = run(*sublayer.norm, x);
      z = sum(1.0, z, b, branch);
    }
    return sum(1.0, x, 1.0, run(layer.norm, z));
  }
  Rows run(const Parallel& layer, const Rows& x) {
    Rows y = run(layer.branches.front(), x);
    for (std::size_t i = 1; i < layer.branches.size(); ++i)
      y = sum(1.0, y, 1.0, run(layer.branches[i], x));
    return y;
  }
  /// The largest scores first, each expert by itself.
  Rows run(const Experts& layer, const Rows& x) {
    const Rows scores = run(layer.router, x);
    Rows y;
    std::vector<std::vector<double>> weights(x.size());
    for (std::size_t t = 0; t < x.size(); ++t) {
      std::vector<double>& w = weights[t];
      double all = 0;
      for (const double z : scores[t]) {
        const bool sigmoid = layer.score == Experts::Score::sigmoid;
        w.push_back(sigmoid ? 1 / (1 + std::exp(-z)) : std::exp(z));
        all += w.back();
      }
      std::vector<double> sorted = scores[t];
      std::sort(sorted.rbegin(), sorted.rend());
      double chosen = 0;
      for (std::size_t e = 0; e < w.size(); ++e) {
        if (scores[t][e] < sorted[static_cast<std::size_t>(layer.top_k - 1)]) w[e] = 0;
        chosen += w[e];
      }
      if (layer.score == Experts::Score::softmax || layer.normalised)
        for (double& weight : w) weight /= layer.normalised ? chosen : all;
    }
    for (std::size_t e = 0; e < layer.experts.size(); ++e) {
      Rows part = run(layer.experts[e], x);
      for (std::size_t t = 0; t < part.size(); ++t)
        for (double& entry : part[t]) entry *= weights[t][e];
      y = e == 0 ? part : sum(1.0, y, 1.0, part);
    }
    return y;
  }
  /// An encoder has scores of its own, and the stream goes by.
  Rows run(const Encoder& layer, const Rows& x) {
    Rows scores;
    scores.swap(scores_);
    memory_ = run(layer.layers, memory_);
    scores.swap(scores_);
    return x;
  }
  /// Of each sample one row, and the stream goes by.
  Rows run(const ConditionLayer& layer, const Rows& x) {
    Rows c = run(layer.layers, condition_);
    if (layer.classes > 0) {
      const Rows table = next();
      for (std::size_t b = 0; b < c.size(); ++b)
        for (std::size_t i = 0; i < c[b].size(); ++i)
          c[b][i] += table[static_cast<std::size_t>(labels_[b])][i];
    }
    condition_ = run(layer.activated, std::move(c));
    return x;
  }
  Rows run(const Modulation& layer, Rows x) {
    const Rows factor = run(layer.factor, condition_);
    const Rows shift = layer.shift ? run(*layer.shift, condition_) : Rows();
    const std::size_t tokens = x.size() / condition_.size();
    for (std::size_t t = 0; t < x.size(); ++t)
      for (std::size_t i = 0; i < x[t].size(); ++i) {
        const double s = factor[t / tokens][i];
        x[t][i] = layer.shift ? x[t][i] * (1 + s) + shift[t / tokens][i] : x[t][i] * s;
      }
    return x;
  }
  Rows run(const Gated& layer, const Rows& x) {
    Rows gate = run(layer.gate, x);
    const Rows in = run(layer.in, x);
    for (std::size_t t = 0; t < gate.size(); ++t) {
      for (std::size_t i = 0; i < gate[t].size(); ++i) {
        gate[t][i] = phi(layer.function, gate[t][i]) * in[t][i];
      }
    }
    return gate;
  }
  Rows run(const Pool& layer, const Rows& x) {
    const auto batch = static_cast<std::size_t>(network_.batch);
    const std::size_t length = x.size() / batch;
    const std::size_t skipped = layer.of == Pool::Of::rest
                                    ? static_cast<std::size_t>(layer.class_tokens)
                                : layer.of == Pool::Of::last ? length - 1
                                                             : 0;
    const std::size_t end = layer.of == Pool::Of::first ? 1 : length;
    Rows y(batch, Vector(x[0].size(), 0.0));
    for (std::size_t t = 0; t < x.size(); ++t) {
      if (t % length < skipped || t % length >= end) continue;
      for (std::size_t i = 0; i < x[t].size(); ++i) {
        y[t / length][i] += x[t][i] / static_cast<double>(end - skipped);
      }
    }
    return y;
  }
  Rows run(const ClassTokens& layer, const Rows& x) {
    const Rows front = layer.count > 0 ? next() : Rows{};
    const auto others = static_cast<std::size_t>(layer.tokens - layer.count);
    Rows y;
    for (std::size_t t = 0; t < x.size(); ++t) {
      if (t % others == 0) y.insert(y.end(), front.begin(), front.end());
      y.push_back(x[t]);
    }
    if (layer.position_std == 0.0 && !layer.sinusoids) return y;
    const Rows positions = layer.sinusoids ? sinusoid_rows(layer) : next();
    for (std::size_t t = 0; t < y.size(); ++t)
      for (std::size_t i = 0; i < y[t].size(); ++i) y[t][i] += positions[t % positions.size()][i];
    return y;
  }
  /// Along sequences; a kernel over images is tested by itself.
  Rows run(const Conv2d& layer, const Rows& x) {
    REQUIRE(layer.one_row);
    const Rows w = next(), b = layer.weight.bias ? next() : Rows{};
    const std::int64_t in = layer.in_channels / layer.groups;
    const std::int64_t out = layer.out_channels / layer.groups;
    Rows y;
    for (std::int64_t sequence = 0; sequence < network_.batch; ++sequence)
      for (std::int64_t t = 0; t < layer.out_width(); ++t) {
        Vector row = b.empty() ? Vector(w[0].size(), 0.0) : b[0];
        for (std::int64_t o = 0; o < layer.out_channels; ++o)
          for (std::int64_t j = 0; j < layer.kernel; ++j) {
            const std::int64_t from = t * layer.stride + j - layer.padding;
            if (from < 0 || from >= layer.width) continue;
            const Vector& seen = x[static_cast<std::size_t>(sequence * layer.width + from)];
            for (std::int64_t i = 0; i < in; ++i)
              row[static_cast<std::size_t>(o)] +=
                  seen[static_cast<std::size_t>(o / out * in + i)] *
                  w[static_cast<std::size_t>(j * in + i)][static_cast<std::size_t>(o)];
          }
        y.push_back(row);
      }
    return y;
  }
  template <class Other>
  Rows run(const Other&, const Rows&) {
    FAIL("the interpreter does not have this layer");
    return {};
  }
  Rows run(const Embedding& layer, const Rows& ids) {
    const Rows table = next();
    const Rows positions =
        layer.position_std > 0.0 ? next() : Rows(1, Vector(table[0].size(), 0.0));
    const Vector segment = layer.segments > 0 ? next().front() : Vector(table[0].size(), 0.0);
    Rows y;
    for (std::size_t t = 0; t < ids.size(); ++t) {
      Vector row = table[static_cast<std::size_t>(ids[t][0])];
      for (std::size_t i = 0; i < row.size(); ++i)
        row[i] = layer.multiplier * row[i] + segment[i] + positions[t % positions.size()][i];
      y.push_back(row);
    }
    return y;
  }

  const Network& network_;
  const Passes<double>& passes_;
  Rows memory_, condition_;
  const std::int32_t* labels_ = nullptr;
  Rows scores_;  ///< of residual attention
  Rows first_values_;
  Rows biases_;  ///< the last table of scores' biases
  std::size_t used_ = 0;
};

}  // namespace scalecalc::passes
