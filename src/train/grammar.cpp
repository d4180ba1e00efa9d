#include "train/grammar.hpp"

#include <algorithm>
#include <cmath>

#include "tensor/draw.hpp"

namespace scalecalc::train_room {
namespace {

constexpr double kPlural = 0.5, kAdjective = 0.3, kPreposition = 0.3, kObject = 0.5, kAdverb = 0.25;
constexpr int kDeterminers = 2, kNouns = 10, kVerbs = 8, kAdjectives = 10, kPrepositions = 4,
              kAdverbs = 9;
constexpr std::size_t kChunk = 4096;

double bits(double p) {
  return p <= 0.0 ? 0.0 : -p * std::log(p);
}
double choice(double p) {
  return bits(p) + bits(1.0 - p);
}

/// Uniform numbers, one after the other.
class Uniform {
 public:
  explicit Uniform(std::uint64_t seed) : stream_{seed, tensor::stream_id("grammar")} {}
  double operator()() {
    if (at_ == values_.size()) {
      values_.resize(kChunk);
      tensor::fill_uniform(stream_, first_, kChunk, values_.data());
      first_ += kChunk;
      at_ = 0;
    }
    return values_[at_++];
  }

 private:
  base::Stream stream_;
  std::vector<double> values_;
  std::size_t at_ = 0;
  std::uint64_t first_ = 0;
};

}  // namespace

class Grammar::Writer {
 public:
  Writer(const Grammar& grammar, std::int64_t count, std::uint64_t seed)
      : grammar_(grammar), count_(static_cast<std::size_t>(count)), uniform_(seed) {
    ids_.reserve(count_);
  }

  std::vector<std::int32_t> run() {
    while (ids_.size() < count_) sentence();
    ids_.resize(count_);
    return std::move(ids_);
  }

 private:
  bool happens(double p) { return uniform_() < p; }
  int number() { return happens(kPlural) ? 1 : 0; }
  void word(const Kind& kind) {
    const auto found =
        std::upper_bound(kind.cumulative.begin(), kind.cumulative.end() - 1, uniform_());
    ids_.push_back(kind.first + static_cast<std::int32_t>(found - kind.cumulative.begin()));
  }
  void noun_phrase(int of) {
    for (;; of = number()) {
      word(grammar_.determiner_[of]);
      while (happens(kAdjective)) word(grammar_.adjective_);
      word(grammar_.noun_[of]);
      if (!happens(kPreposition)) return;
      word(grammar_.preposition_);
    }
  }
  void sentence() {
    const int subject = number();
    noun_phrase(subject);
    word(grammar_.verb_[subject]);
    const double u = uniform_();
    if (u < kObject) {
      noun_phrase(number());
    } else if (u < kObject + kAdverb) {
      word(grammar_.adverb_);
    }
    word(grammar_.stop_);
  }

  const Grammar& grammar_;
  std::size_t count_;
  Uniform uniform_;
  std::vector<std::int32_t> ids_;
};

Grammar::Grammar() {
  determiner_[0] = add("the-one-", kDeterminers);
  determiner_[1] = add("the-many-", kDeterminers);
  noun_[0] = add("noun", kNouns);
  noun_[1] = add("nouns", kNouns);
  verb_[0] = add("does", kVerbs);
  verb_[1] = add("do", kVerbs);
  adjective_ = add("adjective", kAdjectives);
  preposition_ = add("of", kPrepositions);
  adverb_ = add("adverb", kAdverbs);
  stop_ = add(".", 1);
}

Grammar::Kind Grammar::add(const char* name, int count) {
  Kind kind;
  kind.first = static_cast<std::int32_t>(words_.size());
  kind.count = count;
  double sum = 0.0;
  for (int k = 1; k <= count; ++k) {
    words_.push_back(count == 1 ? std::string(name) : name + std::to_string(k));
    sum += 1.0 / k;
    kind.cumulative.push_back(sum);
  }
  for (double& edge : kind.cumulative) edge /= sum;
  for (int k = 1; k <= count; ++k) kind.entropy += bits(1.0 / (k * sum));
  return kind;
}

std::vector<std::int32_t> Grammar::text(std::int64_t count, std::uint64_t seed) const {
  return Writer(*this, count, seed).run();
}

double Grammar::entropy() const {
  // A phrase repeats its part Det Adj* N geometrically, 1/(1 - kPreposition) times on average; the
  // number of the first noun is the caller's choice, that of later ones its own.
  const double parts = 1.0 / (1.0 - kPreposition), adjectives = kAdjective / (1.0 - kAdjective);
  const auto mean = [](const Kind* pair) {
    return kPlural * pair[1].entropy + (1.0 - kPlural) * pair[0].entropy;
  };
  const double part = mean(determiner_) + mean(noun_) + adjectives * adjective_.entropy +
                      choice(kAdjective) * (1.0 + adjectives) + choice(kPreposition);
  const double phrase = parts * part + (parts - 1.0) * (preposition_.entropy + choice(kPlural));
  const double phrase_words = parts * (2.0 + adjectives) + (parts - 1.0);
  const double rest = bits(kObject) + bits(kAdverb) + bits(1.0 - kObject - kAdverb);
  const double sentence = choice(kPlural) + phrase + mean(verb_) + rest +
                          kObject * (choice(kPlural) + phrase) + kAdverb * adverb_.entropy;
  const double words = phrase_words + 1.0 + kObject * phrase_words + kAdverb + 1.0;
  return sentence / words;
}

}  // namespace scalecalc::train_room
