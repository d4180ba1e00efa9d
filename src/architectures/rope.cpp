#include "architectures/rope.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "base/text.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::architectures {
namespace {

/// What `rope_parameters` says of one rotation.
class Rope {
 public:
  Rope(const Value& parameters, const Value& original, const Value& longest)
      : parameters_(parameters), original_(original), longest_(longest) {
    for (const char* key : {"rope_type", "type"})
      if (type_.empty() && has(key) && parameters_[key].is_string())
        type_ = parameters_[key].get<std::string>();
    // Phi-3's older names of its two lists.
    if (type_ == "su" || (type_ == "yarn" && has("short_factor"))) type_ = "longrope";
  }

  Value fields() const {
    if (type_ == "linear") return {{"rotary_scaling", type_}, {"rotary_factor", number("factor")}};
    if (type_ == "dynamic")
      return {{"rotary_scaling", type_},
              {"rotary_factor", number("factor")},
              {"rotary_original", whole(longest_)}};
    if (type_ == "llama3")
      return {{"rotary_scaling", type_},
              {"rotary_factor", number("factor")},
              {"rotary_original", first_tokens()},
              {"rotary_low", number("low_freq_factor")},
              {"rotary_high", number("high_freq_factor")}};
    if (type_ == "yarn") return yarn();
    if (type_ == "longrope") return longrope();
    return Value::object();
  }

 private:
  bool has(const char* key) const {
    const auto found = parameters_.find(key);
    return found != parameters_.end() && !found->is_null();
  }
  double number(const char* key) const {
    if (!has(key))
      throw Error(
          ErrorKind::input,
          fmt::format("rope_parameters has no {}, which rope_type {} asks for", key, type_));
    return number_of(parameters_[key], key);
  }
  static double number_of(const Value& value, const std::string& key) {
    if (!value.is_number())
      throw Error(ErrorKind::input,
                  fmt::format("rope_parameters['{}'] is {}", key, base::shortened(value.dump())),
                  "", "it must be a number");
    return value.get<double>();
  }

  /// Of the first training: what the config says outside goes before.
  Value first_tokens() const {
    if (!original_.is_null()) return whole(original_);
    const bool is_here = has("original_max_position_embeddings");
    return whole(is_here ? parameters_["original_max_position_embeddings"] : longest_);
  }
  /// 8192.0 as 8192.
  static Value whole(const Value& value) {
    if (!value.is_number_float()) return value;
    const double number = value.get<double>();
    const bool is_whole = number == std::floor(number) && std::fabs(number) < 1e15;
    return is_whole ? Value(static_cast<std::int64_t>(number)) : value;
  }
  double factor() const {
    if (has("factor")) return number("factor");
    const double first = number_of(first_tokens(), "original_max_position_embeddings");
    return number_of(longest_, "max_position_embeddings") / first;
  }

  Value yarn() const {
    Value made = {{"rotary_scaling", type_},
                  {"rotary_factor", factor()},
                  {"rotary_original", first_tokens()}};
    if (has("beta_slow") && number("beta_slow") != 0) made["rotary_low"] = number("beta_slow");
    if (has("beta_fast") && number("beta_fast") != 0) made["rotary_high"] = number("beta_fast");
    if (has("truncate") && !is_true(parameters_["truncate"])) made["rotary_truncate"] = false;
    // Of features, ln of the factor by a share of its own.
    const auto size = [&](double share) {
      return factor() <= 1 ? 1.0 : 0.1 * share * std::log(factor()) + 1;
    };
    if (has("attention_factor"))
      made["rotary_attention"] = number("attention_factor");
    else if (has("mscale") && has("mscale_all_dim") && number("mscale") != 0 &&
             number("mscale_all_dim") != 0)
      made["rotary_attention"] = size(number("mscale")) / size(number("mscale_all_dim"));
    return made;
  }

  Value longrope() const {
    Value made = {{"rotary_scaling", type_},
                  {"rotary_factor", factor()},
                  {"rotary_original", first_tokens()},
                  {"rotary_short", factors("short_factor")},
                  {"rotary_long", factors("long_factor")}};
    if (has("attention_factor")) made["rotary_attention"] = number("attention_factor");
    return made;
  }
  std::string factors(const char* key) const {
    if (!has(key) || !parameters_[key].is_array())
      throw Error(
          ErrorKind::input,
          fmt::format("rope_parameters['{}'] is no list, which rope_type longrope asks for", key));
    std::string text;
    for (const Value& value : parameters_[key])
      text += fmt::format("{}{}", text.empty() ? "" : " ", number_of(value, key));
    return text;
  }

  const Value& parameters_;
  const Value& original_;
  const Value& longest_;
  std::string type_;
};

}  // namespace

Value rope_fields(const Value& parameters, const Value& original, const Value& longest) {
  return parameters.is_object() ? Rope(parameters, original, longest).fields() : Value::object();
}

}  // namespace scalecalc::architectures
