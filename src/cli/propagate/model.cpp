#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/propagate/document.hpp"

namespace scalecalc::cli {
namespace {

using report::Value;

Value formula(const std::optional<Expr>& expr) {
  return expr ? Value(to_string(*expr)) : Value();
}

}  // namespace

void add_model(const std::string& model, const ModelSpec& spec, Value& inputs) {
  inputs["model"] = base::shortened(model);
  inputs["kind"] = to_string(spec.kind);
  if (spec.kind == ModelSpec::Kind::layers) return;
  const bool transformer = spec.kind == ModelSpec::Kind::transformer;
  inputs["layers"] = spec.layers;
  inputs["width"] = spec.width;
  if (transformer) {
    inputs["heads"] = spec.heads;
    inputs["ffn"] = spec.ffn;
    inputs["causal"] = spec.causal;
  }
  inputs["sequence"] = spec.sequence;
  inputs["vocab"] = spec.vocab;
  inputs["batch"] = spec.batch;
  inputs["activation"] = base::shortened(spec.activation);
  inputs["norm"] = to_string(spec.norm);
  inputs["placement"] = to_string(spec.placement);
  inputs["alpha"] = formula(spec.alpha);
  inputs["lambda"] = formula(spec.lambda);
  inputs["cross"] = spec.input.cross;
}

std::string model_line(const ModelSpec& spec) {
  if (spec.kind == ModelSpec::Kind::layers) return "a list of layers";
  std::string line =
      fmt::format("{} of {} {}, width {}", to_string(spec.kind), spec.layers,
                  spec.kind == ModelSpec::Kind::mlp ? "layers" : "blocks", spec.width);
  if (spec.kind == ModelSpec::Kind::transformer)
    line += fmt::format(", {} heads, ffn {}{}", spec.heads, spec.ffn, spec.gated ? " gated" : "");
  line += fmt::format(", {} tokens{}, {}", spec.sequence, spec.causal ? " causal" : "",
                      base::shortened(spec.activation));
  if (spec.norm != NormKind::none)
    line += fmt::format(", {} {}", to_string(spec.placement), to_string(spec.norm));
  return line;
}

Value assumptions_of(const std::vector<Premise>& assumptions) {
  Value list = Value::array();
  for (const Premise& assumption : assumptions) {
    Value entry = Value::object();
    entry["rule"] = assumption.rule;
    entry["text"] = assumption.text;
    entry["first_site"] = assumption.first_site;
    entry["condition"] = assumption.condition.empty() ? Value() : Value(assumption.condition);
    entry["holds"] = assumption.holds;
    list.push_back(entry);
  }
  return list;
}

report::Table assumptions_table(const std::vector<Premise>& assumptions) {
  report::Table table{{"rule", "holds", "what"}, {}};
  for (const Premise& assumption : assumptions) {
    std::string what = assumption.text;
    if (!assumption.condition.empty()) what += "; " + assumption.condition;
    table.rows.push_back({assumption.rule, assumption.holds, what});
  }
  return table;
}

}  // namespace scalecalc::cli
