#include "moments/drop_path.hpp"

#include <algorithm>
#include <cmath>

namespace scalecalc::moments {
namespace {

constexpr std::size_t most_classes = 12;

SampleClasses alike() {
  return {SampleClass{}};
}

template <class F>
double mean(const SampleClasses& classes, const F& f) {
  double sum = 0, all = 0;
  for (const SampleClass& one : classes) {
    sum += one.chance * f(one);
    all += one.chance;
  }
  return all > 0 ? sum / all : 0;
}

/// E |x|^(-2 power). Samples that have lost all stay above what a norm's eps would leave.
double falling(const SampleClasses& classes, double power) {
  constexpr double least = 1e-12;
  return mean(classes, [&](const SampleClass& one) {
    return std::pow(std::max(least, one.second), -power);
  });
}

SampleClass joined(const SampleClass& a, const SampleClass& b) {
  const double chance = a.chance + b.chance, p = a.chance / chance, q = b.chance / chance;
  return {chance, p * a.second + q * b.second, p * a.cross + q * b.cross};
}

/// Joins neighbours in size whose joint changes the variance of |x|^2 the least.
void reduce(SampleClasses& classes) {
  std::erase_if(classes, [](const SampleClass& one) { return !(one.chance > 0); });
  std::sort(classes.begin(), classes.end(),
            [](const SampleClass& a, const SampleClass& b) { return a.second < b.second; });
  while (classes.size() > most_classes) {
    std::size_t best = 0;
    double least = 0;
    for (std::size_t k = 0; k + 1 < classes.size(); ++k) {
      const SampleClass &a = classes[k], &b = classes[k + 1];
      const double apart = b.second - a.second,
                   lost = a.chance * b.chance / (a.chance + b.chance) * apart * apart;
      if (k == 0 || lost < least) {
        best = k;
        least = lost;
      }
    }
    classes[best] = joined(classes[best], classes[best + 1]);
    classes.erase(classes.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

}  // namespace

double DroppedPaths::variance() const {
  // Of one class rounding is left, of either sign.
  return std::max(0.0,
                  mean(all, [](const SampleClass& one) { return one.second * one.second; }) - 1);
}
double DroppedPaths::covariance() const {
  return mean(all, [](const SampleClass& one) { return one.second * one.cross; }) - 1;
}

DroppedPaths lost_branch(double rate) {
  return {alike(), rate, alike(), 1};
}

DroppedPaths sum_of_paths(const DroppedPaths* stream, const DroppedPaths* branch, double second,
                          double cross, double between) {
  const SampleClasses before = stream != nullptr ? stream->all : alike();
  DroppedPaths made;
  made.rate = branch != nullptr ? branch->rate : 0;
  made.between = between;
  made.of_stream = true;
  const double size = 1 / (1 - made.rate);
  // `b2`: b^2 over its mean.
  const auto add = [&](SampleClasses& to, double chance, double b2) {
    for (const SampleClass& one : before)
      to.push_back({chance * one.chance, (1 - second) * one.second + second * b2,
                    (1 - cross) * one.cross + cross * b2});
  };
  add(made.kept, 1 - made.rate, size);
  made.all = made.kept;
  if (made.rate > 0) add(made.all, made.rate, 0);
  reduce(made.kept);
  reduce(made.all);
  return made;
}

DroppedNorm norm_of_paths(const DroppedPaths& paths) {
  DroppedNorm made;
  const auto cosine = [](const SampleClass& one) {
    constexpr double least = 1e-12;
    return one.cross / std::max(least, one.second);
  };
  made.inverse = falling(paths.all, 1);
  const double root = falling(paths.all, 0.5);
  made.inverse_between = root * root;
  made.within = mean(paths.all, cosine);
  made.overlap_variance = std::max(0.0, mean(paths.all, [&](const SampleClass& one) {
                                          return cosine(one) * cosine(one);
                                        }) - made.within * made.within);
  // E b/|y|, of the branch's part; E b = 1.
  const double of_kept = paths.rate > 0 ? falling(paths.kept, 0.5) : root;
  made.between = (1 - paths.between) * root * root + paths.between * of_kept * of_kept;
  for (const SampleClass& one : paths.all)
    made.classes.all.push_back({one.chance, 1, made.within != 0 ? cosine(one) / made.within : 1});
  made.classes.kept = made.classes.all;
  return made;
}

double inverse_below(const DroppedPaths& paths, double power) {
  return falling(paths.all, 1 + power) / (falling(paths.all, power) * falling(paths.all, 1));
}

double kept_gradient(const DroppedPaths& paths, double power) {
  return falling(paths.kept, power) / falling(paths.all, power);
}

DroppedPaths mixed_paths(const DroppedPaths& paths, double apart, double shared, double cosine) {
  DroppedPaths made = paths;
  made.rate = 0;
  made.of_stream = false;
  const double whole = apart + shared, rest = 1 - cosine;
  for (SampleClass& one : made.all) {
    const double left = rest > 0 ? (one.second - cosine * one.cross) / rest : one.second;
    if (whole > 0) one.second = std::max(0.0, apart * left + shared * one.cross) / whole;
  }
  made.kept = made.all;
  return made;
}

NormVariance through_drop_path(const NormVariance& spread, double rate, const Counts& counts) {
  // Relative variance of b^2, of one sample and of the average over them.
  const double one = rate / (1 - rate), all = one / counts.batch;
  NormVariance out = spread;
  out.token_variance = (1 + spread.token_variance) * (1 + one) - 1;
  out.batch_variance = (1 + spread.batch_variance) * (1 + all) - 1;
  out.decorrelation = spread.decorrelation * (1 + one);
  out.distance_variance = (1 + spread.distance_variance) * (1 + all) - 1;
  out.distance_covariance = spread.distance_covariance + all;
  return out;
}

}  // namespace scalecalc::moments
