#include "cli/forms.hpp"
#include "scalecalc/transfer.hpp"

namespace scalecalc::cli {
namespace coordinates_keys {

using namespace shapes;

Shape finding() {
  return object(
      {{"tensor", text(), "the pattern of the parameters; attention, or branch"},
       {"quantity", one_of({"std", "lr", "decay", "eps", "scale", "multiplier"}), "of it"},
       {"has", text(), "power of the size that it goes with, an exact rational"},
       {"wants", text(), "that it should go with"},
       {"has_value", number().or_null(), "of lr, at the largest size"},
       {"wants_value", number().or_null(), "likewise"},
       {"effect", text(), "what follows as the size grows"}});
}

Keys rooted(const std::string& name, const std::string& meaning) {
  const Shape by_step = list(number().or_null());
  return {{name, by_step, meaning + ", by step; the first is before any"},
          {name + "_error", by_step, "standard errors over seeds; null of one seed"},
          {"predicted_" + name, number().or_null(), "from moments"},
          {"predicted_" + name + "_error", number().or_null(), "of what was computed"},
          {"predicted_" + name + "_truncation", number().or_null(), "of what is left out"}};
}

Keys laws(const std::string& name) {
  const Shape law = object({{"exponent", number(), "power of the size, the mean over seeds"},
                            {"standard_error", number().or_null(), "null of one seed"}});
  return {{name + "_laws", list(law.or_null()), "by step; null where something is 0"},
          {"predicted_" + name + "_exponent", number().or_null(), "of what is predicted"}};
}

Shape site() {
  const Shape point = object(
      Keys{{"size", number(), "of the axis"}} + rooted("rms", "root mean square of the site") +
      rooted("change", "of its change since init") +
      Keys{{"predicted_changes", list(number().or_null()),
            "likewise by step; null where nothing is predicted"},
           {"predicted_changes_truncation", list(number().or_null()), "of what is left out"}});
  return object(Keys{{"path", text(), "of all blocks: a pattern"},
                     {"kind", text(), "of the site"},
                     {"points", list(point), "by size"}} +
                laws("rms") + laws("change") +
                Keys{{"predicted_change_exponents", list(number().or_null()), "by step"}});
}

Shape check() {
  return object({{"axis", one_of(growth_axis_names()), "that grows"},
                 {"sizes", list(number()), "of the axis"},
                 {"holds", truth(), "every number fits, and all passes are finite"},
                 {"finite", truth(), "no loss was an infinity or a NaN"},
                 {"findings", list(finding()), "numbers that do not fit"},
                 {"sites", list(site()), "in the order of the forward pass"},
                 {"loss", list(list(number().or_null())), "mean over seeds, by size and step"},
                 {"remarks", list(text()), "what was assumed, or is missing"}});
}

/// Of a table that was measured elsewhere.
Shape measured() {
  const Shape law =
      object({{"exponent", number(), "power of the size"},
              {"standard_error", number().or_null(), "of the fit; null of two sizes"}})
          .or_null();
  const Shape measured_site = object(
      {{"path", text(), "as the table calls it"},
       {"first", law, "of the first step; null where it is 0, missing or infinite"},
       {"last", law, "of the last step, likewise"},
       {"trend",
        one_of({"steady", "grows at init", "grows in training", "falls", "diverges", "unknown"}),
        "as the size grows"},
       {"advice", text().or_null(), "the number that mends it"}});
  return object({{"axis", text(), "the table's name of what grows"},
                 {"quantity", text(), "the table's name of what was measured"},
                 {"sizes", list(number()), "rising"},
                 {"steps", list(count()), "rising"},
                 {"sites", list(measured_site), "in the order of the table"}});
}

}  // namespace coordinates_keys

JsonForm coordinates_form() {
  using namespace coordinates_keys;
  return {
      object({maybe("model", text(), "as it was named"),
              maybe("parametrization", text(), "a name or a file; own: the model's own numbers"),
              maybe("optimizer", text(), "its name"), maybe("lr", number(), "at the first size"),
              maybe("rest_lr", number().or_null(),
                    "of a mixture's second optimizer; null: there is one"),
              maybe("steps", count(), "that were taken"), maybe("seeds", count(), "draws a size"),
              maybe("seed", count(), "of the first draw"), maybe("device", text(), "of the passes"),
              maybe("measured", text(), "the file of a table; nothing else is given then")}),
      object({{"holds", truth(), "of all checks, or of the table"},
              maybe("checks", list(check()), "of widths, then of depths"),
              maybe("measured", measured(), "of --measured")})};
}

}  // namespace scalecalc::cli
