#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/propagate/document.hpp"
#include "scalecalc/model_fields.hpp"

namespace scalecalc::cli {
namespace {

using report::Value;

Value value_of(const ModelField& field, const ModelSpec& spec) {
  const FieldValue value = field.get(spec);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* formula = std::get_if<Expr>(&value)) return to_string(*formula);
  if (field.type == ModelField::Type::scale) return Value();
  return base::shortened(std::get<std::string>(value));
}

}  // namespace

void add_fields(const ModelSpec& spec, const std::vector<std::string>& names, Value& inputs) {
  for (const std::string& name : names)
    if (const ModelField* field = find_field(name, spec.kind))
      inputs[name] = value_of(*field, spec);
}

void add_model(const std::string& model, const ModelSpec& spec, Value& inputs) {
  inputs["model"] = base::shortened(model);
  inputs["kind"] = to_string(spec.kind);
  if (spec.kind == ModelSpec::Kind::layers) return;
  add_fields(spec,
             {"layers", "width", "heads", "ffn", "causal", "sequence", "vocab", "batch",
              "activation", "norm", "placement", "alpha", "lambda", "cross"},
             inputs);
  if (spec.encoder_decoder) inputs["decoder_layers"] = decoder_depth(spec);
}

std::string model_line(const ModelSpec& spec) {
  if (spec.kind == ModelSpec::Kind::layers) return "a list of layers";
  std::string line =
      fmt::format("{} of {}{} {}, width {}", to_string(spec.kind), spec.layers,
                  spec.encoder_decoder ? fmt::format(" + {}", decoder_depth(spec)) : "",
                  spec.kind == ModelSpec::Kind::mlp ? "layers" : "blocks", spec.width);
  if (spec.kind == ModelSpec::Kind::transformer)
    line += fmt::format(", {} heads{}, ffn {}{}{}", spec.heads,
                        spec.head_width == 0 ? "" : fmt::format(" of {}", spec.head_width),
                        spec.ffn, spec.gated ? " gated" : "", spec.parallel ? " in parallel" : "");
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
