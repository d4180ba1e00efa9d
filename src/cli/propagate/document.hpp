#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/json_form.hpp"
#include "scalecalc/forecast.hpp"
#include "scalecalc/moments.hpp"
#include "scalecalc/report.hpp"
#include "scalecalc/scaling.hpp"
#include "scalecalc/steps.hpp"

/// How the answer of `propagate` is laid out.
namespace scalecalc::cli {

struct PropagateAnswer {
  std::string model;  ///< a preset or a file
  ModelSpec spec;
  std::string engine;
  Trace trace;
  std::vector<DepthProfile> stacks;
  std::vector<DepthVerdict> verdicts;
  std::optional<SymbolicTrace> symbolic;  ///< instead of the trace
  std::uint64_t seed = 0;
  int seeds = 0;                  ///< of passes
  std::int64_t samples = 0;       ///< of Monte Carlo
  std::optional<FirstStep> step;  ///< where one is asked for
  std::string optimizer;          ///< that takes it
  double lr = 0;
  std::map<std::string, double> lr_of;  ///< of each parameter
  int steps = 1;
  std::optional<ForecastSigns> signs;  ///< where a forecast is asked for
  RunLength length;                    ///< of its run
};

/// What depth does to the model, from the trace of its network.
void judge_depth(const Network& network, PropagateAnswer& answer);

/// Of a trace only what that format shows: JSON its results, CSV its rows, the others sections.
report::Document propagate_document(PropagateAnswer answer, report::Format format);

/// What the spec says, for the `inputs` of a result and in one line for a person. Of the names only
/// those that its kind of model has; null for a scale that is open.
void add_fields(const ModelSpec& spec, const std::vector<std::string>& names,
                report::Value& inputs);
void add_model(const std::string& model, const ModelSpec& spec, report::Value& inputs);
std::string model_line(const ModelSpec& spec);
/// What each stack of residual sums does to its input and to gradients.
report::Value stacks_value(const std::vector<DepthProfile>& stacks);
report::Table stacks_table(const std::vector<DepthProfile>& stacks);
/// What depth does.
report::Value verdicts_value(const std::vector<DepthVerdict>& verdicts);
report::Table verdicts_table(const std::vector<DepthVerdict>& verdicts);
/// What would help, of the verdicts that something follows from.
report::Table changes_table(const std::vector<DepthVerdict>& verdicts);
/// What the first step does, as sections and as results.step.
void add_step(const PropagateAnswer& answer, report::Format format, report::Document& document);
/// Whether a run trains, as sections and as results.forecast.
void add_forecast(const PropagateAnswer& answer, report::Format format, report::Document& document);
Shape propagate_forecast_shape();
/// What the rules took for granted, as JSON values and as a table.
report::Value assumptions_of(const std::vector<Premise>& assumptions);
report::Table assumptions_table(const std::vector<Premise>& assumptions);

}  // namespace scalecalc::cli
