#include <fmt/format.h>

#include <algorithm>

#include "export/literals.hpp"
#include "export/settings.hpp"
#include "scalecalc/report.hpp"

namespace scalecalc::export_room {
namespace {

const char* const declarations = R"c(
#include <stddef.h>

enum scalecalc_start {
  scalecalc_zeros,
  scalecalc_ones,
  scalecalc_constant,
  scalecalc_normal,
  scalecalc_uniform,
  scalecalc_truncated_normal,
  scalecalc_orthogonal
};

/* One parameter, or its part of a tensor that holds several side by side. */
struct scalecalc_parameter {
  const char *name;        /* of the tensor */
  int dimensions;
  long long shape[4];      /* of the tensor, as it is stored */
  int axis;                /* along which its parts lie */
  long long first, count;  /* the part's entries along the axis */
  enum scalecalc_start start;
  double mean;             /* the constant, where there is one */
  double std;              /* of the entries as they are drawn */
  double bound;            /* no entry is larger; 0: no bound */
  double untruncated_std;  /* of the normal that is truncated */
  const char *formula;     /* of std */
};

/* A factor of the forward pass that no parameter holds. */
struct scalecalc_scale {
  const char *what, *where;
  double value;
  const char *formula;
};
)c";

const char* const step_declaration = R"c(
/* What steps the parameter of the same index, in units of the base's numbers. */
struct scalecalc_step {
  double lr, weight_decay;
  double eps;        /* 0: the rule has none that is added to the gradient */
  const char *rule;  /* the name of what steps it */
};
)c";

/// What cannot end the comment.
std::string block_comment_text(const std::string& words) {
  std::string text = comment_text(words);
  std::ranges::replace(text, '*', '.');
  return text;
}

/// Calls found(tensor, part, first, count) for each row of the table.
template <class Found>
void for_each_row(const NamedPlan& plan, const Found& found) {
  for (const NamedTensor& tensor : plan.named.tensors) {
    std::int64_t first = 0;
    for (std::int64_t round = 0; round < tensor.rounds; ++round)
      for (const std::size_t part : tensor.parts) {
        const std::int64_t whole = tensor.shape[static_cast<std::size_t>(tensor.axis)];
        const std::int64_t count =
            tensor.parts.size() == 1 ? whole : plan.plan.parameters[part].columns / tensor.rounds;
        found(tensor, part, first, count);
        first += count;
      }
  }
}

std::string steps_text(const NamedPlan& plan, const std::string& name) {
  std::string text = std::string("#ifndef SCALECALC_STEP_TYPE\n#define SCALECALC_STEP_TYPE") +
                     step_declaration + "#endif\n\n" +
                     fmt::format("static const struct scalecalc_step {}_steps[] = {{\n", name);
  for_each_row(plan, [&](const NamedTensor&, std::size_t part, std::int64_t, std::int64_t) {
    const StepFactors& step = plan.steps[part];
    text +=
        fmt::format("  {{{}, {}, {}, {}}},\n", number_literal(step.lr), number_literal(step.decay),
                    number_literal(step.eps.value_or(0)), string_literal(step.rule));
  });
  return text + "};\n\n";
}

std::string parameter_row(const NamedTensor& tensor, const PlannedParameter& parameter,
                          std::int64_t first, std::int64_t count) {
  std::string shape;
  for (std::size_t i = 0; i < 4; ++i)
    shape += fmt::format("{}{}", i > 0 ? ", " : "", i < tensor.shape.size() ? tensor.shape[i] : 0);
  const bool bounded = parameter.bound <= std::numeric_limits<double>::max();
  return fmt::format("  {{{}, {}, {{{}}}, {}, {}, {}, scalecalc_{}, {}, {}, {}, {}, {}}},\n",
                     string_literal(tensor.name), tensor.shape.size(), shape, tensor.axis, first,
                     count, to_string(parameter.start), number_literal(parameter.mean),
                     number_literal(parameter.std), number_literal(bounded ? parameter.bound : 0),
                     number_literal(parameter.untruncated_std), string_literal(parameter.formula));
}

}  // namespace

std::string c_text(const NamedPlan& plan) {
  const std::string name = identifier(plan.model);
  std::string text = fmt::format("/* Initial values of {} ({}). Made by scalecalc {}. */\n", name,
                                 summary_of(plan), report::version());
  if (!plan.transfer.empty())
    text += fmt::format("/* Transferred {}. */\n", block_comment_text(plan.transfer));
  text += fmt::format("#ifndef SCALECALC_INIT_{0}\n#define SCALECALC_INIT_{0}\n", name);
  text += std::string("#ifndef SCALECALC_INIT_TYPES\n#define SCALECALC_INIT_TYPES\n") +
          declarations + "\n#endif\n\n";
  text += fmt::format("static const struct scalecalc_parameter {}_parameters[] = {{\n", name);
  for_each_row(plan, [&](const NamedTensor& tensor, std::size_t part, std::int64_t first,
                         std::int64_t count) {
    text += parameter_row(tensor, plan.plan.parameters[part], first, count);
  });
  text += fmt::format(
      "}};\nstatic const size_t {0}_parameter_count =\n"
      "    sizeof {0}_parameters / sizeof {0}_parameters[0];\n\n",
      name);
  if (!plan.steps.empty()) text += steps_text(plan, name);
  text += fmt::format("static const struct scalecalc_scale {}_scales[] = {{\n", name);
  for (const PlannedScale& scale : plan.plan.scales)
    text += fmt::format("  {{{}, {}, {}, {}}},\n", string_literal(scale.what),
                        string_literal(scale.pattern), number_literal(scale.value),
                        string_literal(scale.formula));
  return text + fmt::format("  {{NULL, NULL, 1.0, NULL}} /* the last */\n}};\n#endif\n");
}

}  // namespace scalecalc::export_room
