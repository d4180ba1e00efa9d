#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "scalecalc/export.hpp"

using namespace scalecalc;

namespace {

ModelSpec of_size(std::int64_t width, std::int64_t layers) {
  const auto line = [](const char* key, std::int64_t value) {
    return std::string(key) + " = " + std::to_string(value) + "\n";
  };
  return parse_model(
      "[model]\nkind = \"transformer\"\nplacement = \"pre\"\nheads = 4\nvocab = 100\n"
      "sequence = 8\nnorm_affine = true\nbias = true\n" +
          line("layers", layers) + line("width", width) + line("ffn", 4 * width),
      "test");
}

NamedPlan moved(const ModelSpec& base, const ModelSpec& spec, const std::string& optimizer,
                const std::string& parametrization) {
  PlanTransfer transfer;
  transfer.base = base;
  transfer.ratios[0] = static_cast<double>(spec.width) / static_cast<double>(base.width);
  transfer.ratios[1] = static_cast<double>(spec.layers) / static_cast<double>(base.layers);
  transfer.problem.optimizer = transfer_optimizer(optimizer);
  transfer.problem.parametrization = parametrization_from(parametrization);
  transfer.problem.model = transfer_model(spec, transfer.problem.axes);
  transfer.words = "from here to there";
  return transferred(named_plan(spec, "test", Target::pytorch), transfer);
}

double scale_of(const NamedPlan& plan, const std::string& what) {
  for (const PlannedScale& one : plan.plan.scales)
    if (one.what == what) return one.value;
  return 1;
}

}  // namespace

TEST_CASE("transferred: a model of the base's sizes is the base") {
  const ModelSpec spec = of_size(64, 3);
  const NamedPlan plain = named_plan(spec, "test", Target::pytorch);
  for (const std::string& parametrization : parametrization_names()) {
    CAPTURE(parametrization);
    const NamedPlan same = moved(spec, spec, "adamw", parametrization);
    REQUIRE(same.steps.size() == plain.plan.parameters.size());
    for (std::size_t i = 0; i < same.steps.size(); ++i) {
      CHECK(same.steps[i] == StepFactors{1, 1, 1, "adamw"});
      CHECK(same.plan.parameters[i].std == plain.plan.parameters[i].std);
      CHECK(same.plan.parameters[i].start == plain.plan.parameters[i].start);
    }
    REQUIRE(same.plan.scales.size() == plain.plan.scales.size());
    for (std::size_t i = 0; i < plain.plan.scales.size(); ++i)
      CHECK(same.plan.scales[i].value == plain.plan.scales[i].value);
  }
}

TEST_CASE("transferred: muP under adam by hand at four times the width") {
  const NamedPlan plan = moved(of_size(64, 3), of_size(256, 3), "adam", "mup");
  std::map<std::string, double> stds;
  for (const PlannedParameter& parameter : init_plan(of_size(64, 3)).parameters)
    stds[parameter.path] = parameter.std;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const PlannedParameter& parameter = plan.plan.parameters[i];
    CAPTURE(parameter.path);
    // Tables and vectors keep both; hidden matrices have std fan_in^(-1/2) and lr 1/fan_in; the
    // head 1/fan_in and 1/fan_in.
    const bool is_head = parameter.role == "head";
    const bool is_hidden = parameter.is_matrix && !is_head && parameter.role != "embedding";
    const double std = is_head ? 1.0 / 4 : is_hidden ? 1.0 / 2 : 1;
    CHECK(parameter.std == doctest::Approx(stds.at(parameter.path) * std));
    CHECK(plan.steps[i].lr == doctest::Approx(is_head || is_hidden ? 1.0 / 4 : 1));
    CHECK(plan.steps[i].lr * plan.steps[i].decay == doctest::Approx(1));
  }
  // 1/head_width: the 16 features of a head became 64.
  CHECK(scale_of(plan, "attention") == doctest::Approx(1 / std::sqrt(16.0) / 4));
}

TEST_CASE("transferred: the branch multiplier of CompleteP falls as the depth grows") {
  CHECK(scale_of(moved(of_size(64, 2), of_size(64, 8), "adamw", "complete-p"), "branch") ==
        doctest::Approx(1.0 / 4));
  CHECK(scale_of(moved(of_size(64, 2), of_size(64, 8), "adamw", "mup"), "branch") == 1);
}

TEST_CASE("transferred: its code has groups of parameters, and no other's") {
  for (const auto& [target, function] :
       {std::pair{Target::pytorch, "def param_groups("}, {Target::flax, "def multi_transform("}}) {
    CAPTURE(function);
    const auto has_groups = [&](const NamedPlan& plan) {
      return export_text(plan, target).find(function) != std::string::npos;
    };
    CHECK(has_groups(moved(of_size(64, 2), of_size(128, 2), "adamw", "mup")));
    CHECK_FALSE(has_groups(named_plan(of_size(128, 2), "test", target)));
  }
}

TEST_CASE("transferred: a head that the plan has and the library ties must be in the model") {
  ModelSpec spec = find_model("gpt2"), base = spec;
  base.width = 192;
  base.ffn = 768;
  const auto head_rule = [](const NamedPlan& plan) {
    const std::string text = export_text(plan, Target::pytorch);
    const std::size_t at = text.find("Rule(\"lm_head.weight\"");
    REQUIRE(at != std::string::npos);
    return text.substr(at, text.find('\n', at) - at);
  };
  CHECK(head_rule(moved(base, spec, "adamw", "mup")).find(", False, (") != std::string::npos);
  CHECK(head_rule(named_plan(spec, "gpt2", Target::pytorch)).find(", True, (") !=
        std::string::npos);
  spec.tie_head = base.tie_head = true;
  // The table keeps its init, as one of tokens; the head's 1/width is of the forward pass.
  CHECK(scale_of(moved(base, spec, "adamw", "mup"), "output") == doctest::Approx(1.0 / 4));
}

TEST_CASE("transferred: each parameter of a mixture says what steps it") {
  const NamedPlan plan = moved(of_size(64, 2), of_size(256, 2), "muon+adamw", "mup");
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const PlannedParameter& parameter = plan.plan.parameters[i];
    CAPTURE(parameter.path);
    const bool is_hidden =
        parameter.is_matrix && parameter.role != "head" && parameter.role != "embedding";
    CHECK(plan.steps[i].rule == (is_hidden ? "muon" : "adamw"));
    // An orthogonal step keeps its size in operator norm.
    if (is_hidden) CHECK(plan.steps[i].lr == 1);
  }
}

TEST_CASE(
    "transferred: the header for C has a step for each row, and comments that words cannot end") {
  NamedPlan plan = moved(of_size(64, 2), of_size(128, 2), "adamw", "mup");
  plan.transfer = "from */ int main(void) to there";
  const std::string text = export_text(plan, Target::c);
  CHECK(text.find("*/ int main") == std::string::npos);
  const auto rows_of = [&](const std::string& table) {
    const std::size_t begin = text.find(table);
    REQUIRE(begin != std::string::npos);
    const std::string body = text.substr(begin, text.find("};", begin) - begin);
    std::size_t rows = 0;
    for (std::size_t at = body.find("\n  {"); at != std::string::npos;
         at = body.find("\n  {", at + 1))
      ++rows;
    return rows;
  };
  CHECK(rows_of("_parameters[]") == rows_of("_steps[]"));
  CHECK(rows_of("_steps[]") == plan.steps.size());
  plan.steps.clear();
  CHECK(export_text(plan, Target::c).find("_steps[]") == std::string::npos);
}

TEST_CASE("transferred: norms that their library has without a shift") {
  // A shift goes by its gain, and is none of the code's parameters that must be there.
  for (const char* norm : {"rmsnorm", "scalenorm"}) {
    CAPTURE(norm);
    const auto of_width = [norm](int width) {
      return parse_model(
          "[model]\nkind = \"transformer\"\nplacement = \"pre\"\nheads = 4\n"
          "vocab = 100\nsequence = 8\nlayers = 2\nnorm_affine = true\nnorm = \"" +
              std::string(norm) + "\"\nwidth = " + std::to_string(width) + "\n",
          "test");
    };
    const NamedPlan plan = moved(of_width(32), of_width(64), "adamw", "mup");
    REQUIRE(plan.steps.size() == plan.plan.parameters.size());
    std::map<std::string, StepFactors> steps;
    for (std::size_t i = 0; i < plan.steps.size(); ++i)
      steps.emplace(plan.plan.parameters[i].path, plan.steps[i]);
    REQUIRE(steps.contains("final_norm.gain"));
    for (const auto& [path, step] : steps) {
      CAPTURE(path);
      if (path.ends_with(".shift"))
        CHECK(step == steps.at(path.substr(0, path.size() - 6) + ".gain"));
    }
  }
}
