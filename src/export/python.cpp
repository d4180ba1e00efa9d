#include "export/python.hpp"

#include <fmt/format.h>

#include "export/literals.hpp"
#include "scalecalc/report.hpp"

namespace scalecalc::export_room {
namespace {

std::string tuple_text(const std::vector<std::int64_t>& values) {
  std::string text;
  for (const std::int64_t value : values) text += fmt::format("{}, ", value);
  if (values.size() > 1) text.resize(text.size() - 2);
  if (values.size() == 1) text.pop_back();
  return "(" + text + ")";
}

std::string indices_text(const Rule& rule) {
  if (rule.indices.empty()) return "None";
  std::string text = "{";
  for (const std::vector<std::int64_t>& indices : rule.indices) {
    if (text.size() > 1) text += ", ";
    text += tuple_text(indices);
  }
  return text + "}";
}

std::string fill_text(const Fill& fill) {
  const bool drawn = fill.std > 0;
  return fmt::format("({}, {}, {}, {}, {}, {})", fill.length, string_literal(to_string(fill.start)),
                     number_literal(drawn ? fill.std : fill.mean),
                     number_literal(drawn ? fill.untruncated_std : 0.0),
                     std::isfinite(fill.bound) ? number_literal(fill.bound) : "None",
                     string_literal(fill.formula));
}

std::string rule_text(const Rule& rule) {
  std::string fills;
  for (const Fill& fill : rule.fills) fills += "\n         " + fill_text(fill) + ",";
  return fmt::format("    ({}, {}, {}, {}, {}, ({}\n     )),\n", string_literal(rule.pattern),
                     indices_text(rule), tuple_text(rule.shape), rule.axis,
                     rule.may_be_absent ? "True" : "False", fills);
}

const char* use_of(const std::string& what) {
  if (what == "skip") return "multiplies x in skip*x + branch*F(x)";
  if (what == "branch") return "multiplies F(x) in skip*x + branch*F(x)";
  if (what == "attention") return "multiplies q.k before the softmax";
  return "multiplies the output of this linear map";
}

/// What the model is, what made the file, what no parameter holds.
std::string head(const NamedPlan& plan, const char* target, const ExportOptions& options) {
  const std::string model = comment_text(plan.model);
  const std::string command = options.command.empty()
                                  ? fmt::format("scalecalc init {} --target {}", model, target)
                                  : comment_text(options.command);
  std::string text = fmt::format("# Initial values of {} ({}).\n# Made by scalecalc {}: {}\n",
                                 model, summary_of(plan), report::version(), command);
  const auto heading = "#\n# The forward pass must have these factors, which no parameter holds:\n";
  if (!plan.plan.scales.empty()) text += heading;
  for (const PlannedScale& scale : plan.plan.scales)
    text +=
        fmt::format("#   {:<10} {:<16} {:<22} {} ({})\n", scale.what, scale.pattern,
                    number_literal(scale.value), comment_text(scale.formula), use_of(scale.what));
  return text;
}

std::string tables(const NamedPlan& plan, const ExportOptions& options) {
  std::string text =
      fmt::format("SEED = {}\n\n", options.seed ? std::to_string(*options.seed) : "None");
  text += "# what, where, value, formula\nSCALES = (\n";
  for (const PlannedScale& scale : plan.plan.scales)
    text += fmt::format("    ({}, {}, {}, {}),\n", string_literal(scale.what),
                        string_literal(scale.pattern), number_literal(scale.value),
                        string_literal(scale.formula));
  text += ")\n\n# Names are read with or without these in front.\nPREFIXES = (";
  for (const std::string& prefix : plan.naming.prefixes) text += string_literal(prefix) + ", ";
  text += ")\n\n# Known by name and left alone: name, what it is.\nEXTRAS = (\n";
  for (const ExtraTensor& extra : plan.naming.extras) {
    text +=
        fmt::format("    ({}, {}),\n", string_literal(extra.pattern), string_literal(extra.what));
  }
  text += ")\n\n# Parameters of the plan that this naming has no name for.\nUNNAMED = (\n";
  for (const std::size_t index : plan.named.unnamed)
    text += "    " + string_literal(plan.plan.parameters[index].path) + ",\n";
  text +=
      ")\n\n# name with its indices, those indices (None: all), shape, axis, tied, parts along the "
      "axis:\n"
      "#     (entries, start, std or constant, std before truncation, bound, formula of std)\n"
      "RULES = (\n";
  for (const Rule& rule : rules_of(plan)) text += rule_text(rule);
  return text + ")\n";
}

const char* const shared = R"py(
def _compiled(pattern):
    """{i} and {j} stand for indices, a last * for anything."""
    text = re.sub(r"\\\{.\\\}", r"(\\d+)", re.escape(pattern))
    return re.compile(text.replace(r"\*", ".*"))


_COMPILED = tuple((_compiled(rule[0]),) + rule[1:] for rule in RULES)
_EXTRA = tuple(_compiled(pattern) for pattern, _ in EXTRAS)


@dataclasses.dataclass
class Report:
    """What was done: names that were set with the std of each part, names that no rule knows,
    rules that found no parameter, names that are known and left alone."""

    set: dict = dataclasses.field(default_factory=dict)
    unmatched: list = dataclasses.field(default_factory=list)
    missing: list = dataclasses.field(default_factory=list)
    left_alone: list = dataclasses.field(default_factory=list)

    def __str__(self):
        lines = [f"set {len(self.set)} parameters"]
        for title, names in (("not matched", self.unmatched), ("missing", self.missing),
                             ("left alone", self.left_alone)):
            if names:
                lines.append(f"{title}: " + ", ".join(names))
        return "\n".join(lines)


def _stem(name):
    """The name without its prefixes."""
    stripped = True
    while stripped:
        stripped = False
        for prefix in PREFIXES:
            if name.startswith(prefix):
                name, stripped = name[len(prefix):], True
    return name


def _find(name):
    """(index of the rule, rule) of a parameter's name, or None."""
    stem = _stem(name)
    for number, rule in enumerate(_COMPILED):
        found = rule[0].fullmatch(stem)
        if found is None:
            continue
        if rule[1] is None or tuple(int(index) for index in found.groups()) in rule[1]:
            return number, rule
    return None


def _extra(name):
    return any(pattern.fullmatch(_stem(name)) for pattern in _EXTRA)


def _check_shape(name, shape, rule):
    if tuple(shape) != rule[2]:
        raise ValueError(f"{name} has shape {tuple(shape)}, and the plan {rule[2]}")


def _finish(report, used, strict):
    report.missing = [rule[0] for number, rule in enumerate(RULES)
                      if number not in used and not rule[4]]
    if strict and (report.unmatched or report.missing):
        raise ValueError(str(report))
    return report
)py";

}  // namespace

std::string python_text(const NamedPlan& plan, const char* target, const ExportOptions& options,
                        const char* imports, const char* body) {
  return head(plan, target, options) + imports + tables(plan, options) + shared + body;
}

}  // namespace scalecalc::export_room
