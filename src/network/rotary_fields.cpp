#include "network/rotary.hpp"

namespace scalecalc {

std::vector<ModelField> rotary_fields() {
  using Spec = ModelSpec;
  using Range = ModelField::Range;
  using Option = ModelField::Option;
  const auto stretch = [](const char* key, auto member) {
    Field field("model", key, transformer, &Spec::rotary, member);
    field.written_if(
        [member](const Spec& spec) { return !(spec.rotary.*member == RotaryStretch{}.*member); });
    return field;
  };
  return {
      Field("model", "rotary_base", transformer, &Spec::rotary_base)
          .range(Range::not_negative)
          .option(Option::detail, "B", "10000",
                  "rotary positions: features of q and k turn by t B^(-2i/d) (default 0: none)")
          .written_if([](const Spec& spec) { return spec.rotary_base != 0; }),
      Field("model", "rotary_fraction", transformer, &Spec::rotary_fraction)
          .range(Range::part)
          .option(Option::detail, "R", "0.25", "share of a head's features that turn (default 1)")
          .written_if([](const Spec& spec) { return spec.rotary_fraction != 1; }),
      stretch("rotary_scaling", &RotaryStretch::scaling)
          .named("rotary_scaling", "rope_type")
          .option(
              Option::detail, "NAME", "llama3",
              "how they turn slower for long sequences: linear, dynamic, llama3, yarn, longrope "
              "(default none)"),
      stretch("rotary_factor", &RotaryStretch::factor)
          .range(Range::positive)
          .option(Option::detail, "F", "8", "by which they turn slower (default 1)"),
      stretch("rotary_original", &RotaryStretch::original)
          .range(Range::any)
          .option(Option::detail, "T", "8192",
                  "tokens of the first training, which the scalings but linear ask for"),
      stretch("rotary_low", &RotaryStretch::low)
          .range(Range::not_negative)
          .option(Option::detail, "N", "1",
                  "of llama3, yarn: pairs of fewer turns in T are slowed wholly (default 1)"),
      stretch("rotary_high", &RotaryStretch::high)
          .range(Range::not_negative)
          .option(Option::detail, "N", "4",
                  "of llama3, yarn: pairs of more turns in T are not (default 4, of yarn 32)"),
      stretch("rotary_truncate", &RotaryStretch::truncate)
          .option(Option::detail, "", "", "of yarn: its first and last pair are rounded outwards"),
      stretch("rotary_attention", &RotaryStretch::attention)
          .range(Range::not_negative)
          .option(Option::detail, "A", "1.2",
                  "of yarn, longrope: multiplies turned features (default: by rotary_factor)"),
      stretch("rotary_short", &RotaryStretch::short_factors)
          .checked(checked_factors, {})
          .option(Option::detail, "X", "\"1 1.5\"",
                  "of longrope: by what each pair turns slower, in at most T tokens"),
      stretch("rotary_long", &RotaryStretch::long_factors)
          .checked(checked_factors, {})
          .option(Option::detail, "X", "\"1 4\"", "the same in more than T tokens"),
      Field("model", "rotary_local_base", transformer, &Spec::rotary_local_base)
          .range(Range::not_negative)
          .option(Option::detail, "B", "10000",
                  "of blocks with the window, which no scaling slows (default: as the others)")
          .written_if([](const Spec& spec) { return spec.rotary_local_base != 0; }),
  };
}

}  // namespace scalecalc
