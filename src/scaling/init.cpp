#include "scaling/block.hpp"

namespace scalecalc {
namespace {

struct Kind {
  const char* name;
  Expr fan_in, fan_out;
  bool scaled;  ///< inside a branch, in series: carries lambda
};

std::vector<Kind> kinds() {
  const Expr width = Expr::symbol("width"), ffn = Expr::symbol("ffn"),
             vocab = Expr::symbol("vocab");
  return {{"q", width, width, false}, {"k", width, width, false},   {"v", width, width, true},
          {"o", width, width, true},  {"ffn_in", width, ffn, true}, {"ffn_out", ffn, width, true},
          {"embedding", 1, 1, false}, {"head", width, vocab, false}};
}

Expr scheme_std(const std::string& scheme, const Kind& kind) {
  if (scheme == "lecun") return pow(kind.fan_in, Expr(Rational(-1, 2)));
  if (scheme == "he") return sqrt(2 / kind.fan_in);
  if (scheme == "xavier") return sqrt(2 / (kind.fan_in + kind.fan_out));
  throw unknown_name("scheme", scheme, {"lecun", "xavier", "he"}, "--scheme");
}

std::string written(const Kind& kind, const Expr& gain, const Expr& ungained, Notation notation,
                    const char* times) {
  return (kind.scaled ? to_string(gain, notation) + times : "") + to_string(ungained, notation);
}

}  // namespace

std::vector<InitEntry> init_table(const ScalingSolution& solution, std::int64_t layers,
                                  const std::string& scheme, const ModelWidths& widths) {
  std::map<std::string, Expr> known;
  if (widths.width > 0) known.emplace("width", widths.width);
  if (widths.ffn > 0) known.emplace("ffn", widths.ffn);
  if (widths.vocab > 0) known.emplace("vocab", widths.vocab);
  const Bindings values = {{solution.depth_symbol, static_cast<double>(layers)},
                           {"lambda", solution.lambda.value}};

  std::vector<InitEntry> table;
  for (const Kind& kind : kinds()) {
    InitEntry entry;
    entry.kind = kind.name;
    entry.gain = kind.scaled ? solution.lambda.formula : Expr(1);
    entry.gain_value = kind.scaled ? solution.lambda.value : 1.0;
    // Embedding rows have entries of second moment 1, whatever the scheme.
    const Expr ungained =
        std::string_view(kind.name) == "embedding" ? Expr(1) : scheme_std(scheme, kind);
    entry.std = entry.gain * ungained;
    entry.std_formula = written(kind, entry.gain, ungained, Notation::text, "*");
    entry.std_latex = written(kind, entry.gain, ungained, Notation::latex, "\\,");
    const Expr here = substitute(entry.std, known);
    if (!here.contains("width") && !here.contains("ffn") && !here.contains("vocab"))
      entry.std_value = evaluate(here, values);
    table.push_back(std::move(entry));
  }
  return table;
}

}  // namespace scalecalc
