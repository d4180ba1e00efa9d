#pragma once

#include "cli/activation/document.hpp"
#include "cli/propagate/document.hpp"
#include "cli/sweep/document.hpp"
#include "cli/verify/document.hpp"
#include "scalecalc/plot.hpp"

/// What --plot draws of a command's answer, and its curves in tables.
namespace scalecalc::cli {

/// Moments by place, forward and backward: of every site of a short network, of the stream of a
/// long one. Of a trace.
report::Figure propagate_figure(const PropagateAnswer& answer);
/// Predicted and measured moments by place, and the z of every comparison.
report::Figure verify_figure(const VerifyAnswer& answer);
/// The quantity by depth with the fitted power.
report::Figure sweep_figure(const SweepAnswer& answer);
/// The activation and its slope over four standard deviations of its input.
report::Figure activation_figure(const ActivationAnswer& answer);

/// The stream's moments along depth; a section for curves alone.
report::Section along_depth(const Trace& trace);
report::Section along_depth(const Verification& verification);
report::Section along_depth(const SweepResult& result);

}  // namespace scalecalc::cli
