#include <fmt/format.h>

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
  text += fmt::format("#ifndef SCALECALC_INIT_{0}\n#define SCALECALC_INIT_{0}\n", name);
  text += std::string("#ifndef SCALECALC_INIT_TYPES\n#define SCALECALC_INIT_TYPES\n") +
          declarations + "\n#endif\n\n";
  text += fmt::format("static const struct scalecalc_parameter {}_parameters[] = {{\n", name);
  for (const NamedTensor& tensor : plan.named.tensors) {
    std::int64_t first = 0;
    for (std::int64_t round = 0; round < tensor.rounds; ++round)
      for (const std::size_t part : tensor.parts) {
        const PlannedParameter& parameter = plan.plan.parameters[part];
        const std::int64_t whole = tensor.shape[static_cast<std::size_t>(tensor.axis)];
        const std::int64_t count =
            tensor.parts.size() == 1 ? whole : parameter.columns / tensor.rounds;
        text += parameter_row(tensor, parameter, first, count);
        first += count;
      }
  }
  text += fmt::format(
      "}};\nstatic const size_t {0}_parameter_count =\n"
      "    sizeof {0}_parameters / sizeof {0}_parameters[0];\n\n",
      name);
  text += fmt::format("static const struct scalecalc_scale {}_scales[] = {{\n", name);
  for (const PlannedScale& scale : plan.plan.scales)
    text += fmt::format("  {{{}, {}, {}, {}}},\n", string_literal(scale.what),
                        string_literal(scale.pattern), number_literal(scale.value),
                        string_literal(scale.formula));
  return text + fmt::format("  {{NULL, NULL, 1.0, NULL}} /* the last */\n}};\n#endif\n");
}

}  // namespace scalecalc::export_room
