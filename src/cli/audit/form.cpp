#include "cli/forms.hpp"

namespace scalecalc::cli {
namespace audit_keys {

Shape fault() {
  return shapes::one_of({"none", "missing", "unexpected", "wrong_shape", "not_finite",
                         "wrong_constant", "wrong_std", "wrong_mean", "wrong_distribution",
                         "copied"});
}

Shape rules() {
  return shapes::one_of({"library", "hf", "openai", "model", "derived"});
}

Keys measured() {
  using namespace shapes;
  const Shape some = number().or_null();
  return {{"values", count(), "how many values were read"},
          {"mean", some, "of the values; null, as below, where none were read"},
          {"std", some, "of the values"},
          {"min", some, "of the values"},
          {"max", some, "of the values"},
          {"kurtosis", some, "of the values, 3 for a normal distribution"},
          {"beyond_2_std", some, "share of the values"},
          {"beyond_3_std", some, "share of the values"},
          {"nan", count(), "values that are NaN"},
          {"infinite", count(), "values that are infinite"},
          {"distribution", text().or_null(),
           "of the values; other: none that is known; null: too few to tell"}};
}

Keys expected() {
  using namespace shapes;
  const Shape some = number().or_null(), words = text().or_null();
  return {
      {"expected_distribution", words, "that is due; null where the model has no such tensor"},
      {"expected_mean", some, "that is due"},
      {"expected_std", some, "that is due"},
      {"expected_rule", words, "that gives it"},
      {"standard_error", some, "of the std of so many right values; null where nothing is drawn"},
      {"z", some, "(std - expected_std)/standard_error"},
      {"band", some, "right: |std - expected_std| <= band, about"},
      {"rule", words, "that gives these values; null: none that is known"}};
}

Shape parameters() {
  using namespace shapes;
  return list(
      object(Keys{{"path", text(), "the tensor in the file, or the one that is missing"},
                  {"part", text().or_null(), "of a packed tensor: q, k, v, ..."},
                  {"parameter", text().or_null(), "its path in the model; null: it has none"},
                  {"dtype", text().or_null(), "as stored"},
                  {"shape", list(count()), "as stored"}} +
             measured() + expected() +
             Keys{{"fault", fault(), "what is wrong"},
                  {"ok", truth(), "whether nothing is"},
                  {"verdict", text(), "the same in words"},
                  {"remark", text().or_null(), "what is unlike the rule and yet right"}}));
}

Shape findings() {
  using namespace shapes;
  return list(object({{"fault", fault(), "what is wrong"},
                      {"what", text(), "the tensors, as a pattern"},
                      {"count", count(), "of them with this fault"},
                      {"of", count(), "all of that pattern"},
                      {"verdict", text(), "the fault in words"},
                      {"first", text(), "the first of them"}}));
}

}  // namespace audit_keys

JsonForm audit_form() {
  using namespace audit_keys;
  using namespace shapes;
  const Keys files = {{"weights", text(), "the file or folder"}};
  const Keys library = {
      {"model", text().or_null(), "the config; null: none, names and shapes say it"},
      {"architecture", text(), "model_type"},
      {"class", text(), "of the library, whose rules are judged by"},
      {"library", text(), "and its release"}};
  const Keys how =
      Keys{{"against", rules(), "whose rules"},
           {"names", text().or_null(), "the names that were asked for; null: found"},
           {"confidence", number(), "share of right files that pass, 0 to 1"},
           {"strict", truth(), "whether another distribution of the right std fails too"}};
  return {any_of({object(files + forms::model() + forms::fields(true) + how),
                  object(files + library + how)}),
          object({{"passed", truth(), "whether every parameter starts as it should"},
                  {"summary", text(), "the same in words"},
                  {"names", text(), "whose names the file has (scalecalc list names)"},
                  {"against", rules(), "whose rules the weights are judged by"},
                  {"other_rules", list(rules()), "those that --against takes in their place"},
                  maybe("recognised", text(), "model_type that names and shapes are those of"),
                  maybe("alike", list(text()), "others with the same tensors and rules"),
                  maybe("taken", list(text()), "what the weights leave open, as it was taken"),
                  {"faults", count(), "parameters that are wrong"},
                  {"findings", findings(), "what is wrong, alike tensors together"},
                  {"conclusions", list(text()), "what explains several findings"},
                  {"remarks", list(text()), "what is unlike the rule and yet right"},
                  {"comparisons", count(), "numbers that were judged"},
                  {"quantile", number(), "of the normal distribution, for that many comparisons"},
                  {"values", count(), "values that were read"},
                  {"bytes", count(), "bytes that were read"},
                  {"parameters", parameters(), "every tensor or part of one"},
                  {"skipped",
                   list(object({{"path", text(), "the tensor"}, {"why", text(), "the reason"}})),
                   "tensors that are not judged"}})};
}

}  // namespace scalecalc::cli
