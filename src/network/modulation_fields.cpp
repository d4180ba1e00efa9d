#include "network/field_lists.hpp"

namespace scalecalc {
namespace {

using Spec = ModelSpec;
using Given = Spec::Condition;
using Range = ModelField::Range;
using Option = ModelField::Option;

bool is_modulated(const Spec& spec) {
  return spec.modulation != AdaptiveNorm::none;
}

bool has_classes(const Spec& spec) {
  return is_modulated(spec) && spec.condition.classes != 0;
}

}  // namespace

ModelField modulation_field() {
  return Field("model", "modulation", transformer, &Spec::modulation)
      .option(Option::detail, "NAME", "adaln-zero",
              "of norms and branches by a condition of each sample: none, adaln, adaln-zero "
              "(default none)")
      .written_if(is_modulated);
}

std::vector<ModelField> condition_fields() {
  return {
      Field("condition", "features", transformer, &Spec::condition, &Given::features)
          .named("condition_features")
          .option(Option::detail, "D", "256",
                  "of the embedded vector that modulation is by (default 256)")
          .written_if(is_modulated),
      Field("condition", "second", transformer, &Spec::condition, &Given::second)
          .named("condition_second")
          .range(Range::positive)
          .option(Option::detail, "Q", "0.5", "E[e^2] of that vector (default 1)")
          .written_if(is_modulated),
      Field("condition", "cross", transformer, &Spec::condition, &Given::cross)
          .named("condition_cross")
          .option(Option::detail, "R", "0.1", "E[e_a e_b] of two samples' (default 0)")
          .written_if(is_modulated),
      Field("condition", "classes", transformer, &Spec::condition, &Given::classes)
          .named("condition_classes")
          .range(Range::size_or_none)
          .option(Option::detail, "C", "1000",
                  "rows of a table of labels that is added to its map (default none)")
          .written_if(has_classes),
      Field("condition", "class_std", transformer, &Spec::condition, &Given::class_std)
          .named("condition_class_std")
          .range(Range::not_negative)
          .option(Option::detail, "S", "0.02", "of that table (default 0.02)")
          .written_if(has_classes),
  };
}

}  // namespace scalecalc
