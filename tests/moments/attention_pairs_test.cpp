#include "moments/attention_pairs.hpp"

#include "attention_predicted.hpp"
#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

TEST_CASE("what comes back through scores gives weights below what sums of x g have beyond pairs") {
  AttentionRecord<Numbers, Alike<double>> record;
  record.counts.keys = 7;
  record.batch = 3;
  const OverlapDeviation overlaps{0.2, 0.01, 1};
  const double beyond = 0.3;
  const OverlapSlopes slopes{slope_of_scores(record, overlaps, beyond), {}};
  CHECK(overlap_covariance(slopes, overlaps, 1, {7, 3}) == near(beyond));
  record.words = true;
  CHECK(slope_of_scores(record, overlaps, beyond).own == 0);
}

namespace {

/// Of scores so small that weights are even: (dL/dWq)^2 and (dL/dWk)^2 of an entry, of two
/// sequences whose tokens and gradients all have as much in common.
struct TwoSequences {
  Sample query, key;
  TwoSequences(const AttentionCase& of, int draws) {
    std::mt19937_64 bits(11);
    std::normal_distribution<double> normal;
    const int d = of.width, tokens = of.tokens;
    const auto normals = [&](int rows, double std) {
      return MatrixXd(MatrixXd::NullaryExpr(rows, d, [&] { return std * normal(bits); }));
    };
    const double std = 1 / std::sqrt(static_cast<double>(d));
    for (int draw = 0; draw < draws; ++draw) {
      const MatrixXd wq = normals(d, std), wk = normals(d, std), wv = normals(d, std),
                     shared = normals(1, std::sqrt(of.cosine)),
                     of_all = normals(1, std::sqrt(of.gradient_cross));
      MatrixXd to_query = MatrixXd::Zero(d, d), to_key = MatrixXd::Zero(d, d);
      for (int sequence = 0; sequence < 2; ++sequence) {
        MatrixXd x = normals(tokens, std::sqrt(1 - of.cosine)),
                 g = normals(tokens, std::sqrt(1 - of.gradient_cross));
        x.rowwise() += shared.row(0);
        g.rowwise() += of_all.row(0);
        const MatrixXd about = x.rowwise() - x.colwise().mean();
        const MatrixXd scores = of.scale / tokens * g * (about * wv).transpose();
        to_query += x.transpose() * scores * (x * wk);
        to_key += x.transpose() * scores.transpose() * (x * wq);
      }
      query.add(to_query.squaredNorm() / (d * d));
      key.add(to_key.squaredNorm() / (d * d));
    }
  }
};

}  // namespace

// Of 32 tokens of 16 features a third of both is of pairs of two sequences.
TEST_CASE("pairs of two sequences in the gradients of queries' and keys' weights, against draws") {
  AttentionCase of;
  of.tokens = 32;
  of.width = 16;
  of.heads = of.kv_heads = 1;
  of.scale = 1e-4;
  const TwoSequences found(of, 4000);

  Numbers numbers{PropagateOptions{}};
  const std::string place = "attn";
  numbers.enter(place);
  const Attention layer = attention(of);
  const Counts counts{static_cast<double>(of.tokens), 2};
  const Signal<Alike<double>> input =
      signal(Alike<double>{0, 1, of.cosine, of.cosine}, of, of.tokens, of.cosine);
  const Alike<double> gradient{0, 1, of.gradient_cross, of.gradient_cross};
  const Signal<Alike<double>>* const memory = nullptr;
  const auto forward = attention_forward(numbers, layer, input, memory, counts);
  auto made = attention_backward(numbers, layer, forward.record, gradient, 0.0);
  add_between_sequences(numbers, layer, forward.record, relative_overlap(input), of.gradient_cross,
                        0, made);
  constexpr double deviations = 4;
  const auto close = [&](double predicted, const Sample& sample) {
    const double error =
        deviations * sample.standard_error() + static_cast<double>(made.q_truncation) * predicted;
    CHECK(std::abs(predicted - sample.mean()) < error);
  };
  close(made.q_weight, found.query);
  close(made.k_weight, found.key);
}
