#include "moments/word_averages.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

namespace scalecalc::moments {
namespace {

/// Mean numbers of tokens, over that of the sequence, of the Poisson ensembles.
constexpr std::array<double, 5> kPoissonMeans{0.6, 0.8, 1, 1.2, 1.4};
using Numbers5 = std::array<double, kPoissonMeans.size()>;

/// Of f_N = polynomials in N of degree 4 sum w_j E f_N over Poisson N of means x_j T is f_T:
/// factorial moments of N are powers of the mean, so that the weights are Lagrange's with T (T - 1)
/// ... in the place of powers of T.
Numbers5 weights_at(double tokens) {
  Numbers5 weights{};
  for (std::size_t j = 0; j < kPoissonMeans.size(); ++j) {
    // Coefficients of prod (x - x_i)/(x_j - x_i).
    Numbers5 polynomial{1};
    std::size_t degree = 0;
    for (std::size_t i = 0; i < kPoissonMeans.size(); ++i) {
      if (i == j) continue;
      const double over = kPoissonMeans[j] - kPoissonMeans[i];
      ++degree;
      for (std::size_t k = degree; k > 0; --k)
        polynomial[k] = (polynomial[k - 1] - kPoissonMeans[i] * polynomial[k]) / over;
      polynomial[0] *= -kPoissonMeans[i] / over;
    }
    double power = 1;
    for (std::size_t k = 0; k < kPoissonMeans.size(); ++k) {
      weights[j] += polynomial[k] * power;
      power *= 1 - static_cast<double>(k) / tokens;
    }
  }
  return weights;
}

/// Words of one frequency, each Poisson of mean mu: averages over the number and the score of one,
/// over that of e^(-n x), x = t e^s.
struct OneWord {
  double words = 0;                        ///< how many there are
  double log_none = 0;                     ///< ln E e^(-n x)
  double n2 = 0, n3 = 0, n4 = 0;           ///< E (n x)^k e^(-n x)
  double once2 = 0, once3 = 0, once4 = 0;  ///< E (n x)^k/n e^(-n x)
};

OneWord one_word(double frequency, double share, double tokens, const std::vector<double>& weight,
                 const std::vector<double>& x, const std::vector<double>& left) {
  const double mu = frequency * tokens;
  OneWord out;
  double none = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    // E n^k e^(-n x) of a Poisson number are Touchard's polynomials of mu e^(-x).
    const double nu = mu * left[i], g = weight[i] * std::exp(nu - mu), t2 = x[i] * x[i];
    const double first = nu, second = nu * (1 + nu), third = nu * (1 + nu * (3 + nu)),
                 fourth = nu * (1 + nu * (7 + nu * (6 + nu)));
    none += g;
    out.n2 += g * t2 * second;
    out.n3 += g * t2 * x[i] * third;
    out.n4 += g * t2 * t2 * fourth;
    out.once2 += g * t2 * first;
    out.once3 += g * t2 * x[i] * second;
    out.once4 += g * t2 * t2 * third;
  }
  none = std::max(none, 1e-300);
  for (double* of : {&out.n2, &out.n3, &out.n4, &out.once2, &out.once3, &out.once4}) *of /= none;
  out.words = share / frequency;
  out.log_none = std::log(none);
  return out;
}

}  // namespace

WordFrequencies word_frequencies(double same, double triple, double different, double tokens) {
  constexpr double least_spread = 1e-6;
  if (!(triple > same * same * (1 + least_spread))) return {same, same, 1};
  // Given the lower one, shares and the higher have the moments same and triple.
  const auto at = [&](double low) {
    const double high = std::min(1.0, (triple - same * low) / (same - low));
    return WordFrequencies{high, low, (same - low) / (high - low)};
  };
  const auto seen = [&](const WordFrequencies& words) {
    const auto of = [&](double f) {
      return -std::expm1(tokens * std::log1p(-std::min(f, 1 - 1e-15))) / f;
    };
    return words.often * of(words.high) + (1 - words.often) * of(words.low);
  };
  double rare = 1e-9 * same, common = same * (1 - least_spread);
  constexpr int halvings = 60;
  for (int i = 0; i < halvings; ++i) {
    const double middle = std::sqrt(rare * common);
    (seen(at(middle)) > different ? rare : common) = middle;
  }
  return at(rare);
}

WordAverages word_averages(const WordFrequencies& words, double tokens, double tau2) {
  const double tau = std::sqrt(std::clamp(tau2, 0.0, kMostWordVariance));
  // Steps as those of the rows of equal keys (gaussian/softmax/row.cpp).
  constexpr double reach = 8, step_of_t = 0.5;
  const double step = std::min(0.5, 2 * std::numbers::pi / (6.5 + 10 * tau));
  std::vector<double> weight, factor;
  double total = 0;
  for (double z = -reach; z <= reach; z += step) {
    weight.push_back(std::exp(-z * z / 2));
    factor.push_back(std::exp(tau * z));
    total += weight.back();
  }
  for (double& w : weight) w /= total;
  const Numbers5 weights = weights_at(tokens);
  WordAverages out;
  std::vector<double> x(weight.size()), left(weight.size());
  for (double y = -std::log(tokens) - 6 * tau - 9; y <= 6 * tau + 4; y += step_of_t) {
    const double t = std::exp(y);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = t * factor[i];
      left[i] = std::exp(-x[i]);
    }
    for (std::size_t j = 0; j < kPoissonMeans.size(); ++j) {
      const double mean = kPoissonMeans[j] * tokens;
      const OneWord a = one_word(words.high, words.often, mean, weight, x, left),
                    b = words.often < 1
                            ? one_word(words.low, 1 - words.often, mean, weight, x, left)
                            : OneWord{};
      const double all =
          weights[j] * step_of_t * std::exp(a.words * a.log_none + b.words * b.log_none);
      // Two different words.
      const auto pairs = [&](double OneWord::*f, double OneWord::*g) {
        return (a.words * a.*f + b.words * b.*f) * (a.words * a.*g + b.words * b.*g) -
               a.words * a.*f * a.*g - b.words * b.*f * b.*g;
      };
      const auto sum = [&](double OneWord::*f) { return a.words * a.*f + b.words * b.*f; };
      const double second = sum(&OneWord::n2), once = sum(&OneWord::once2);
      out.words += all * second;
      out.words_slope += all * (second - sum(&OneWord::n3) +
                                (sum(&OneWord::n4) + pairs(&OneWord::n2, &OneWord::n2)) / 6);
      out.tokens += all * once;
      out.tokens_slope += all * (once - sum(&OneWord::once3) +
                                 (sum(&OneWord::once4) + pairs(&OneWord::once2, &OneWord::n2)) / 6);
    }
  }
  return out;
}

}  // namespace scalecalc::moments
