#include "moments/word_chances.hpp"

#include <array>
#include <cmath>
#include <cstddef>

#include "base/vector_math.hpp"

namespace scalecalc::moments {

namespace {

/// Of words that are equally likely.
WordChances of_alike(double words, double tokens) {
  if (words == 1 || tokens == 1) return {1 / words, 1 / (words * words), 1};
  return {1 / words, 1 / (words * words), -words * std::expm1(tokens * std::log1p(-1 / words))};
}

/// Vocabularies have up to some hundred thousand words: as many powers are taken side by side.
WordChances summed(std::int64_t vocab, double zipf, double tokens) {
  if (zipf == 0) return of_alike(static_cast<double>(vocab), tokens);
  namespace vm = base::vector_math;
  const auto words = static_cast<std::size_t>(vocab);
  /// Of the words first, first + 1 ..., less a factor.
  const auto frequencies = [&](std::size_t first) {
    vm::Real rank;
    for (std::size_t i = 0; i < vm::lanes; ++i) rank[i] = static_cast<double>(first + i);
    vm::Real power = zipf == 1 ? 1.0 / rank : vm::exp(-zipf * vm::log(rank));
    if (first + vm::lanes > words + 1)
      for (std::size_t i = 0; i < vm::lanes; ++i)
        if (first + i > words) power[i] = 0;
    return power;
  };
  const auto total = [](const vm::Real& of) {
    double all = 0;
    for (std::size_t i = 0; i < vm::lanes; ++i) all += of[i];
    return all;
  };
  vm::Real sum{}, squares{}, cubes{}, found{};
  for (std::size_t first = 1; first <= words; first += vm::lanes) {
    const vm::Real power = frequencies(first);
    sum += power;
    squares += power * power;
    cubes += power * power * power;
  }
  const double all = total(sum);
  WordChances made{total(squares) / (all * all), total(cubes) / (all * all * all), 1};
  // One word is all of them: 1 - f is no number whose logarithm would do.
  if (vocab == 1 || tokens == 1) return made;
  for (std::size_t first = 1; first <= words; first += vm::lanes)
    found += 1.0 - vm::exp(tokens * vm::log1p(-(frequencies(first) / all)));
  made.different = total(found);
  return made;
}

struct Asked {
  std::int64_t vocab = 0;
  double zipf = 0, tokens = 0;
  WordChances found;
};

}  // namespace

/// The rules of one network ask for the same few, each a sum over its whole vocabulary.
WordChances word_chances(std::int64_t vocab, double zipf, double tokens) {
  thread_local std::array<Asked, 4> asked;
  thread_local std::size_t next = 0;
  for (const Asked& known : asked)
    if (known.vocab == vocab && known.zipf == zipf && known.tokens == tokens) return known.found;
  Asked& made = asked[next];
  next = (next + 1) % asked.size();
  made = {vocab, zipf, tokens, summed(vocab, zipf, tokens)};
  return made.found;
}

}  // namespace scalecalc::moments
