#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scalecalc/symbolic.hpp"

/// Claims in files: assertions about expectations, constants and networks, each decided by every
/// method that applies.
///
/// A file is TOML: `title`, and one [[claim]] table a claim with the keys
///   name       a sentence; left out: the assertion itself
///   assert     an assertion, or a list of them, each a claim of its own: "name (1)", ...
///   let        names: { z = "normal(mean, variance)" }; several of one kind under a quoted key,
///              { "u, v" = "normal(0, q, c)" }, c their correlation (left out: independent);
///              { x = "normal(0, 1)[d]" } for x[1], ..., x[d], d up to 64; a formula stands for its
///              value, and may hold random names for use in E[...];
///              "positive" (what any other name is), "real", "integer" (1, 2, ...), "in (-1, 1)"
///              say what a symbol may be. Without let, z is normal(0, 1). nan, inf, infinity,
///              undefined, none, null, true and false are no names
///   for        { q = [0.25, 1, "1/3"] }: the claim is decided at every combination (at most 10000)
///   by         methods, all of which must decide: symbolic quadrature montecarlo passes. Left out:
///              those that apply, without passes
///   fails      true: the assertion does not hold, and that is the claim (a counter-case)
///   follows    names of claims further up that it follows from (check decides it all the same)
///   survives   { "factor 2" = "why the claim cannot tell that mutant from the truth" }, of `check
///              --mutate`: a mutant that survives without a reason is a failure, and so is a reason
///              of which no mutant survives
///   condition  under what it holds; note, source: shown as they are
///   published, truth, finding
///              in place of assert: what is stated somewhere and what is so. finding = "right":
///              truth == published, or ~= where published is a decimal number; "approximation":
///              published == truth within the key `within` ("5%", "0.1"); "wrong": "right" fails.
///              The report lists published, truth and published/truth - 1
///
/// Free symbols stand for all values of their domain: a claim about them is proved, or tried at
/// points at which each symbol has a value of its own (verdict_of: "checked at n points").
///
/// Mutants (check --mutate) are the assertion changed in one place; a claim with teeth is refuted
/// then.
///   exponent 1/4, exponent 1/2  an exponent plus and minus that: the one that is written, 1/2 of
///                    sqrt, 1 of a name; beside slope(...) and family(...) every number. Not inside
///                    E[...], and not of 0 and 1
///   factor 2         a number, also inside E[...], or a side; not 0, nor a side compared with 0
///   sign             of a side, of a term of a sum, of an exponent; none inside E[...] nor of 0
///   turned           < for >, <= for >=; of an equality that is denied: the denial dropped
///   tolerance 2      of an equality that is denied within a tolerance: twice that. Nothing else of
///                    it is changed: nearly every number differs
/// Arguments of library functions, let, for and the bracket of root, largest and smallest say what
/// is looked at, and stay. A mutant of an inequality that follows from the claim, since it only
/// weakens it, is left out; one that is bad input counts as refuted.
///
/// An assertion compares two formulas: == (proved, else to 1e-12 by quadrature and within 5
/// standard errors by sampling), == with `within 5%` (of the right side) or `within 0.1`, ~= (half
/// a unit of the last digit written; `1.67...`: truncated), < <= > >=.
/// Formulas have numbers, pi, names, + - * / ^, the functions of the formula language and the
/// registered activations (leaky_relu(z, a=1/5)), derivatives (gelu'(z)), E[...], indices x[i], and
///   sum(k, a, b, f)  product(k, a, b, f)     of f over k = a..b, at most 100000 of them; an end
///                                            may be a symbol where there is a closed form
///   iterate(x, x0, n, f)                     f applied n times to x0
///   root(x, a, b, f)  integral(x, a, b, f)   largest(x, a, b, f)  smallest(...)  .at: where
///   deepnorm(layers, optimizer, placement=, constraint=, sublayers=)  .alpha .lambda
///     .branch_weight .branch_sum .gradient_scale .relative_step .warmup
///   deepnet(arch, layers, decoder_layers=, stack=)  .alpha .lambda .rederived_alpha
///     .rederived_lambda .ratio
///   family(optimizer)  .gradient_power .parameter_power .outer_power
///   step_size(optimizer, gradient, parameter, matrices=)
///   gain(activation, variance=, mean=, parameters...)  .second .variance .backward .activation
///     .compromise .q_slope
///   framework(framework, activation)         the gain that it ships
///   solve("self-normalizing", family=, low=, high=)  .lambda .alpha .slope_second .q_slope
///   solve(tuned, activation, variance=)  .scale .shift .centred_scale .slope_before .slope_after
///     .centred_slope_after
///   solve(critical, activation, bias_variance=)  solve("critical-pair", activation)
///     .weight_variance .bias_variance .q_star .q_slope .exists
///   solve("fixed-point", activation, weight_variance=, bias_variance=)  .q_star .c_star .chi
///     .q_slope .activation_second .exists
///   solve("truncated-normal", low=, high=)  .mean .variance .std .correction
///   softmax(T, tau2)  .p2 .p3 .p4 .p22 .a    softmax_pair(T, tau2, c)  .overlap .a_prime
///   site(MODEL, path=)  .second .mean .cross .cosine .grad_second .grad_cross .spread
///     .second_finite .second_typical .exists
///   parameter(MODEL, path=)  .second .grad_second .entries .exists
///   profile(MODEL)  .identity_weight .effective_depth .delta_loss
///   slope(quantity, MODEL, optimizer=, layers=[...], constraint=, parameters=, seeds=)
///     .value: d log quantity / d log layers;  quantity(quantity, MODEL, optimizer=, parameters=)
///   law(name, MODEL, l=)                     formulas of a stack (propagate --engine symbolic)
/// where MODEL is preset=, model= (a file beside the claims) or kind= ("mlp", "transformer"), and
/// any of model_fields() by its name (width=, qk_norm=, attention_scale=, second=, gain_q=, ...;
/// also by its older one); formulas are quoted ("(2*N)^(-1/2)", "auto").
namespace scalecalc {

enum class ClaimMethod { symbolic, quadrature, montecarlo, passes };
std::string to_string(ClaimMethod method);

struct CheckOptions {
  std::uint64_t seed = 0;
  std::int64_t samples = 1 << 18;  ///< of each expectation by Monte Carlo, 4096..2^32
  int threads = 1;
  std::string device = "cpu";
  bool mutate = false;  ///< also change each claim that holds, and decide what it says then
  /// Called before each claim with the share done; returning false stops (Error(fault)).
  std::function<bool(double done, const std::string& what)> progress;
};

/// What one method found.
struct MethodResult {
  ClaimMethod method = ClaimMethod::symbolic;
  enum class Verdict {
    holds,
    fails,
    open,  ///< too close to tell from an equality: sampled, or not precise enough
  };
  Verdict verdict = Verdict::open;
  std::string how;          ///< "proved: same canonical form", "equal to 1e-12", "z = 0.7", ...
  bool proved = false;      ///< exactly, by canonical forms or certain enclosures
  int points = 0;           ///< of free symbols, at which it was tried; 0: there are none
  std::string left, right;  ///< both sides: formulas, or numbers with their error
  std::optional<double> left_value, right_value, difference, error;
  std::string difference_formula;  ///< left - right simplified; of products also their ratio
  /// "q = 1/4, N = 12": where; the worst of several points. Of formulas of free symbols the values
  /// above are those there.
  std::string point;
};

/// What was published, beside what is so.
struct Finding {
  std::string finding;           ///< right, approximation, wrong
  std::string published, truth;  ///< as written
  std::optional<double> published_value, true_value;
  std::optional<double> off;  ///< published/truth - 1, where it is largest
};

/// A claim changed in one place: an exponent by 1/4 or 1/2, a factor by 2, a sign, the comparison
/// turned (of a denied equality: the denial dropped), a denied tolerance doubled.
struct MutantResult {
  std::string mutation;    ///< "exponent 1/4", "exponent 1/2", "factor 2", "sign", "turned",
                           ///< "tolerance 2"
  std::string assertion;   ///< what it says, "not: ..." of a counter-case
  bool survived = false;   ///< it holds although it was changed
  std::string refuted_by;  ///< the first method that speaks against it, or "bad input: ..."
  std::string reason;      ///< of the claim's `survives`, for one that survived
};

struct ClaimResult {
  std::string name, assertion, file;
  int line = 0, column = 0;  ///< of the assertion
  std::string condition, note, source;
  bool expected_to_fail = false;
  bool holds = false;
  std::vector<MethodResult> methods;
  /// Methods that did not apply, with their reasons.
  std::vector<std::pair<ClaimMethod, std::string>> skipped;
  std::optional<Finding> finding;
  std::vector<MutantResult> mutants;   ///< where they were asked for, and the claim holds
  std::vector<std::string> unfounded;  ///< mutations with a reason of which none survived
  std::vector<std::string> follows;    ///< names of the claims that it follows from
  double seconds = 0;
  std::size_t survivors() const;
};

/// How far the claim is decided: "proved"; "refuted", a counter-case that certainly fails at the
/// point shown; "checked at 62 points" of its free symbols, which is all that sampling supports;
/// "checked", by numbers where no symbol is free; "does not hold"; "undecided", not checked yet.
std::string verdict_of(const ClaimResult& claim);

struct ClaimsReport {
  struct File {
    std::string path, title;
    std::vector<ClaimResult> claims;
  };
  std::vector<File> files;
  std::size_t count() const;
  std::size_t failures() const;
  /// Claims that a mutant of them survives; those where one has no reason, or a reason no survivor.
  std::size_t surviving() const;
  std::size_t unexplained() const;
  bool passed() const { return failures() == 0 && unexplained() == 0; }
};

/// Every claim file: the paths themselves, and of a directory all *.toml below it, sorted. Throws
/// Error(input) for what does not exist and for a directory without claim files.
std::vector<std::string> claim_files(const std::vector<std::string>& paths);
/// Throws Error(input) at "file:line:column": not UTF-8, not TOML, larger than 1 MiB, a wrong key
/// or value, a formula that does not parse, an unknown function, a division by zero, a loop that is
/// too long, an expectation that does not exist, a method of `by` that does not apply, or a claim
/// that no method decides.
ClaimsReport::File check_claims(const std::string& path, const CheckOptions& options = {});
/// The same from text; `name` stands for the file in messages.
ClaimsReport::File check_claims_text(std::string_view toml, const std::string& name,
                                     const CheckOptions& options = {});

/// A claim file read and not decided: its claims have neither methods nor a verdict. Throws as
/// check_claims_text does for a text that cannot be read.
ClaimsReport::File read_claims_text(std::string_view toml, const std::string& name);

/// A subject of the derivations behind this program, as a claim file that is built in.
struct Topic {
  std::string name, title;  ///< "pre-norm", "Pre-Norm: its variant of DeepNorm, ..."
  std::string_view toml;
};
const std::vector<Topic>& topics();
/// Its claims decided, with the model files that are built in beside them.
ClaimsReport::File check_topic(const Topic& topic, const CheckOptions& options = {});
/// Throws Error(input) with the nearest name.
const Topic& topic(std::string_view name, const std::string& where = "topic");

/// JUnit XML: a suite a file, a case a claim; every text escaped.
std::string junit_xml(const ClaimsReport& report);
/// GitHub's workflow commands, a line an untrue claim: "::error file=..,line=..,col=..::...".
std::string github_annotations(const ClaimsReport& report);
/// The same of an error, at its place where that is FILE:LINE:COLUMN.
std::string github_annotation(const Error& error);

}  // namespace scalecalc
