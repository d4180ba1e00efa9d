#include "moments/word_chances.hpp"

#include <cmath>
#include <vector>

#include "base/vector_math.hpp"

namespace scalecalc::moments {

/// Vocabularies have up to some hundred thousand words: as many powers are taken side by side.
WordChances word_chances(std::int64_t vocab, double zipf, double tokens) {
  namespace vm = base::vector_math;
  const std::int64_t lanes = vm::lanes;
  std::vector<double> of_rank(static_cast<std::size_t>((vocab + lanes - 1) / lanes * lanes));
  const auto each = [&](const auto& use) {
    for (std::size_t k = 0; k < of_rank.size(); k += vm::lanes) use(&of_rank[k], k + 1);
  };
  vm::Real sum{}, squares{}, cubes{}, found{};
  each([&](double* f, std::size_t first) {
    vm::Real rank;
    for (std::size_t i = 0; i < vm::lanes; ++i) rank[i] = static_cast<double>(first + i);
    vm::Real power = vm::exp(-zipf * vm::log(rank));
    for (std::size_t i = 0; i < vm::lanes; ++i)
      if (first + i > static_cast<std::size_t>(vocab)) power[i] = 0;
    vm::store(power, f);
    sum += power;
    squares += power * power;
    cubes += power * power * power;
  });
  const auto total = [](const vm::Real& of) {
    double all = 0;
    for (std::size_t i = 0; i < vm::lanes; ++i) all += of[i];
    return all;
  };
  const double all = total(sum);
  each([&](double* f, std::size_t) {
    found += 1.0 - vm::exp(tokens * vm::log1p(-vm::load(f) / all));
  });
  // One word is all of them: 1 - f is no number whose logarithm would do.
  return {total(squares) / (all * all), total(cubes) / (all * all * all),
          vocab == 1 ? 1 : total(found)};
}

}  // namespace scalecalc::moments
