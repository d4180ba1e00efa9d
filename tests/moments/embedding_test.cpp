#include "moments/layers/embedding.hpp"

#include <Eigen/Dense>
#include <random>
#include <string>

#include "sample.hpp"
#include "support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

/// A table that is the head too, behind a norm of the stream alone.
struct TiedTable {
  static constexpr int width = 48, tokens = 12, batch = 3;
  static constexpr double word = 0.05, place = 0.04;  ///< variances
  Sample rows, places;                                ///< of gradients
};
TiedTable tied_table(int vocab, bool positions, bool is_mse) {
  constexpr int width = TiedTable::width, tokens = TiedTable::tokens;
  constexpr int draws = 1500;
  constexpr int samples = tokens * TiedTable::batch;
  std::mt19937_64 bits(3);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> any(0, vocab - 1);
  const auto matrix = [&](int rows, int columns, double variance) {
    return Eigen::MatrixXd(Eigen::MatrixXd::NullaryExpr(
        rows, columns, [&] { return std::sqrt(variance) * normal(bits); }));
  };
  TiedTable found;
  for (int draw = 0; draw < draws; ++draw) {
    const Eigen::MatrixXd table = matrix(vocab, width, TiedTable::word),
                          at = matrix(tokens, width, positions ? TiedTable::place : 0);
    Eigen::MatrixXd rows = Eigen::MatrixXd::Zero(vocab, width),
                    places = Eigen::MatrixXd::Zero(tokens, width);
    for (int i = 0; i < samples; ++i) {
      const int own = any(bits), t = i % tokens;
      const Eigen::RowVectorXd x = table.row(own) + at.row(t);
      const double size = std::sqrt(x.squaredNorm() / width);
      const Eigen::RowVectorXd h = x / size;
      Eigen::RowVectorXd of_logits = h * table.transpose();
      if (is_mse) {
        for (double& y : of_logits) y -= normal(bits);
      } else {
        of_logits = (of_logits.array() - of_logits.maxCoeff()).exp();
        of_logits /= of_logits.sum();
        of_logits[any(bits)] -= 1;
      }
      of_logits /= samples;
      const Eigen::RowVectorXd below = of_logits * table;
      const Eigen::RowVectorXd g = (below - h * (below.dot(h) / width)) / size;
      rows += of_logits.transpose() * h;
      rows.row(own) += g;
      places.row(t) += g;
    }
    found.rows.add(rows.squaredNorm() / (vocab * width));
    found.places.add(places.squaredNorm() / (tokens * width));
  }
  return found;
}

}  // namespace

// Of few words most of the gradient of a tied table is of pairs of tokens, where the product of
// both parts and what all other words have by the zero sum are a third of it.
TEST_CASE("a table that is the head too: its gradient and that of the positions, against draws") {
  for (const int vocab : {4, 8, 40})
    for (const bool positions : {true, false})
      for (const std::string loss : {"cross-entropy", "mse"}) {
        CAPTURE(vocab);
        CAPTURE(positions);
        CAPTURE(loss);
        const bool is_mse = loss == "mse";
        // Weights of branches so small that nothing comes through these.
        const Trace trace = trace_of_model(
            "model = {kind=\"transformer\", layers=1, placement=\"pre\", norm=\"rmsnorm\", "
            "norm_eps=0, heads=1, tie_head=true, bias=false, width=" +
            std::to_string(TiedTable::width) +
            ", ffn=8, sequence=" + std::to_string(TiedTable::tokens) +
            ", batch=" + std::to_string(TiedTable::batch) + ", vocab=" + std::to_string(vocab) +
            "}\ninit = {scheme={std=1e-9}}\ninput = {kind=\"tokens\", second=" +
            std::to_string(TiedTable::word) + ", positions=" +
            std::to_string(positions ? TiedTable::place : 0) + "}\nloss = {kind=\"" + loss +
            "\", reduction=\"mean\"" + (is_mse ? ", target_second=1" : "") + "}\n");
        const TiedTable found = tied_table(vocab, positions, is_mse);
        constexpr double deviations = 4;
        // What is left out of 1/d: M^2 beside what the own logit varies by, with rho^2 the word's
        // share of E h^2. Gradients of a squared error go as M^4.
        const double share =
            TiedTable::word / (TiedTable::word + (positions ? TiedTable::place : 0));
        const double varies = (1 - share / 2) / (TiedTable::width * share);
        const double next = (is_mse ? 4 : 2) * varies;
        const auto compare = [&](const ParameterMoments& made, const Sample& of) {
          CAPTURE(made.path);
          const double error = deviations * of.standard_error() + next * of.mean();
          CHECK(made.grad_second.value == within(of.mean(), error + made.grad_second.truncation));
        };
        compare(parameter(trace, "embedding.weight"), found.rows);
        if (positions) compare(parameter(trace, "embedding.position"), found.places);
      }
}
