#pragma once

#include <functional>
#include <string>
#include <vector>

#include "scalecalc/export.hpp"
#include "scalecalc/scaling.hpp"

namespace scalecalc::cli {

/// What is answered, as text; empty: not yet.
struct Answers {
  std::string goal, layers, width, placement, optimizer, framework;
};

/// One question of `choose`, which an option answers too.
struct Question {
  const char* option;    ///< "--width"
  const char* asks;      ///< "How many features has the stream?"
  const char* standard;  ///< the answer that is taken by default
  const char* help;      ///< what "?" shows
  std::string Answers::*answer;
  std::vector<std::string> (*names)();  ///< the answers there are; null: a number
  const char* range;                    ///< those of a number, in words
};
/// In the order in which they are asked.
const std::vector<Question>& choose_questions();
/// Whether the answers so far leave it open: no framework is asked for where no code is made.
bool is_asked(const Question& question, const Answers& answers);
/// "all, pair, init or check", "8 to 65536, in steps of 8".
std::string allowed_answers(const Question& question);

/// The model of the answers, solved and laid out.
struct Choice {
  Answers answers;
  std::string base;  ///< the preset that gives what is not asked for
  ModelSpec spec;
  ScalingSolution scaling;
  std::string alpha, lambda;  ///< as options take them: auto, or numbers where no formula is
  NamedPlan plan;
  std::string code;  ///< empty: none is asked for
};
/// Takes what is not answered by its default, so that answers can be tried one after the other.
/// Throws Error, naming the option, for what no option takes and for combinations without a pair.
Choice choose(const Answers& answers);

}  // namespace scalecalc::cli
