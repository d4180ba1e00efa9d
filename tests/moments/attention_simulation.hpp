#pragma once

#include <Eigen/Dense>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "sample.hpp"

/// One attention layer with real numbers: random tokens, weights and output gradients, forward and
/// backward by hand. Nothing of the rules is used here.
namespace scalecalc::testing {

using Eigen::MatrixXd;

struct AttentionCase {
  int tokens = 12, width = 48, heads = 2, kv_heads = 2;
  double cosine = 0.4;          ///< of tokens, of second 1
  double gradient_cross = 0.5;  ///< of the mix's gradient, of second 1
  double aligned = 0;           ///< times the mix, added to that gradient
  double q_std = 1, scale = 0;  ///< times 1/sqrt(width); 0: 1/sqrt(head_width)
  bool causal = false, qk_norm = false, normalised = false;
  bool qk_norm_all = false;  ///< over all heads' features at once
  double qk_norm_eps = 0;
  double bias = 0;  ///< variance of those of queries and keys
  double dropout = 0;
  int before = 0;  ///< attentions of the same tokens whose scores are added
  int memory = 0;  ///< tokens of a memory with cosine memory_cosine; 0: the tokens themselves
  double memory_cosine = 0;

  int head_width() const { return width / heads; }
  double score_scale() const { return scale > 0 ? scale : 1 / std::sqrt(head_width()); }
};

class AttentionSimulation {
 public:
  AttentionSimulation(const AttentionCase& layer, std::uint64_t seed)
      : layer_(layer), random_(seed) {}

  std::map<std::string, Sample> run(int draws) {
    for (int i = 0; i < draws; ++i) draw();
    return samples_;
  }

 private:
  MatrixXd normals(int rows, int columns, double std) {
    return MatrixXd::NullaryExpr(rows, columns, [&] { return std * normal_(random_); });
  }
  /// Rows of second 1 that share a part: E x_t x_s = cross.
  MatrixXd rows(int count, int columns, double cross) {
    MatrixXd out = normals(count, columns, std::sqrt(1 - cross));
    out.rowwise() += normals(1, columns, std::sqrt(cross)).row(0);
    return out;
  }
  MatrixXd tokens(int count, double cosine) {
    MatrixXd x = rows(count, layer_.width, cosine);
    if (!layer_.normalised) return x;
    const double length = std::sqrt(static_cast<double>(layer_.width));
    return (x.rowwise().normalized() * length).eval();
  }
  MatrixXd rms_rows(const MatrixXd& x, Eigen::VectorXd& rms) const {
    rms = (x.rowwise().squaredNorm().array() / static_cast<double>(x.cols()) + layer_.qk_norm_eps)
              .sqrt();
    return rms.cwiseInverse().asDiagonal() * x;
  }
  static MatrixXd rms_backward(const MatrixXd& y, const Eigen::VectorXd& rms, const MatrixXd& g) {
    const Eigen::VectorXd along = y.cwiseProduct(g).rowwise().sum() / static_cast<double>(y.cols());
    return rms.cwiseInverse().asDiagonal() * (g - along.asDiagonal() * y);
  }
  /// A mean over rows and over pairs of different rows, per feature.
  void note(const std::string& name, const MatrixXd& x) {
    const double n = static_cast<double>(x.rows()), d = static_cast<double>(x.cols());
    const double own = x.squaredNorm(), all = x.colwise().sum().squaredNorm();
    samples_[name + ".second"].add(own / (n * d));
    if (n > 1) samples_[name + ".cross"].add((all - own) / (n * (n - 1) * d));
    if (!layer_.causal) return;
    for (Eigen::Index t = 0; t < x.rows(); ++t)
      samples_[name + "[" + std::to_string(t) + "]"].add(x.row(t).squaredNorm() / d);
    const Eigen::Index last = x.rows() - 1;
    samples_[name + "[early]"].add(x.row(1).dot(x.row(last)) / d);
    samples_[name + "[late]"].add(x.row(last / 2).dot(x.row(last)) / d);
  }
  void head(int h, const MatrixXd& gradient);
  void draw();

  AttentionCase layer_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::map<std::string, Sample> samples_;
  MatrixXd q_, k_, v_, mix_, q_back_, k_back_, v_back_;
  std::vector<MatrixXd> q_before_, k_before_;
  MatrixXd q_before_back_, k_before_back_;  ///< of the first of them
};

inline void AttentionSimulation::head(int h, const MatrixXd& gradient) {
  const int size = layer_.head_width(), at = h * size;
  const int kv = h / (layer_.heads / layer_.kv_heads) * size;
  MatrixXd q = q_.middleCols(at, size), k = k_.middleCols(kv, size);
  const MatrixXd v = v_.middleCols(kv, size);
  Eigen::VectorXd q_rms, k_rms;
  const bool of_head = layer_.qk_norm && !layer_.qk_norm_all;
  if (of_head) {
    q = rms_rows(q, q_rms);
    k = rms_rows(k, k_rms);
  }
  MatrixXd p = layer_.score_scale() * q * k.transpose();
  for (std::size_t i = 0; i < q_before_.size(); ++i)
    p += layer_.score_scale() * q_before_[i].middleCols(at, size) *
         k_before_[i].middleCols(kv, size).transpose();
  for (Eigen::Index t = 0; t < p.rows(); ++t) {
    const Eigen::Index seen = layer_.causal ? t + 1 : p.cols();
    const double top = p.row(t).head(seen).maxCoeff();
    p.row(t).head(seen) = (p.row(t).head(seen).array() - top).exp().matrix();
    p.row(t).tail(p.cols() - seen).setZero();
    p.row(t) /= p.row(t).sum();
  }
  MatrixXd kept = MatrixXd::Ones(p.rows(), p.cols());
  std::uniform_real_distribution<double> uniform;
  if (layer_.dropout > 0)
    kept = kept.unaryExpr(
        [&](double) { return uniform(random_) < layer_.dropout ? 0.0 : 1 / (1 - layer_.dropout); });
  const MatrixXd used = p.cwiseProduct(kept);
  mix_.middleCols(at, size) = used * v;
  const MatrixXd g = gradient.middleCols(at, size) + layer_.aligned * mix_.middleCols(at, size);
  v_back_.middleCols(kv, size) += used.transpose() * g;
  const MatrixXd p_back = (g * v.transpose()).cwiseProduct(kept);
  const Eigen::VectorXd along = p.cwiseProduct(p_back).rowwise().sum();
  const MatrixXd s_back =
      layer_.score_scale() * p.cwiseProduct(p_back - along.replicate(1, p.cols()));
  if (!q_before_.empty()) {
    q_before_back_.middleCols(at, size) = s_back * k_before_[0].middleCols(kv, size);
    k_before_back_.middleCols(kv, size) += s_back.transpose() * q_before_[0].middleCols(at, size);
  }
  MatrixXd to_q = s_back * k, to_k = s_back.transpose() * q;
  if (of_head) {
    to_q = rms_backward(q, q_rms, to_q);
    to_k = rms_backward(k, k_rms, to_k);
  }
  q_back_.middleCols(at, size) = to_q;
  k_back_.middleCols(kv, size) += to_k;
}

inline void AttentionSimulation::draw() {
  const int d = layer_.width, kv = layer_.kv_heads * layer_.head_width();
  const double std = 1 / std::sqrt(static_cast<double>(d));
  const MatrixXd x = tokens(layer_.tokens, layer_.cosine);
  const MatrixXd source = layer_.memory > 0 ? tokens(layer_.memory, layer_.memory_cosine) : x;
  const MatrixXd wq = normals(d, d, layer_.q_std * std), wk = normals(d, kv, std);
  const MatrixXd wv = normals(d, kv, std);
  q_ = x * wq;
  k_ = source * wk;
  v_ = source * wv;
  if (layer_.bias > 0) {
    q_.rowwise() += normals(1, d, std::sqrt(layer_.bias)).row(0);
    k_.rowwise() += normals(1, kv, std::sqrt(layer_.bias)).row(0);
  }
  q_before_.clear();
  k_before_.clear();
  for (int i = 0; i < layer_.before; ++i) {
    q_before_.push_back(x * normals(d, d, layer_.q_std * std));
    k_before_.push_back(x * normals(d, kv, std));
  }
  q_before_back_.setZero(x.rows(), d);
  k_before_back_.setZero(x.rows(), kv);
  mix_.setZero(x.rows(), d);
  q_back_.setZero(x.rows(), d);
  k_back_.setZero(source.rows(), kv);
  v_back_.setZero(source.rows(), kv);
  const MatrixXd gradient = rows(layer_.tokens, d, layer_.gradient_cross);
  Eigen::VectorXd q_rms, k_rms;
  if (layer_.qk_norm_all) {
    q_ = rms_rows(q_, q_rms);
    k_ = rms_rows(k_, k_rms);
  }
  for (int h = 0; h < layer_.heads; ++h) head(h, gradient);
  if (layer_.qk_norm_all) {
    q_back_ = rms_backward(q_, q_rms, q_back_);
    k_back_ = rms_backward(k_, k_rms, k_back_);
  }
  note("mix", mix_);
  note("q", q_back_);
  note("k", k_back_);
  note("v", v_back_);
  samples_["q_weight"].add((x.transpose() * q_back_).squaredNorm() / (1.0 * d * d));
  samples_["k_weight"].add((source.transpose() * k_back_).squaredNorm() / (1.0 * d * kv));
  if (layer_.qk_norm && layer_.bias > 0)
    samples_["k_bias"].add(k_back_.colwise().sum().squaredNorm() / (1.0 * kv));
  samples_["v_weight"].add((source.transpose() * v_back_).squaredNorm() / (1.0 * d * kv));
  if (layer_.before > 0) {
    note("q_before", q_before_back_);
    note("k_before", k_before_back_);
    samples_["q_before_weight"].add((x.transpose() * q_before_back_).squaredNorm() / (1.0 * d * d));
    samples_["k_before_weight"].add((x.transpose() * k_before_back_).squaredNorm() /
                                    (1.0 * d * kv));
  }
  const MatrixXd back = q_back_ * wq.transpose();
  note("input",
       layer_.memory > 0 ? back : back + k_back_ * wk.transpose() + v_back_ * wv.transpose());
}

}  // namespace scalecalc::testing
