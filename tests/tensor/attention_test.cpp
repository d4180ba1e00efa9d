#include <doctest/doctest.h>

#include <limits>

#include "attention_shape.hpp"
#include "support.hpp"
#include "tensor/ops.hpp"

namespace scalecalc::tensor {
namespace {

OperationRun attention_run(const AttentionShape& s, int threads = 1) {
  const std::int64_t rows = s.sequences * s.tokens, keys = s.sequences * s.key_tokens();
  return {[s](Tape<double>& tape, const std::vector<Variable<double>>& in) {
            return attend(tape, s, in[0], in[1], in[2]);
          },
          {random_input(rows, s.width(), 1), random_input(keys, s.key_width(), 2),
           random_input(keys, s.key_width(), 3)},
          threads};
}

/// One head of one sequence with loops and the whole softmax Jacobian diag(p) - p p^T.
class Loops {
 public:
  explicit Loops(const AttentionShape& s) : s_(s) {
    const auto size = static_cast<std::size_t>(s.sequences * s.tokens * s.width());
    const auto key_size = static_cast<std::size_t>(s.sequences * s.key_tokens() * s.key_width());
    q = normal_values(size, 1);
    k = normal_values(key_size, 2);
    v = normal_values(key_size, 3);
    dmix = normal_values(size, 4);
    mix = dq = Vector(size, 0.0);
    dk = dv = Vector(key_size, 0.0);
    mask_ = Vector(static_cast<std::size_t>(s.weight_rows() * s.key_tokens()));
    fill_uniform(s.mask, 0, static_cast<std::int64_t>(mask_.size()), mask_.data());
    for (double& m : mask_) m = m < s.dropout ? 0.0 : 1.0 / (1.0 - s.dropout);
    for (std::int64_t b = 0; b < s.sequences; ++b) {
      for (std::int64_t h = 0; h < s.heads; ++h) {
        for (std::int64_t t = 0; t < s.tokens; ++t) query(b, h, t);
      }
    }
  }
  Vector q, k, v, dmix, mix, dq, dk, dv;

 private:
  std::size_t at(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t i) const {
    return static_cast<std::size_t>((b * s_.tokens + t) * s_.width() + h * s_.head_width + i);
  }
  std::size_t key_at(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t i) const {
    const std::int64_t head = h / (s_.heads / s_.key_heads());
    return static_cast<std::size_t>((b * s_.key_tokens() + t) * s_.key_width() +
                                    head * s_.head_width + i);
  }
  double mask(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t u) const {
    const std::int64_t row = (b * s_.heads + h) * s_.tokens + t;
    return mask_[static_cast<std::size_t>(row * s_.key_tokens() + u)];
  }
  void query(std::int64_t b, std::int64_t h, std::int64_t t) {
    const std::int64_t keys = s_.causal ? t + 1 : s_.key_tokens();
    Vector p(static_cast<std::size_t>(keys), 0.0), dp = p;
    double sum = 0.0;
    for (std::int64_t u = 0; u < keys; ++u) {
      double score = 0.0;
      for (std::int64_t i = 0; i < s_.head_width; ++i) {
        score += q[at(b, h, t, i)] * k[key_at(b, h, u, i)];
      }
      sum += p[static_cast<std::size_t>(u)] = std::exp(s_.scale * score);
    }
    for (double& weight : p) weight /= sum;
    for (std::int64_t u = 0; u < keys; ++u) {
      const auto key = static_cast<std::size_t>(u);
      const double kept = mask(b, h, t, u);
      for (std::int64_t i = 0; i < s_.head_width; ++i) {
        mix[at(b, h, t, i)] += kept * p[key] * v[key_at(b, h, u, i)];
        dv[key_at(b, h, u, i)] += kept * p[key] * dmix[at(b, h, t, i)];
        dp[key] += kept * dmix[at(b, h, t, i)] * v[key_at(b, h, u, i)];
      }
    }
    for (std::int64_t u = 0; u < keys; ++u) {
      double ds = 0.0;
      for (std::int64_t w = 0; w < keys; ++w) {
        const double pu = p[static_cast<std::size_t>(u)], pw = p[static_cast<std::size_t>(w)];
        ds += ((u == w ? pu : 0.0) - pu * pw) * dp[static_cast<std::size_t>(w)];
      }
      for (std::int64_t i = 0; i < s_.head_width; ++i) {
        dq[at(b, h, t, i)] += s_.scale * ds * k[key_at(b, h, u, i)];
        dk[key_at(b, h, u, i)] += s_.scale * ds * q[at(b, h, t, i)];
      }
    }
  }
  AttentionShape s_;
  Vector mask_;
};

/// The mix by scores that are made first, those of `before` added: inputs q, k, v, before.
OperationRun scored_run(const AttentionShape& s, bool adds, int threads = 1) {
  std::vector<Input> inputs = {random_input(s.sequences * s.tokens, s.width(), 1),
                               random_input(s.sequences * s.key_tokens(), s.key_width(), 2),
                               random_input(s.sequences * s.key_tokens(), s.key_width(), 3),
                               random_input(s.weight_rows(), s.key_tokens(), 5)};
  return {[s, adds](Tape<double>& tape, const std::vector<Variable<double>>& in) {
            const Variable<double> scores = score(tape, s, in[0], in[1], adds ? &in[3] : nullptr);
            return attend_by(tape, s, scores, in[2]);
          },
          std::move(inputs), threads};
}

const AttentionShape kShapes[] = {
    {1, 1, 1, 1, false, 1.0},
    {1, 1, 2, 3, true, 0.5},
    {1, 2, 1, 1, true, 0.7},
    {2, 5, 3, 3, false, 0.6},
    {2, 5, 3, 3, true, 0.6},
    {1, 9, 1, 5, false, -0.3},
    {3, 4, 2, 7, true, 0.38},
    with({2, 3, 4, 3, true, 0.6}, 2, 0, 0.0),
    with({2, 3, 4, 3, false, 0.6}, 1, 0, 0.0),
    with({2, 3, 2, 3, false, 0.6}, 2, 5, 0.0),
    with({2, 5, 3, 2, true, 0.6}, 3, 0, 0.4),
    with({2, 4, 4, 2, false, 0.6}, 2, 6, 0.3),
};

}  // namespace

TEST_CASE("attention: backward against central differences") {
  for (const AttentionShape& shape : kShapes) {
    CAPTURE(shape.tokens);
    CAPTURE(shape.causal);
    CHECK(attention_run(shape).worst_gradient_error() < 10 * kDifferences);
  }
}

TEST_CASE("attention: against loops and the whole softmax Jacobian") {
  for (const AttentionShape& shape : kShapes) {
    const Loops loops(shape);
    const OperationRun run = attention_run(shape);
    const std::vector<Vector> gradients = run.gradients(loops.dmix);
    // Sums of at most 9 keys by 7 features; ds cancels against terms of order |dmix| |v|.
    CAPTURE(shape.kv_heads);
    CAPTURE(shape.keys);
    CAPTURE(shape.dropout);
    const double tolerance =
        200.0 * std::numeric_limits<double>::epsilon() * (1.0 + norm(loops.dmix) + norm(loops.dv));
    CHECK(distance(run.value(), loops.mix) < tolerance);
    CHECK(distance(gradients[0], loops.dq) < tolerance);
    CHECK(distance(gradients[1], loops.dk) < tolerance);
    CHECK(distance(gradients[2], loops.dv) < tolerance);
  }
}

TEST_CASE("attention: in two steps it is the same") {
  for (const AttentionShape& shape : kShapes) {
    CAPTURE(shape.tokens);
    CAPTURE(shape.causal);
    const OperationRun whole = attention_run(shape), steps = scored_run(shape, false);
    const Vector dmix = normal_values(whole.value().size(), 4);
    CHECK(steps.value() == whole.value());
    const std::vector<Vector> a = whole.gradients(dmix), b = steps.gradients(dmix);
    // Rounded in another order: once more by the scale for each of up to 9 keys and tokens.
    const double tolerance = 200.0 * std::numeric_limits<double>::epsilon();
    for (std::size_t i = 0; i < a.size(); ++i) {
      CHECK(distance(a[i], b[i]) <= tolerance * (norm(a[i]) + norm(dmix)));
    }
  }
}

TEST_CASE("attention: added scores against central differences") {
  for (const AttentionShape& shape : kShapes) {
    CAPTURE(shape.tokens);
    CAPTURE(shape.causal);
    CHECK(scored_run(shape, true).worst_gradient_error() < 10 * kDifferences);
  }
}

// softmax(s + b) of scores s = 0 is that of b: the mix of rows of one key after the other.
TEST_CASE("attention: what is added has its own softmax") {
  const AttentionShape shape{1, 2, 1, 1, false, 1.0};
  const OperationRun run{
      [&](Tape<double>& tape, const std::vector<Variable<double>>& in) {
        return attend_by(tape, shape, score(tape, shape, in[0], in[0], &in[1]), in[2]);
      },
      {Input{2, 1, {0, 0}}, Input{2, 2, {std::log(3), 0, 0, std::log(4)}}, Input{2, 1, {1, -1}}}};
  const Vector mix = run.value();
  CHECK(mix[0] == doctest::Approx(3.0 / 4 - 1.0 / 4));
  CHECK(mix[1] == doctest::Approx(1.0 / 5 - 4.0 / 5));
}

TEST_CASE("attention: large scores neither overflow nor give NaN") {
  AttentionShape shape{1, 4, 1, 2, true, 1e4};
  const OperationRun run = attention_run(shape);
  for (const double x : run.value()) CHECK(std::isfinite(x));
  for (const Vector& gradient : run.gradients(normal_values(8, 4))) {
    for (const double x : gradient) CHECK(std::isfinite(x));
  }
}

TEST_CASE("attention: a causal mix ignores later tokens, the first is its own value") {
  const AttentionShape shape{1, 6, 2, 3, true, 0.5};
  const Vector mix = attention_run(shape).value(), v = random_input(6, 6, 3).values;
  for (std::size_t i = 0; i < 6; ++i) CHECK(mix[i] == v[i]);
}

TEST_CASE("attention: the number of threads does not change a bit") {
  for (const AttentionShape& shape :
       {AttentionShape{3, 17, 4, 6, true, 0.4}, with({3, 17, 4, 6, true, 0.4}, 2, 0, 0.2)}) {
    const Vector dy = normal_values(3 * 17 * 24, 4);
    CHECK(attention_run(shape, 1).value() == attention_run(shape, 2).value());
    CHECK(attention_run(shape, 1).gradients(dy) == attention_run(shape, 2).gradients(dy));
    CHECK(scored_run(shape, true, 1).value() == scored_run(shape, true, 2).value());
    CHECK(scored_run(shape, true, 1).gradients(dy) == scored_run(shape, true, 2).gradients(dy));
  }
}

}  // namespace scalecalc::tensor
