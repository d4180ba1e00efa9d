#pragma once

/// Softmax averages over tokens of which some are the same word and words are unlike in frequency
/// (docs/theory/attention.md#unlike-words): a word that stands n times has the weight n e^s.
namespace scalecalc::moments {

/// How often words are drawn: a share `often` of all tokens is of words of the frequency `high`,
/// the others of words of the frequency `low`. One frequency where they are equal.
struct WordFrequencies {
  double high = 1, low = 1, often = 1;
};
/// With the chances that two tokens and three are one word, `same` and `triple`, and `different`
/// words among `tokens`, at least one and at most `tokens`: three numbers for three, and the
/// nearest that there is where no two frequencies have them.
WordFrequencies word_frequencies(double same, double triple, double different, double tokens);

/// Of sequences of `tokens` words drawn so, with scores of variance tau2 that words share. P of a
/// word, p = P/n of a token, n the word's tokens.
struct WordAverages {
  double words = 0;         ///< E sum P^2 over words
  double words_slope = 0;   ///< A of words, E sum P^2 (1 - 2 P + sum P^2)
  double tokens = 0;        ///< E sum p^2 over tokens
  double tokens_slope = 0;  ///< E sum p^2 (1 - 2 P + sum P^2) over tokens
};
/// Exact but for the order T^-5 of the passage to a fixed number of tokens: 0.5% from 16 of them,
/// and 2% from 8. `tokens` >= 2; tau2 up to kMostWordVariance.
WordAverages word_averages(const WordFrequencies& words, double tokens, double tau2);
constexpr double kMostWordVariance = 64;

}  // namespace scalecalc::moments
