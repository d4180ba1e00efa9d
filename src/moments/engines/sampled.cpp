#include "moments/engines/sampled.hpp"

#include <algorithm>
#include <cmath>

#include "base/deadline.hpp"
#include "gaussian/monte_carlo/normals.hpp"
#include "scalecalc/softmax.hpp"

namespace scalecalc::moments {
namespace {

constexpr std::uint64_t kStreamId = 0x70726F7061670001u;
/// Rows of many scores average by themselves, so that fewer of them do; the standard error tells.
constexpr std::int64_t kScores = 1 << 20, kFewest = 32;
constexpr double kSameSize = 0.01;
constexpr std::size_t kUnit = 16;  ///< normals come in multiples of it

bool is_slope(Moment moment) {
  return moment == Moment::slope_mean || moment == Moment::slope_second ||
         moment == Moment::slope_cross;
}

double average_power(const std::vector<double>& values, Moment moment) {
  double sum = 0;
  const int power = moment == Moment::fourth                                     ? 4
                    : moment == Moment::second || moment == Moment::slope_second ? 2
                                                                                 : 1;
  for (const double value : values) {
    const double square = value * value;
    sum += power == 4 ? square * square : power == 2 ? square : value;
  }
  return sum / static_cast<double>(values.size());
}

double average_product(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum / static_cast<double>(a.size());
}

}  // namespace

Sampled::Sampled(const PropagateOptions& options, std::int64_t samples, std::uint64_t seed,
                 std::uint64_t replicate)
    : Numbers(options), seed_(seed), replicate_(replicate) {
  const auto half = static_cast<std::size_t>((samples + 1) / 2);
  half_ = (half + kUnit - 1) / kUnit * kUnit;
  for (std::vector<double>* draws : {&z_, &w_}) draws->resize(half_);
  for (std::vector<double>* values : {&u_, &v_, &value_u_, &value_v_, &slope_u_, &slope_v_})
    values->resize(2 * half_);
}

std::uint64_t Sampled::next_seed() {
  return seed_ ^ (replicate_ << 32) ^ (0x9E3779B97F4A7C15u * ++draws_);
}

void Sampled::draw() {
  if (draws_ > 0 && drawn_for_ == site()) return;
  drawn_for_ = site();
  curves_.clear();
  std::vector<double> both(2 * half_);
  const base::Stream stream{seed_, kStreamId + replicate_};
  gaussian::monte_carlo::fill_normals(stream, draws_++ * half_, both.size(), both.data());
  std::copy_n(both.begin(), half_, z_.begin());
  std::copy_n(both.begin() + static_cast<std::ptrdiff_t>(half_), half_, w_.begin());
}

double Sampled::expectation(Function f, Moment moment, const Token<double>& u) {
  // Samples never see a jump, whose E phi'^2 is infinite: that error is the quadrature's.
  if (moment == Moment::slope_second && f->activation().has_jump())
    return Numbers::expectation(f, moment, u);
  base::check_deadline();
  draw();
  const double width = std::sqrt(positive(variance_of(u)));
  for (std::size_t i = 0; i < half_; ++i) {
    u_[i] = u.mean + width * z_[i];
    u_[half_ + i] = u.mean - width * z_[i];
  }
  f->activation().evaluate(u_.data(), value_u_.data(), is_slope(moment) ? slope_u_.data() : nullptr,
                           u_.size());
  return average_power(is_slope(moment) ? slope_u_ : value_u_, moment);
}

double Sampled::pair(Function f, Moment moment, const Token<double>& u, const Token<double>& v,
                     double cross) {
  draw();
  const double scale = std::sqrt(positive(variance_of(u)) * positive(variance_of(v)));
  const double c = scale > 0 ? std::clamp((cross - u.mean * v.mean) / scale, -1.0, 1.0) : 0;
  if (c == 1) return pair_at(f, moment, u, v, c);
  return curve_of(f, moment, u, v).by_angle(std::acos(c), 0, std::acos(-1), [&](double angle) {
    return pair_at(f, moment, u, v, std::cos(angle));
  });
}

Sampled::PairCurve& Sampled::curve_of(Function f, Moment moment, const Token<double>& u,
                                      const Token<double>& v) {
  const auto same = [](const Token<double>& a, const Token<double>& b) {
    return a.mean == b.mean && a.second == b.second;
  };
  PairCurve& curve = curves_[moment];
  if (curve.function != f || !same(curve.u, u) || !same(curve.v, v)) curve = {f, u, v, {}};
  return curve;
}

double Sampled::pair_at(Function f, Moment moment, const Token<double>& u, const Token<double>& v,
                        double c) {
  base::check_deadline();
  const double width_u = std::sqrt(positive(variance_of(u))),
               width_v = std::sqrt(positive(variance_of(v)));
  const double rest = std::sqrt((1 - c) * (1 + c));
  for (std::size_t i = 0; i < half_; ++i) {
    const double first = width_u * z_[i], second = width_v * (c * z_[i] + rest * w_[i]);
    u_[i] = u.mean + first;
    u_[half_ + i] = u.mean - first;
    v_[i] = v.mean + second;
    v_[half_ + i] = v.mean - second;
  }
  const bool slopes = is_slope(moment);
  const Activation& phi = f->activation();
  phi.evaluate(u_.data(), value_u_.data(), slopes ? slope_u_.data() : nullptr, u_.size());
  phi.evaluate(v_.data(), value_v_.data(), slopes ? slope_v_.data() : nullptr, v_.size());
  return slopes ? average_product(slope_u_, slope_v_) : average_product(value_u_, value_v_);
}

SoftmaxSamples Sampled::softmax(std::int64_t keys, double tau2, double correlation) {
  return softmax(keys, tau2, correlation, next_seed());
}

SoftmaxSamples Sampled::softmax(std::int64_t keys, double tau2, double correlation,
                                std::uint64_t seed) {
  MonteCarloOptions options;
  options.samples = std::clamp(kScores / keys, kFewest, samples());
  options.seed = seed;
  return softmax_monte_carlo(keys, keys, tau2, correlation, options);
}

// Logits of nearly one size, as positions under a mask have them, share draws. What is left of the
// difference is its first order in p: E p^2 goes as e^tau2, the overlap by the covariance alone.
void Sampled::meet_head(double tau2) {
  if (std::fabs(tau2 - head_.tau2) <= kSameSize * tau2 / (1 + tau2)) return;
  head_ = {tau2, next_seed(), {}, {}};
}

const Numbers::HeadSoftmax& Sampled::softmax_head(std::int64_t classes, double /*tau2*/) {
  HeadSoftmax& head = heads_[classes];
  head.classes = classes;
  return head;
}

double Sampled::softmax_second(const HeadSoftmax& head, double tau2) {
  meet_head(tau2);
  if (!head_.second) head_.second = softmax(head.classes, head_.tau2, 0, head_.seed).p2.value;
  return *head_.second * std::exp(tau2 - head_.tau2);
}

double Sampled::softmax_cross(const HeadSoftmax& head, double tau2_t, double tau2_u, double cross) {
  meet_head(std::sqrt(tau2_t * tau2_u));
  const double c = head_.tau2 > 0 ? std::clamp(cross / head_.tau2, -1.0, 1.0) : 0;
  return head_.by_correlation(c, -1, 1, [&](double at) {
    return softmax(head.classes, head_.tau2, at, head_.seed).overlap.value;
  });
}

SoftmaxAverages Sampled::softmax_averages(const ScoreLine& line, double c) {
  SoftmaxAverages found = Numbers::softmax_averages(line, c);
  const SoftmaxSamples drawn = softmax(line.keys, line.tau2(c), c);
  found.one.p2 = drawn.p2.value;
  found.one.a = drawn.a.value;
  found.two.overlap = drawn.overlap.value;
  found.two.a_prime = drawn.a_prime.value;
  return found;
}

}  // namespace scalecalc::moments
