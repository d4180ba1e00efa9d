#include "export/python.hpp"

#include <fmt/format.h>

#include <set>

#include "export/literals.hpp"
#include "export/rules.hpp"
#include "names/prefixes.hpp"
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
  std::string numbers;
  for (const double number : fill.numbers)
    numbers += (numbers.empty() ? "" : ", ") + number_literal(number);
  if (fill.numbers.size() == 1) numbers += ",";
  return fmt::format("Part({}, {}, ({}), {}, {})", fill.length, string_literal(fill.start), numbers,
                     number_literal(fill.value), string_literal(fill.formula));
}

std::string step_text(const StepFactors& step) {
  return fmt::format("Step({}, {}, {}, {})", number_literal(step.lr), number_literal(step.decay),
                     step.eps ? number_literal(*step.eps) : "None", string_literal(step.rule));
}

std::string rule_text(const Rule& rule) {
  const FilledTensor& tensor = rule.first;
  std::string fills;
  for (const Fill& fill : tensor.fills) fills += "\n        " + fill_text(fill) + ",";
  return fmt::format("    Rule({}, {}, {}, {}, {}, {}, ({}\n    ){}),\n",
                     string_literal(tensor.pattern), indices_text(rule), rule.tensors,
                     tuple_text(tensor.shape), tensor.axis, tensor.may_be_absent ? "True" : "False",
                     fills,
                     (tensor.zero_row ? fmt::format(", zero_row={}", *tensor.zero_row) : "") +
                         (tensor.step ? ", step=" + step_text(*tensor.step) : ""));
}

const char* use_of(const std::string& what) {
  if (what == "skip") return "multiplies x in skip*x + branch*F(x)";
  if (what == "branch") return "multiplies F(x) in skip*x + branch*F(x)";
  if (what == "attention") return "multiplies q.k before the softmax";
  if (what == "norm") return "multiplies the output of this norm, gain and shift included";
  return "multiplies the output of this linear map";
}

/// What the model is, what made the file, what no parameter holds.
std::string head(const CodePlan& plan, const char* target, const ExportOptions& options) {
  const std::string model = comment_text(plan.model);
  const std::string command = options.command.empty()
                                  ? fmt::format("scalecalc init {} --target {}", model, target)
                                  : comment_text(options.command);
  std::string text = fmt::format("# Initial values of {} ({}).\n# Made by scalecalc {}: {}\n",
                                 model, plan.summary, report::version(), command);
  if (!plan.transfer.empty())
    text += fmt::format("# Transferred {}.\n", comment_text(plan.transfer));
  const auto heading = "#\n# The forward pass must have these factors, which no parameter holds:\n";
  if (!plan.scales.empty()) text += heading;
  for (const PlannedScale& scale : plan.scales)
    text +=
        fmt::format("#   {:<10} {:<16} {:<22} {} ({})\n", scale.what, scale.pattern,
                    number_literal(scale.value), comment_text(scale.formula), use_of(scale.what));
  return text;
}

std::string tables(const CodePlan& plan, const ExportOptions& options) {
  std::string text =
      fmt::format("SEED = {}\n\n", options.seed ? std::to_string(*options.seed) : "None");
  text += "# what, where, value, formula\nSCALES = (\n";
  for (const PlannedScale& scale : plan.scales)
    text += fmt::format("    ({}, {}, {}, {}),\n", string_literal(scale.what),
                        string_literal(scale.pattern), number_literal(scale.value),
                        string_literal(scale.formula));
  text += ")\n\n# Names are read with or without these in front.\nPREFIXES = (";
  std::set<std::string> prefixes(names::wrappers().begin(), names::wrappers().end());
  prefixes.insert(plan.prefixes.begin(), plan.prefixes.end());
  for (const std::string& prefix : prefixes) text += string_literal(prefix) + ", ";
  text += fmt::format(
      ")\n# What names of the plan begin with, and lack in the model without its head.\n"
      "OWN_PREFIX = {}\n\n# Known by name and left alone: name, what it is.\nEXTRAS = (\n",
      string_literal(plan.own_prefix));
  for (const ExtraTensor& extra : plan.extras) {
    text +=
        fmt::format("    ({}, {}),\n", string_literal(extra.pattern), string_literal(extra.what));
  }
  text += ")\n\n# Parameters of the plan that no tensor of these names stands for.\nUNNAMED = (\n";
  for (const std::string& path : plan.unnamed) text += "    " + string_literal(path) + ",\n";
  text += ")\n\nRULES = (\n";
  for (const Rule& rule : rules_of(plan)) text += rule_text(rule);
  return text + ")\n";
}

const char* const types = R"py(
class Part(typing.NamedTuple):
    """Entries along a tensor's axis that start alike. `numbers`: the constant; mean and std of a
    normal; low and high of a uniform; std before the cut, low and high of a truncated normal; std
    of an orthogonal matrix; what _draw says of others."""

    entries: int
    start: str
    numbers: tuple
    value: float  # std, or the constant
    formula: str  # of it


class Step(typing.NamedTuple):
    """What steps a tensor, in units of the base's numbers."""

    lr: float
    weight_decay: float
    eps: typing.Optional[float]  # None: the rule has none
    rule: str  # the name of what steps it


class Rule(typing.NamedTuple):
    """Tensors that start alike."""

    name: str  # with {i} for an index
    indices: typing.Optional[set]  # of the tensors; None: all
    count: int  # of the tensors
    shape: tuple
    axis: int  # along which the parts lie
    may_be_absent: bool  # tied, or unknown to some models
    parts: tuple
    zero_row: typing.Optional[int] = None  # set to zero: that of a padding index
    step: typing.Optional[Step] = None  # of a model whose numbers are another's, transferred


)py";

const char* const shared = R"py(
def _compiled(pattern):
    """{i} and {j} stand for indices, a last * for anything."""
    text = re.sub(r"\\\{.\\\}", r"(\\d+)", re.escape(pattern))
    return re.compile(text.replace(r"\*", ".*"))


_COMPILED = tuple(_compiled(rule.name) for rule in RULES)
_EXTRA = tuple(_compiled(pattern) for pattern, _ in EXTRAS)


@dataclasses.dataclass
class Report:
    """What was done: names that were set with the std of each part, names that no rule knows,
    rules that found no parameter or another number of them, names that are known and left alone."""

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


def _names(name):
    """The name, what is left of it without prefixes, and these as the plan may have them."""
    names = [name]
    for longer in names:
        names += [longer[len(prefix):] for prefix in PREFIXES if longer.startswith(prefix)]
    return names + [OWN_PREFIX + bare for bare in names if OWN_PREFIX]


def _find(name):
    """(index of the rule, rule) of a parameter's name, or None."""
    for bare in _names(name):
        for number, rule in enumerate(RULES):
            found = _COMPILED[number].fullmatch(bare)
            if found is None:
                continue
            indices = tuple(int(index) for index in found.groups())
            if rule.indices is None or indices in rule.indices:
                return number, rule
    return None


def _extra(name):
    return any(pattern.fullmatch(bare) for bare in _names(name) for pattern in _EXTRA)


def _check_shape(name, shape, rule):
    if tuple(shape) != rule.shape:
        raise ValueError(f"{name} has shape {tuple(shape)}, and the plan {rule.shape}")


def _finish(report, used, strict, frozen=()):
    """`used`: how many parameters each rule filled; `frozen`: names that need not be set."""
    for number, rule in enumerate(RULES):
        found = used[number]
        if found == 0 and not rule.may_be_absent:
            report.missing.append(rule.name)
        elif found not in (0, rule.count):
            report.missing.append(f"{rule.name} ({found}, planned {rule.count})")
    unset = [name for name in report.unmatched + report.left_alone if name not in frozen]
    if strict and (unset or report.missing):
        raise ValueError(f"{len(unset)} parameters of the model were not set, {len(report.missing)} "
                         f"rules of the plan did not find theirs\n{report}")
    return report
)py";

}  // namespace

std::string python_text(const CodePlan& plan, const char* target, const ExportOptions& options,
                        const char* imports, const char* body) {
  return head(plan, target, options) + imports + types + tables(plan, options) + shared + body;
}

}  // namespace scalecalc::export_room
